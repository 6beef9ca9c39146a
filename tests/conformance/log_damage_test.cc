// Damage to a log by a disk, an operator or a broken cable. A torn last record of the write-ahead log is dropped,
// because it was never acknowledged. Any other damage stops the open, or Verify(), with advice to the operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <rocksdb/db.h>

#include "common/stream/embedded/log.h"
#include "tests/conformance/log_process.h"
#include "tests/conformance/log_stories.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::stream::embedded {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::TempDir;

constexpr std::size_t kBytes =
    20000;  // noise per record, so that flushes and new write-ahead files are frequent

// Files of the database with this extension, by number.
std::vector<std::string> Files(const std::string& log, const std::string& extension) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(log + "/db")) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void Flip(const std::string& path, std::uint64_t at) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(at));
  const char damaged = static_cast<char>(file.get() ^ 0x10);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(damaged);
}

void Flip(const std::string& path) { Flip(path, fs::file_size(path) / 2); }

// Removes bytes from the end of a file.
void Shorten(const std::string& path, std::uint64_t by) { fs::resize_file(path, fs::file_size(path) - by); }

// A log whose owner was killed after `units` were acknowledged. Returns the last acknowledged unit.
std::uint64_t KilledLog(const std::string& path, std::uint64_t units) {
  LogProcess process({path, "0", std::to_string(kBytes)});
  EXPECT_TRUE(process.WaitAcknowledged(units));
  process.Kill();
  return process.Wait().acknowledged;
}

// As KilledLog(), with part of the log in a table file and a blob file, because a killed process may not have
// finished a flush.
std::uint64_t KilledAndFlushedLog(const std::string& path, std::uint64_t units) {
  const std::uint64_t acknowledged = KilledLog(path, units);
  auto log = Log::Open(StoryOptions(path));
  EXPECT_TRUE(log.ok()) << log.status().message();
  if (log.ok()) {
    EXPECT_TRUE((*log)->Reclaim().ok());  // flushes the topics that are trimmed
  }
  return acknowledged;
}

Status OpenStatus(const std::string& path) { return Log::Open(StoryOptions(path)).status(); }

// Opens the log and measures the story; a message if the log does not open.
StoryLength Measure(const std::string& path) {
  auto log = Log::Open(StoryOptions(path));
  if (!log.ok()) return {.wrong = log.status().message()};
  return MeasureStory(**log, kBytes);
}

void ExpectStopsForGood(const std::string& path) {
  for (int attempt = 0; attempt < 2;
       ++attempt) {  // a restarted service must not succeed at the second attempt
    const Status status = OpenStatus(path);
    EXPECT_EQ(status.code(), StatusCode::kCorrupted) << "attempt " << attempt;
    EXPECT_THAT(status.message(), AllOf(HasSubstr(path), HasSubstr("restore")));
  }
  LogOptions query = StoryOptions(path);
  query.read_only = true;
  EXPECT_EQ(Log::Open(query).status().code(), StatusCode::kCorrupted)
      << "a query must not read half a log either";
}

TEST(LogDamage, ATornUnacknowledgedLastRecordIsDropped) {
  const TempDir dir;
  const std::string path = dir / "log";
  // Written, and killed before the acknowledgement.
  LogProcess process({path, "0", std::to_string(kBytes)}, {{"COBBLESTONE_FAILPOINT", "E4b:6"}});
  const std::uint64_t acknowledged = process.Wait().acknowledged;
  ASSERT_GT(acknowledged, 0u);
  Shorten(Files(path, ".log").back(), 1000);
  const StoryLength length = Measure(path);
  EXPECT_EQ(length.wrong, "");
  EXPECT_EQ(length.units, acknowledged);
}

// Repeatedly: the write-ahead files of several lives lie side by side, each with its torn end.
TEST(LogDamage, TornLastRecordsOfSeveralLivesAreDropped) {
  const TempDir dir;
  const std::string path = dir / "log";
  std::uint64_t acknowledged = 0;
  for (int life = 0; life < 6; ++life) {
    LogProcess process({path, "0", std::to_string(kBytes)},
                       {{"COBBLESTONE_FAILPOINT", "E4b:" + std::to_string(2 + life % 3)}});
    const LogProcess::End end = process.Wait();
    ASSERT_TRUE(end.opened) << end.output;
    ASSERT_GT(end.acknowledged, acknowledged) << end.output << end.errors;
    acknowledged = end.acknowledged;
    Shorten(Files(path, ".log").back(), 1);
  }
  const StoryLength length = Measure(path);
  EXPECT_EQ(length.wrong, "");
  EXPECT_EQ(length.units, acknowledged);
}

TEST(LogDamage, AMissingAcknowledgedEndStopsTheOpen) {
  const TempDir dir;
  const std::string path = dir / "log";
  LogProcess process({path, "12", "300"});
  ASSERT_EQ(process.Wait().acknowledged, 12u);
  const std::string wal = Files(path, ".log").back();
  Shorten(wal, 1);
  EXPECT_THAT(OpenStatus(path).message(), AllOf(HasSubstr("has lost its end"), HasSubstr("--accept-loss")));
  ExpectStopsForGood(path);
  Shorten(wal, fs::file_size(wal) - 10);
  ExpectStopsForGood(path);
  Shorten(wal, 10);
  ExpectStopsForGood(path);
}

TEST(LogDamage, AMissingWriteAheadFileStopsTheOpen) {
  const TempDir dir;
  const std::string path = dir / "log";
  LogProcess process({path, "12", "300"});
  ASSERT_EQ(process.Wait().acknowledged, 12u);
  fs::remove(Files(path, ".log").back());
  ExpectStopsForGood(path);
}

TEST(LogDamage, AMissingOlderWriteAheadFileStopsTheOpen) {
  const TempDir dir;
  const std::string path = dir / "log";
  LogProcess first({path, "10", "100"});  // too little for a flush: stays in its write-ahead file
  EXPECT_EQ(first.Wait().exit_code, 0);
  LogProcess second({path, "10", "100"});
  EXPECT_EQ(second.Wait().exit_code, 0);
  ASSERT_GE(Files(path, ".log").size(), 2u);
  // The oldest of the files with contents.
  for (const std::string& wal : Files(path, ".log")) {
    if (fs::file_size(wal) == 0) continue;
    fs::remove(wal);
    break;
  }
  ExpectStopsForGood(path);
}

// Recovery accepts an incomplete record at the end of every write-ahead file, not only of the last one.
TEST(LogDamage, AShortenedOlderWriteAheadFileStopsTheOpen) {
  const TempDir dir;
  const std::string path = dir / "log";
  LogProcess first({path, "10", "100"});
  EXPECT_EQ(first.Wait().exit_code, 0);
  const std::string older = Files(path, ".log").back();
  LogProcess second({path, "10", "100"});
  EXPECT_EQ(second.Wait().exit_code, 0);
  ASSERT_NE(Files(path, ".log").back(), older);
  Shorten(older, 10);
  const Status status = OpenStatus(path);
  EXPECT_THAT(status.message(), HasSubstr("has a gap"));
  ExpectStopsForGood(path);
}

// A flipped bit anywhere in the write-ahead log: in data, in the length of a record (near the end such a record looks
// torn), in a checksum.
TEST(LogDamage, AFlippedBitInTheWriteAheadLogNeverLosesAnAcknowledgedUnit) {
  const TempDir dir;
  const std::string path = dir / "log";
  LogProcess process({path, "12", "300"});
  const std::uint64_t acknowledged = process.Wait().acknowledged;
  ASSERT_EQ(acknowledged, 12u);
  const std::string wal = Files(path, ".log").back();
  const std::uint64_t size = fs::file_size(wal);
  ASSERT_GT(size, 5000u);
  std::uint64_t stopped = 0;
  std::uint64_t tried = 0;
  // All of the last 150 bytes, and every 211th byte before them.
  for (std::uint64_t at = 0; at < size; at += at + 150 < size ? 211 : 1) {
    const std::string copy = dir / ("copy" + std::to_string(at));
    fs::copy(path, copy, fs::copy_options::recursive);
    Flip(copy + "/db/" + fs::path(wal).filename().string(), at);
    const StoryLength length = Measure(copy);
    ++tried;
    if (length.wrong.empty()) {
      EXPECT_EQ(length.units, acknowledged) << "byte " << at << " of " << size << " was flipped";
    } else {
      ++stopped;
      EXPECT_THAT(length.wrong, HasSubstr("restore")) << "byte " << at;
    }
    fs::remove_all(copy);
  }
  EXPECT_EQ(stopped, tried) << "every byte of this file belongs to an acknowledged unit";
}

// Recovery flushes its records when they fill a write buffer; the damage is after that point.
TEST(LogDamage, ARefusedOpenChangesNoFile) {
  const TempDir dir;
  const std::string path = dir / "log";
  LogProcess process({path, "12", "10000"});
  ASSERT_EQ(process.Wait().acknowledged, 12u);
  const std::string wal = Files(path, ".log").back();
  ASSERT_GT(fs::file_size(wal), 200000u);
  Flip(wal, fs::file_size(wal) * 9 / 10);
  const auto names = [&] {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(path + "/db")) all.push_back(entry.path().filename());
    std::sort(all.begin(), all.end());
    return all;
  };
  const std::vector<std::string> before = names();
  LogOptions options = StoryOptions(path);
  options.write_buffer_bytes = 128u << 10;
  EXPECT_EQ(Log::Open(options).status().code(), StatusCode::kCorrupted);
  EXPECT_EQ(names(), before);
}

// Why the log does not use RocksDB's default mode: with the same damage it silently drops every later record.
TEST(LogDamage, RocksdbsDefaultRecoveryModeDropsDataSilently) {
  const TempDir dir;
  const std::string path = dir / "plain";
  const auto write_and_damage = [&] {
    fs::remove_all(path);
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* db = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open(options, path, &db).ok());
    rocksdb::WriteOptions sync;
    sync.sync = true;
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(db->Put(sync, std::to_string(i), Noise(1, 1000)).ok());
    delete db;
    for (const auto& entry : fs::directory_iterator(path)) {
      if (entry.path().extension() == ".log") Flip(entry.path());
    }
  };
  const auto open_with = [&](rocksdb::WALRecoveryMode mode, rocksdb::DB** db) {
    rocksdb::Options options;
    options.wal_recovery_mode = mode;
    options.track_and_verify_wals_in_manifest = true;
    return rocksdb::DB::Open(options, path, db);
  };
  rocksdb::DB* db = nullptr;
  write_and_damage();
  EXPECT_TRUE(open_with(rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords, &db).IsCorruption());
  ASSERT_TRUE(open_with(rocksdb::WALRecoveryMode::kPointInTimeRecovery, &db).ok());
  std::string value;
  EXPECT_TRUE(db->Get({}, "0", &value).ok());
  EXPECT_TRUE(db->Get({}, "99", &value).IsNotFound()) << "acknowledged with a sync, and gone";
  delete db;
}

TEST(LogDamage, AFlippedByteInAnyFileStopsTheOpenOrFailsVerify) {
  const TempDir dir;
  const std::string path = dir / "log";
  KilledAndFlushedLog(path, 600);
  {
    auto log = Log::Open(StoryOptions(path));
    ASSERT_TRUE(log.ok()) << log.status().message();
    ASSERT_TRUE((*log)->Verify({}).ok());
  }
  std::vector<std::string> kinds;
  for (const std::string extension : {".sst", ".blob", ".log"}) {
    const std::vector<std::string> files = Files(path, extension);
    ASSERT_FALSE(files.empty()) << extension;
    for (const std::string& file : files) {
      if (fs::file_size(file) > 0) kinds.push_back("db/" + fs::path(file).filename().string());
    }
  }
  for (const auto& entry : fs::directory_iterator(path + "/db")) {
    const std::string name = entry.path().filename();
    if (name.starts_with("MANIFEST") || name == "CURRENT") kinds.push_back("db/" + name);
  }
  for (const std::string& kind : kinds) {
    const std::string copy = dir / "copy";
    fs::copy(path, copy, fs::copy_options::recursive);
    Flip(copy + "/" + kind);
    auto log = Log::Open(StoryOptions(copy));
    const Status status = log.ok() ? (*log)->Verify({}) : log.status();
    EXPECT_EQ(status.code(), StatusCode::kCorrupted) << kind << ": " << status.message();
    EXPECT_THAT(status.message(), HasSubstr("restore")) << kind;
    if (log.ok()) log = Status::NotFound("closed");
    fs::remove_all(copy);
  }
}

// The disk changes bytes while the log is open.
TEST(LogDamage, VerifyFindsAFlippedByteInAnOpenLog) {
  const TempDir dir;
  const std::string path = dir / "log";
  KilledAndFlushedLog(path, 120);
  for (const std::string extension : {".sst", ".blob", ".log"}) {
    ASSERT_FALSE(Files(path, extension).empty()) << extension;
    const std::string copy = dir / "copy";
    fs::copy(path, copy, fs::copy_options::recursive);
    LogOptions options = StoryOptions(copy);
    options.tail_bytes = 0;
    auto log = Log::Open(options);
    ASSERT_TRUE(log.ok()) << log.status().message();
    (*log)->WaitDurable((*log)->Append(StoryUnit((*log)->End({kClaims, 0}) + 1, kBytes)));
    std::uint64_t last = 0;
    const Status clean = (*log)->Verify([&](std::uint64_t done, std::uint64_t all) {
      EXPECT_GE(done, last);
      EXPECT_LE(done, all);
      last = done;
    });
    EXPECT_TRUE(clean.ok()) << clean.message();
    EXPECT_GT(last, 0u);
    Flip(Files(copy, extension).back());
    const Status status = (*log)->Verify({});
    EXPECT_EQ(status.code(), StatusCode::kCorrupted) << extension;
    log = Status::NotFound("closed");
    fs::remove_all(copy);
  }
}

TEST(LogDamage, AMissingFileOfAnyKindStopsTheOpen) {
  const TempDir dir;
  const std::string path = dir / "log";
  KilledAndFlushedLog(path, 120);  // its clean close has removed the remains of an unfinished flush
  for (const char* extension : {".sst", ".blob"}) ASSERT_FALSE(Files(path, extension).empty()) << extension;
  std::vector<std::string> names = {"acknowledged", "db/CURRENT"};
  for (const auto& entry : fs::directory_iterator(path + "/db")) {
    const std::string name = entry.path().filename();
    const std::string extension = entry.path().extension();
    if (extension == ".sst" || extension == ".blob" || name.starts_with("MANIFEST"))
      names.push_back("db/" + name);
  }
  for (const std::string& name : names) {
    const std::string copy = dir / "copy";
    fs::copy(path, copy, fs::copy_options::recursive);
    fs::remove(copy + "/" + name);
    SCOPED_TRACE(name);
    ExpectStopsForGood(copy);
    fs::remove_all(copy);
  }
}

TEST(LogDamage, AnAcknowledgedFileWithoutAValidMarkStopsTheOpen) {
  const TempDir dir;
  const std::string path = dir / "log";
  KilledLog(path, 10);
  Flip(path + "/acknowledged", 10);
  EXPECT_TRUE(OpenStatus(path).ok()) << "one of two marks is enough";
  Flip(path + "/acknowledged", 10);
  Flip(path + "/acknowledged", 4096 + 10);
  ExpectStopsForGood(path);
}

TEST(LogDamage, TheOperatorCanAcceptTheLoss) {
  const TempDir dir;
  const std::string path = dir / "log";
  LogProcess process({path, "12", "20000"});
  ASSERT_EQ(process.Wait().acknowledged, 12u);
  Flip(Files(path, ".log").back());
  ASSERT_EQ(OpenStatus(path).code(), StatusCode::kCorrupted);
  LogOptions options = StoryOptions(path);
  options.accept_loss = true;
  std::uint64_t left = 0;
  {
    auto log = Log::Open(options);
    ASSERT_TRUE(log.ok()) << log.status().message();
    const StoryLength length = MeasureStory(**log, 20000);
    EXPECT_EQ(length.wrong, "") << "whole units";
    left = length.units;
    EXPECT_GT(left, 0u);
    EXPECT_LT(left, 12u);
    (*log)->WaitDurable((*log)->Append(StoryUnit(left + 1, 20000)));
  }
  const StoryLength length = Measure(path);  // from then on a log like any other
  EXPECT_EQ(length.wrong, "");
  EXPECT_EQ(length.units, left + 1);
}

}  // namespace
}  // namespace cobblestone::stream::embedded
