// A full disk: an Apply that could not be written has changed nothing and may be repeated. If an Apply fails while
// its table is being added, the next open finds one complete version.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "common/store/rocksdb/rocksdb_internal.h"
#include "common/store/rocksdb/rocksdb_store.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::store {
namespace {

using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr std::int64_t kPlenty = std::numeric_limits<std::int64_t>::max() / 2;

class LimitedFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  LimitedFile(std::unique_ptr<FSWritableFile>&& file, std::atomic<std::int64_t>& left)
      : FSWritableFileOwnerWrapper(std::move(file)), left_(left) {}

  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options, IODebugContext* debug) override {
    return Fits(data) ? FSWritableFileOwnerWrapper::Append(data, options, debug)
                      : IOStatus::NoSpace("No space left");
  }
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& info, IODebugContext* debug) override {
    return Fits(data) ? FSWritableFileOwnerWrapper::Append(data, options, info, debug)
                      : IOStatus::NoSpace("No space left");
  }

 private:
  bool Fits(const rocksdb::Slice& data) {
    return left_.fetch_sub(static_cast<std::int64_t>(data.size())) >= static_cast<std::int64_t>(data.size());
  }
  std::atomic<std::int64_t>& left_;
};

// Accepts a limited number of bytes.
class SmallDisk : public rocksdb::FileSystemWrapper {
 public:
  SmallDisk() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "SmallDisk"; }
  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<FSWritableFile>* file, IODebugContext* debug) override {
    const IOStatus s = FileSystemWrapper::NewWritableFile(path, options, file, debug);
    if (s.ok()) *file = std::make_unique<LimitedFile>(std::move(*file), left);
    return s;
  }
  std::atomic<std::int64_t> left{kPlenty};
};

constexpr int kKeys = 40;

Status ApplyVersion(Store& store, const std::string& version) {
  std::vector<std::string> keys;
  for (int i = 0; i < kKeys; ++i) keys.push_back("k" + std::to_string(100 + i));
  const std::string value = version + std::string(100, '.');
  std::vector<Row> rows;
  for (const std::string& key : keys) rows.push_back({.key = key, .value = value});
  return store.Apply(rows, version);
}

// The version of all rows and of Meta; empty if they differ.
std::string OneVersion(const Store& store) {
  const auto meta = store.Meta();
  if (!meta.ok()) return "";
  int rows = 0;
  const Status s = store.Scan({}, [&](std::string_view, std::string_view value) {
    ++rows;
    return value.substr(0, meta->size()) == *meta ? Status::Ok() : Status::Corrupted("another version");
  });
  return s.ok() && rows == kKeys ? *meta : "";
}

TEST(StoreDiskFull, AFullDiskKeepsOneVersionAndTheNextApplySucceeds) {
  const auto memory = std::make_shared<StoreMemory>(1u << 20);
  int retries = 0;
  int fatal = 0;
  int fitted = 0;
  for (std::int64_t space = 0; space <= 9000; space += 250) {
    const testing::TempDir dir;
    const RocksdbStoreOptions where{.path = dir / "state", .memory = memory};
    const auto disk = std::make_shared<SmallDisk>();
    const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(disk);
    {
      auto store = OpenRocksdbStoreOn(where, env.get());
      ASSERT_TRUE(store.ok()) << store.status().message();
      ASSERT_TRUE(ApplyVersion(**store, "1").ok());
      disk->left = space;
      const Status full = ApplyVersion(**store, "2");
      disk->left = kPlenty;
      if (full.code() == StatusCode::kRetry) {
        ++retries;
        EXPECT_THAT(full.message(), ::testing::HasSubstr("the disk is full"));
        EXPECT_EQ(OneVersion(**store), "1") << space;
        EXPECT_TRUE(ApplyVersion(**store, "3").ok()) << space;
        EXPECT_EQ(OneVersion(**store), "3") << space;
      } else if (full.ok()) {
        ++fitted;
        EXPECT_EQ(OneVersion(**store), "2") << space;
      } else {
        EXPECT_EQ(full.code(), StatusCode::kFull) << full.message();
        EXPECT_THAT(full.message(), ::testing::HasSubstr("the disk is full"));
        ++fatal;
      }
    }
    auto store = OpenRocksdbStore(where);
    ASSERT_TRUE(store.ok()) << space << ": " << store.status().message();
    const std::string version = OneVersion(**store);
    EXPECT_NE(version, "") << space;
    EXPECT_TRUE(ApplyVersion(**store, "4").ok());
    EXPECT_EQ(OneVersion(**store), "4") << space;
  }
  EXPECT_GT(retries, 10);
  EXPECT_GT(fitted, 3);
  std::printf("%d could be repeated, %d were fatal, %d fitted\n", retries, fatal, fitted);
}

// A record in the manifest adds a table. Without space for this record the store must be opened again.
TEST(StoreDiskFull, NoSpaceForTheManifestIsFatalAndLeavesOneVersion) {
  const auto memory = std::make_shared<StoreMemory>(1u << 20);
  int fatal = 0;
  for (std::int64_t short_by = 1; short_by <= 400; short_by += 21) {
    const testing::TempDir dir;
    const RocksdbStoreOptions where{.path = dir / "state", .memory = memory};
    const auto disk = std::make_shared<SmallDisk>();
    const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(disk);
    {
      auto store = OpenRocksdbStoreOn(where, env.get());
      ASSERT_TRUE(store.ok()) << store.status().message();
      disk->left = kPlenty;
      ASSERT_TRUE(ApplyVersion(**store, "1").ok());
      const std::int64_t needed = kPlenty - disk->left;  // the next Apply of the same size needs as much
      disk->left = needed - short_by;
      const Status full = ApplyVersion(**store, "2");
      disk->left = kPlenty;
      if (full.code() == StatusCode::kFull) ++fatal;
    }
    auto store = OpenRocksdbStore(where);
    ASSERT_TRUE(store.ok()) << store.status().message();
    EXPECT_THAT(OneVersion(**store), ::testing::AnyOf("1", "2")) << short_by;
  }
  EXPECT_GT(fatal, 0);
}

}  // namespace
}  // namespace cobblestone::store
