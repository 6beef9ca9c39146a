// The guarantees of the RocksDB store without crashes, and its errors for damaged files.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include "common/store/rocksdb/rocksdb_internal.h"
#include "common/store/rocksdb/rocksdb_store.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::store {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

using Rows = std::vector<std::pair<std::string, std::string>>;

class RocksdbStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<Store> Open(const std::string& path) {
    auto store = OpenRocksdbStore({.path = path, .memory = memory_});
    if (!store.ok()) {
      ADD_FAILURE() << store.status().message();
      return nullptr;
    }
    return *std::move(store);
  }

  Status StatusOfOpening(const std::string& path) {
    const auto store = OpenRocksdbStore({.path = path, .memory = memory_});
    return store.ok() ? Status::Ok() : store.status();
  }

  static std::string ValueOf(const Reader& store, std::string_view key) {
    std::string value;
    const Status s = store.Get(key, &value);
    if (s.code() == StatusCode::kNotFound) return "<none>";
    return s.ok() ? value : "<" + s.message() + ">";
  }

  static Rows All(const Reader& store, std::string_view prefix = {}) {
    Rows rows;
    const Status s = store.Scan(prefix, [&](std::string_view key, std::string_view value) {
      rows.emplace_back(key, value);
      return Status::Ok();
    });
    if (!s.ok()) ADD_FAILURE() << s.message();
    return rows;
  }

  static std::vector<fs::path> FilesWith(const std::string& directory, const std::string& part) {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(directory)) {
      if (entry.path().filename().string().find(part) != std::string::npos) found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  // A store of 2,000 rows of 100 bytes, closed.
  std::string MakeStore() {
    const std::string path = dir_ / "state";
    const auto store = Open(path);
    std::vector<std::string> keys;
    for (int i = 0; i < 2000; ++i) keys.push_back("host/" + std::to_string(100000 + i));
    std::vector<Row> rows;
    for (const std::string& key : keys) rows.push_back({.key = key, .value = value_});
    EXPECT_TRUE(store->Apply(rows, "sequence 7").ok());
    return path;
  }

  // Flips one bit of the byte in the middle of a file.
  static void FlipByteInTheMiddle(const fs::path& file) {
    std::string bytes;
    {
      std::ifstream in(file, std::ios::binary);
      bytes.assign(std::istreambuf_iterator<char>(in), {});
    }
    ASSERT_GT(bytes.size(), 100u);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x10);
    std::ofstream(file, std::ios::binary) << bytes;
  }

  testing::TempDir dir_;
  std::shared_ptr<StoreMemory> memory_ = std::make_shared<StoreMemory>(8u << 20);
  const std::string value_ = std::string(100, 'v');
};

TEST_F(RocksdbStoreTest, AnApplyIsReadBackAlsoAfterReopening) {
  const std::string path = dir_ / "state";
  {
    const auto store = Open(path);
    EXPECT_EQ(store->Meta().status().code(), StatusCode::kNotFound);
    EXPECT_THAT(All(*store), IsEmpty());
    const std::string zeros("a\0\xff", 3);
    ASSERT_TRUE(store->Apply({{.key = zeros, .value = "1"}, {.key = "b", .value = ""}}, "first").ok());
    EXPECT_EQ(ValueOf(*store, zeros), "1");
    EXPECT_EQ(ValueOf(*store, "b"), "");
    EXPECT_EQ(ValueOf(*store, "c"), "<none>");
  }
  const auto store = Open(path);
  EXPECT_EQ(*store->Meta(), "first");
  EXPECT_THAT(All(*store), ElementsAre(Pair(std::string("a\0\xff", 3), "1"), Pair("b", "")));
  EXPECT_GT(store->disk_bytes(), 0u);
}

TEST_F(RocksdbStoreTest, TheLastApplyOfAKeyWinsAndADeletedKeyIsGone) {
  const auto store = Open(dir_ / "state");
  ASSERT_TRUE(
      store->Apply({{.key = "a", .value = "1"}, {.key = "b", .value = "1"}, {.key = "c", .value = "1"}}, "1")
          .ok());
  ASSERT_TRUE(
      store->Apply({{.key = "a", .value = "2"}, {.key = "b", .value = {}, .deleted = true}}, "2").ok());
  EXPECT_THAT(All(*store), ElementsAre(Pair("a", "2"), Pair("c", "1")));
  EXPECT_EQ(ValueOf(*store, "b"), "<none>");
  ASSERT_TRUE(
      store->Apply({{.key = "b", .value = "3"}, {.key = "nothing", .value = {}, .deleted = true}}, "3").ok());
  EXPECT_THAT(All(*store), ElementsAre(Pair("a", "2"), Pair("b", "3"), Pair("c", "1")));
  EXPECT_EQ(*store->Meta(), "3");
}

TEST_F(RocksdbStoreTest, AnApplyWithoutRowsChangesOnlyMeta) {
  const auto store = Open(dir_ / "state");
  ASSERT_TRUE(store->Apply({{.key = "a", .value = "1"}}, "1").ok());
  ASSERT_TRUE(store->Apply({}, std::string("\0 any bytes \xff", 13)).ok());
  EXPECT_EQ(*store->Meta(), std::string("\0 any bytes \xff", 13));
  EXPECT_THAT(All(*store), ElementsAre(Pair("a", "1")));
}

TEST_F(RocksdbStoreTest, AScanGivesAllKeysOfThePrefixAndNoOther) {
  const auto store = Open(dir_ / "state");
  const std::string ff("\xff", 1);
  const std::string a_ff = "a" + ff;
  const std::string a_ff_x = "a" + ff + "x";
  const std::string ff_ff = ff + ff;
  ASSERT_TRUE(store
                  ->Apply({{.key = "a", .value = "1"},
                           {.key = "ab", .value = "2"},
                           {.key = a_ff, .value = "3"},
                           {.key = a_ff_x, .value = "4"},
                           {.key = "b", .value = "5"},
                           {.key = ff, .value = "6"},
                           {.key = ff_ff, .value = "7"}},
                          "m")
                  .ok());
  EXPECT_THAT(All(*store, "a"),
              ElementsAre(Pair("a", "1"), Pair("ab", "2"), Pair(a_ff, "3"), Pair(a_ff_x, "4")));
  EXPECT_THAT(All(*store, a_ff), ElementsAre(Pair(a_ff, "3"), Pair(a_ff_x, "4")));
  EXPECT_THAT(All(*store, ff),
              ElementsAre(Pair(ff, "6"), Pair(ff_ff, "7")));  // this prefix has no upper bound
  EXPECT_THAT(All(*store, "aa"), IsEmpty());
  EXPECT_EQ(All(*store).size(), 7u);
  int seen = 0;
  const Status stopped = store->Scan("a", [&](std::string_view, std::string_view) {
    return ++seen == 2 ? Status::Fenced("enough") : Status::Ok();
  });
  EXPECT_EQ(stopped.code(), StatusCode::kFenced);
  EXPECT_EQ(seen, 2);
}

TEST_F(RocksdbStoreTest, ACheckpointDoesNotChangeWithTheStore) {
  const std::string copy = dir_ / "copy";
  {
    const auto store = Open(dir_ / "state");
    ASSERT_TRUE(store->Apply({{.key = "a", .value = "1"}, {.key = "b", .value = "1"}}, "1").ok());
    ASSERT_TRUE(store->Checkpoint(copy).ok());
    EXPECT_EQ(store->Checkpoint(copy).code(), StatusCode::kInvalidArgument);
    // Enough runs that the store merges and deletes the file that it shares with the checkpoint.
    for (int i = 2; i < 2 + 2 * kCompactAtRuns; ++i) {
      const std::string value = std::to_string(i);
      ASSERT_TRUE(
          store->Apply({{.key = "a", .value = value}, {.key = "b", .value = {}, .deleted = true}}, value)
              .ok());
    }
  }
  ASSERT_TRUE(RemoveRocksdbStore(dir_ / "state").ok());
  EXPECT_FALSE(fs::exists(dir_ / "state"));
  const auto store = Open(copy);
  EXPECT_EQ(*store->Meta(), "1");
  EXPECT_THAT(All(*store), ElementsAre(Pair("a", "1"), Pair("b", "1")));
  EXPECT_TRUE(store->Verify().ok());
  ASSERT_TRUE(store->Apply({{.key = "a", .value = "own"}}, "2").ok());  // the copy is an independent store
  EXPECT_EQ(ValueOf(*store, "a"), "own");
}

TEST_F(RocksdbStoreTest, ManyAppliesAreMergedAndKeepTheirLastValues) {
  const auto store = Open(dir_ / "state");
  // 300 versions over 40 keys: version v writes the keys with v % 7 == key % 7, deletes the next one.
  std::vector<std::string> keys;
  for (int k = 0; k < 40; ++k) keys.push_back("k" + std::to_string(10 + k));
  Rows expected;
  std::vector<std::string> now(keys.size(), "<none>");
  for (int v = 1; v <= 300; ++v) {
    std::vector<Row> rows;
    const std::string value = std::to_string(v);
    for (std::size_t k = 0; k < keys.size(); ++k) {
      if (k % 7 == static_cast<std::size_t>(v % 7)) {
        rows.push_back({.key = keys[k], .value = value});
        now[k] = value;
      } else if (k % 7 == static_cast<std::size_t>((v + 1) % 7)) {
        rows.push_back({.key = keys[k], .value = {}, .deleted = true});
        now[k] = "<none>";
      }
    }
    ASSERT_TRUE(store->Apply(rows, value).ok());
  }
  for (std::size_t k = 0; k < keys.size(); ++k) {
    EXPECT_EQ(ValueOf(*store, keys[k]), now[k]) << keys[k];
    if (now[k] != "<none>") expected.emplace_back(keys[k], now[k]);
  }
  EXPECT_EQ(All(*store), expected);
  EXPECT_LT(FilesWith(dir_ / "state", ".sst").size(), static_cast<std::size_t>(2 * kMaxRuns));
  EXPECT_TRUE(store->Verify().ok());
}

TEST_F(RocksdbStoreTest, AnOpenStoreIsFencedButReadable) {
  const std::string path = MakeStore();
  const auto store = Open(path);
  const Status second = StatusOfOpening(path);
  EXPECT_EQ(second.code(), StatusCode::kFenced) << second.message();
  EXPECT_EQ(RemoveRocksdbStore(path).code(), StatusCode::kFenced);
  const auto reader = OpenRocksdbStore({.path = path, .memory = memory_, .read_only = true});
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ(*(*reader)->Meta(), "sequence 7");
  EXPECT_EQ((*reader)->Apply({}, "x").code(), StatusCode::kInvalidArgument);
}

TEST_F(RocksdbStoreTest, AMissingStoreIsCreatedOnlyOnRequest) {
  const std::string path = dir_ / "state";
  EXPECT_EQ(OpenRocksdbStore({.path = path, .memory = memory_, .create = false}).status().code(),
            StatusCode::kNotFound);
  EXPECT_EQ(OpenRocksdbStore({.path = path, .memory = memory_, .read_only = true}).status().code(),
            StatusCode::kNotFound);
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(RemoveRocksdbStore(path).ok());
}

TEST_F(RocksdbStoreTest, VerifyAndAReadFindAFlippedByte) {
  const std::string path = MakeStore();
  const auto tables = FilesWith(path, ".sst");
  ASSERT_EQ(tables.size(), 1u);
  FlipByteInTheMiddle(tables.front());
  const auto store = Open(path);
  ASSERT_NE(store, nullptr);
  const Status verified = store->Verify();
  EXPECT_EQ(verified.code(), StatusCode::kCorrupted);
  EXPECT_THAT(verified.message(), HasSubstr(path));
  EXPECT_THAT(verified.message(), HasSubstr("remove this directory"));
  const Status scanned =
      store->Scan("host/", [](std::string_view, std::string_view) { return Status::Ok(); });
  EXPECT_EQ(scanned.code(), StatusCode::kCorrupted);
  int damaged = 0;
  std::string value;
  for (int i = 0; i < 2000; ++i) {
    const Status s = store->Get("host/" + std::to_string(100000 + i), &value);
    if (s.code() == StatusCode::kCorrupted)
      ++damaged;
    else
      EXPECT_EQ(value, value_);
  }
  EXPECT_GT(damaged, 0);
  EXPECT_LT(damaged, 2000);  // only one block is damaged
}

TEST_F(RocksdbStoreTest, FilesThatACopySharesAreNotReadAgain) {
  const auto store = Open(MakeStore());
  const std::string linked = dir_ / "linked";
  const std::string copied = dir_ / "copied";
  ASSERT_TRUE(store->Checkpoint(linked).ok());
  fs::copy(linked, copied);
  FlipByteInTheMiddle(FilesWith(dir_ / "state", ".sst").front());
  EXPECT_EQ(store->Verify().code(), StatusCode::kCorrupted);
  EXPECT_TRUE(store->VerifyBeyond(linked).ok());
  EXPECT_EQ(store->VerifyBeyond(copied).code(),
            StatusCode::kCorrupted);  // has other bytes under the same name
  EXPECT_EQ(store->VerifyBeyond(dir_ / "none").code(), StatusCode::kCorrupted);

  const std::string value(20'000, 'w');
  ASSERT_TRUE(store->Apply({{.key = "user/1", .value = value}}, "sequence 8").ok());
  EXPECT_TRUE(store->VerifyBeyond(linked).ok());
  FlipByteInTheMiddle(FilesWith(dir_ / "state", ".sst").back());
  EXPECT_EQ(store->VerifyBeyond(linked).code(), StatusCode::kCorrupted);
}

// Flips bytes in every kind of file that RocksDB needs. The store is either unchanged or reported as damaged.
TEST_F(RocksdbStoreTest, EveryHarmfulFlippedByteIsDetected) {
  const std::string whole = MakeStore();
  const auto intact = All(*Open(whole));
  int detected = 0;
  for (const std::string part : {".sst", "MANIFEST", "CURRENT"}) {
    const fs::path file = FilesWith(whole, part).front();
    const auto size = fs::file_size(file);
    const auto step = std::max<std::uintmax_t>(1, size / 23);
    for (std::uintmax_t at = 0; at < size; at += step) {
      const std::string path = dir_ / "damaged";
      fs::remove_all(path);
      fs::copy(whole, path);
      {
        std::fstream f(fs::path(path) / file.filename(), std::ios::in | std::ios::out | std::ios::binary);
        f.seekg(static_cast<std::streamoff>(at));
        const char c = static_cast<char>(f.get());
        f.seekp(static_cast<std::streamoff>(at));
        f.put(static_cast<char>(c ^ 0x04));
      }
      auto opened = OpenRocksdbStore({.path = path, .memory = memory_});
      const Status status = opened.ok() ? (*opened)->Verify() : opened.status();
      if (status.ok()) {
        EXPECT_EQ(All(**opened), intact) << part << " at " << at;
        EXPECT_EQ(*(*opened)->Meta(), "sequence 7") << part << " at " << at;
      } else {
        EXPECT_EQ(status.code(), StatusCode::kCorrupted) << part << " at " << at << ": " << status.message();
        EXPECT_THAT(status.message(), HasSubstr(path));
        ++detected;
      }
    }
  }
  EXPECT_GT(detected, 40);
}

TEST_F(RocksdbStoreTest, OpenReportsAMissingFile) {
  for (const std::string part : {".sst", "MANIFEST", "CURRENT"}) {
    const std::string path = MakeStore();
    fs::remove(FilesWith(path, part).front());
    const Status status = StatusOfOpening(path);
    EXPECT_EQ(status.code(), StatusCode::kCorrupted) << part << ": " << status.message();
    EXPECT_THAT(status.message(), HasSubstr(path));
    // RocksDB alone creates a new CURRENT at the first attempt and opens an empty database at the second.
    EXPECT_EQ(StatusOfOpening(path).code(), StatusCode::kCorrupted) << part << ", second attempt";
    ASSERT_TRUE(RemoveRocksdbStore(path).ok()) << part;
    EXPECT_EQ(Open(path)->Meta().status().code(), StatusCode::kNotFound)
        << "after a removal the store is a new store";
    ASSERT_TRUE(RemoveRocksdbStore(path).ok()) << part;
  }
}

TEST_F(RocksdbStoreTest, OpenReportsATruncatedTable) {
  const std::string path = MakeStore();
  const fs::path table = FilesWith(path, ".sst").front();
  fs::resize_file(table, fs::file_size(table) - 1);
  EXPECT_EQ(StatusOfOpening(path).code(), StatusCode::kCorrupted);
}

TEST_F(RocksdbStoreTest, FilesOfAKilledApplyAreRemoved) {
  const std::string path = MakeStore();
  std::ofstream(path + "/apply.staged") << "half a table";
  const auto store = Open(path);
  EXPECT_FALSE(fs::exists(path + "/apply.staged"));
  ASSERT_TRUE(store->Apply({{.key = "a", .value = "1"}}, "8").ok());
  EXPECT_EQ(*store->Meta(), "8");
}

TEST_F(RocksdbStoreTest, ADirectoryWithForeignFilesIsNotRemoved) {
  const std::string path = MakeStore();
  std::ofstream(path + "/thesis.tex") << "years of work";
  EXPECT_EQ(RemoveRocksdbStore(path).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(fs::exists(path + "/thesis.tex"));
}

// Damage before the data reached the disk: the checksums of the blocks are right.
TEST_F(RocksdbStoreTest, AValueWithAWrongChecksumIsNotReturned) {
  const std::string path = MakeStore();
  {
    rocksdb::DB* opened = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open(TunedOptions(*memory_), path, &opened).ok());
    const std::unique_ptr<rocksdb::DB> db(opened);
    std::string of_another_key;
    ASSERT_TRUE(db->Get({}, "host/100007", &of_another_key).ok());
    ASSERT_TRUE(db->Put({}, "host/100008", of_another_key).ok());
    ASSERT_TRUE(db->Put({}, "host/100009", "abc").ok());  // shorter than a checksum
    ASSERT_TRUE(db->Flush({}).ok());
  }
  const auto store = Open(path);
  std::string value = "as it was";
  for (const std::string key : {"host/100008", "host/100009"}) {
    const Status got = store->Get(key, &value);
    EXPECT_EQ(got.code(), StatusCode::kCorrupted) << key;
    EXPECT_THAT(got.message(), HasSubstr(path));
    EXPECT_EQ(value, "as it was");
    EXPECT_EQ(store->Scan(key, [](std::string_view, std::string_view) { return Status::Ok(); }).code(),
              StatusCode::kCorrupted);
  }
  EXPECT_EQ(store->Verify().code(), StatusCode::kCorrupted);
  EXPECT_EQ(ValueOf(*store, "host/100007"), value_);
}

TEST_F(RocksdbStoreTest, AStoreOfALaterFormatIsRefused) {
  const std::string path = MakeStore();
  {
    rocksdb::DB* opened = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open(TunedOptions(*memory_), path, &opened).ok());
    const std::unique_ptr<rocksdb::DB> db(opened);
    std::string row = std::string(1, kMetaFormat + 1) + "of a program to come";
    AppendChecksum(kMetaKey, &row);
    ASSERT_TRUE(db->Put({}, rocksdb::Slice(kMetaKey.data(), kMetaKey.size()), row).ok());
    ASSERT_TRUE(db->Flush({}).ok());
  }
  const Status status = StatusOfOpening(path);
  EXPECT_EQ(status.code(), StatusCode::kCorrupted);
  EXPECT_THAT(status.message(), HasSubstr("format 2, but this program uses format 1"));
}

using RocksdbStoreDeathTest = RocksdbStoreTest;

TEST_F(RocksdbStoreDeathTest, RowsThatDoNotAscendEndTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH((void)Open(dir_ / "s")->Apply({{.key = "b", .value = "1"}, {.key = "a", .value = "1"}}, "m"),
               "rows not ascending at key 61");
  EXPECT_DEATH((void)Open(dir_ / "s")->Apply({{.key = "a", .value = "1"}, {.key = "a", .value = "1"}}, "m"),
               "rows not ascending at key 61");
  EXPECT_DEATH((void)Open(dir_ / "s")->Apply({{.key = "", .value = "1"}}, "m"), "reserved key");
}

TEST_F(RocksdbStoreTest, ASnapshotDoesNotChangeWithWritesAndMerges) {
  const auto store = Open(dir_ / "state");
  const auto empty = store->Snapshot();
  ASSERT_TRUE(store->Apply({{.key = "a", .value = "1"}, {.key = "b", .value = "1"}}, "sequence 1").ok());
  const auto snapshot = store->Snapshot();
  for (int i = 2; i < 40; ++i) {  // enough files for a merge
    const std::string value = std::to_string(i);
    ASSERT_TRUE(
        store->Apply({{.key = "a", .value = value}, {.key = "b", .deleted = true}}, "sequence " + value)
            .ok());
  }
  EXPECT_THAT(All(*snapshot), ElementsAre(Pair("a", "1"), Pair("b", "1")));
  EXPECT_EQ(ValueOf(*snapshot, "b"), "1");
  EXPECT_EQ(*snapshot->Meta(), "sequence 1");
  EXPECT_THAT(All(*empty), IsEmpty());
  EXPECT_EQ(empty->Meta().status().code(), StatusCode::kNotFound);
  EXPECT_THAT(All(*store), ElementsAre(Pair("a", "39")));
  EXPECT_EQ(*store->Meta(), "sequence 39");
}

}  // namespace
}  // namespace cobblestone::store
