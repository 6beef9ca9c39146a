// `cobblestone backup` of a running pipeline, and `cobblestone restore`: kills at every step, a full disk, a
// damaged backup. A restored pipeline equals the oracle after every source is sent again, and the audit finds
// nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/stream/embedded/lock_file.h"
#include "tests/robustness/program_world.h"
#include "tests/support/small_disk.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using testing::Background;
using testing::Finished;
using ::testing::HasSubstr;
using testing::RunProgram;
using testing::TempDir;

// docs/guides/command-line.md
constexpr int kUsageExitCode = 2;
constexpr int kNotFoundExitCode = 3;
constexpr int kBusyExitCode = 4;
constexpr int kCorruptedExitCode = 5;
constexpr int kFullExitCode = 74;
constexpr int kKilled = 128 + SIGKILL;

std::vector<std::string> NamesIn(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// Names that are neither a complete backup nor the lock.
std::vector<std::string> LeftOversIn(const std::string& set) {
  std::vector<std::string> left;
  for (const std::string& name : NamesIn(set))
    if (name.ends_with(".partial") || name.ends_with(".removed")) left.push_back(name);
  return left;
}

std::vector<std::string> BackupsIn(const std::string& set) {
  std::vector<std::string> backups;
  for (const std::string& name : NamesIn(set))
    if (name != "lock" && !name.ends_with(".partial") && !name.ends_with(".removed"))
      backups.push_back(set + "/" + name);
  return backups;
}

// Inodes of all files of a backup, by their path in it.
std::map<std::string, ino_t> InodesOf(const std::string& backup) {
  std::map<std::string, ino_t> inodes;
  for (const auto& entry : fs::recursive_directory_iterator(backup)) {
    struct stat about {};
    if (entry.is_regular_file() && ::stat(entry.path().c_str(), &about) == 0)
      inodes[entry.path().string().substr(backup.size() + 1)] = about.st_ino;
  }
  return inodes;
}

class ProgramBackup : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<std::string> Backup(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> command = {"backup", "--data", world_.data(), "--to", set_};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
  [[nodiscard]] Finished MakeBackup(const std::vector<std::string>& more = {}) const {
    return RunProgram(dir_.path(), Backup(more));
  }
  void MakeGoodBackup(const std::vector<std::string>& more = {}) const {
    const Finished made = MakeBackup(more);
    ASSERT_EQ(made.code, 0) << made.out << made.err;
  }
  [[nodiscard]] Finished Check(const std::string& from) const {
    return RunProgram(dir_.path(), {"restore", "--from", from, "--check"});
  }
  [[nodiscard]] Finished RestoreTo(const std::string& from, const std::string& data) const {
    return RunProgram(dir_.path(), {"restore", "--from", from, "--data", data});
  }
  // Ingests the first `share` of the events, under the source name of the whole traffic.
  [[nodiscard]] Finished IngestSome(double share) const {
    const auto some = static_cast<std::ptrdiff_t>(share * static_cast<double>(events_.size()));
    testing::WriteTraffic({events_.begin(), events_.begin() + some}, beside_ / "traffic.pb");
    Finished ingested = world_.Ingest();
    testing::WriteTraffic(events_, beside_ / "traffic.pb");
    return ingested;
  }
  // Starts a pipeline that ingests the first half of the events.
  void StartAndIngestHalf() {
    program_.emplace(dir_.path(), world_.run());
    ASSERT_TRUE(program_->WaitFor("running")) << program_->err();
    const Finished ingested = IngestSome(0.5);
    ASSERT_LE(ingested.code, 1) << ingested.out << ingested.err;
  }
  void Stop() {
    program_->Signal(SIGTERM);
    ASSERT_EQ(program_->Wait(), 0) << program_->err();
    program_.reset();
  }
  // Restores elsewhere, audits, sends the whole source, and expects the result of an undisturbed run.
  void ExpectRestoresAndEndsLikeTheOracle(const std::string& from) const {
    SCOPED_TRACE(from);
    const TempDir other;
    const testing::ProgramWorld restored(other.path(), beside_, events_);
    const Finished done = RestoreTo(from, restored.data());
    ASSERT_EQ(done.code, 0) << done.out << done.err;
    const Finished audited = RunProgram(other.path(), {"audit", "--data", restored.data()});
    ASSERT_EQ(audited.code, 0) << audited.out << audited.err;
    restored.FinishAndExpectLikeTheOracle();
    const Finished again = RunProgram(other.path(), {"audit", "--data", restored.data()});
    EXPECT_EQ(again.code, 0) << again.out << again.err;
  }

  TempDir dir_;
  TempDir beside_;
  std::vector<testing::Event> events_ = testing::Traffic(35, 12000);
  testing::ProgramWorld world_{dir_.path(), beside_, events_};
  std::string set_ = dir_ / "backups";
  std::optional<Background> program_;
};

TEST_F(ProgramBackup, EachMadeDuringIngestRestoresAndContinues) {
  ASSERT_NO_FATAL_FAILURE(StartAndIngestHalf());
  ASSERT_NO_FATAL_FAILURE(MakeGoodBackup());
  {
    Background ingest(dir_.path(), {"ingest", beside_ / "traffic.pb", "--config", world_.run().back()});
    do {
      ASSERT_NO_FATAL_FAILURE(MakeGoodBackup());
    } while (ingest.Runs());
    ASSERT_LE(ingest.Wait(), 1) << ingest.err();
  }
  EXPECT_TRUE(program_->Runs()) << program_->err();
  program_->Signal(SIGKILL);  // the machine is lost
  program_->Wait();
  EXPECT_FALSE(fs::exists(world_.data() + "/backup-copy"));
  const auto backups = BackupsIn(set_);
  ASSERT_GE(backups.size(), 2u);
  ExpectRestoresAndEndsLikeTheOracle(backups.front());  // half of the events
  ExpectRestoresAndEndsLikeTheOracle(backups[1]);       // made in the middle
  ExpectRestoresAndEndsLikeTheOracle(set_);             // the newest
}

TEST_F(ProgramBackup, AKillAtAnyStepLeavesOlderOnesWholeAndTheNextCleansUp) {
  ASSERT_NO_FATAL_FAILURE(StartAndIngestHalf());
  ASSERT_NO_FATAL_FAILURE(MakeGoodBackup());
  ASSERT_EQ(BackupsIn(set_).size(), 1u);
  struct Case {
    const char* point;
    std::size_t complete;  // backups afterwards
    std::size_t left;      // unfinished ones afterwards
  };
  for (const Case& story : {Case{"B1:1", 1, 0}, Case{"B2:1", 1, 1}, Case{"B2:9", 1, 1}, Case{"B3:1", 1, 1},
                            Case{"B4:1", 2, 0}, Case{"B5:1", 1, 1}}) {
    SCOPED_TRACE(story.point);
    // B5 keeps one backup, so that there is one to delete; the other cases keep all.
    const std::string keep = std::string(story.point).starts_with("B5") ? "1" : "9";
    Background dying(dir_.path(), Backup({"--keep", keep}), story.point);
    ASSERT_EQ(dying.Wait(), kKilled) << dying.err();
    EXPECT_EQ(BackupsIn(set_).size(), story.complete);
    EXPECT_EQ(LeftOversIn(set_).size(), story.left);
    EXPECT_EQ(Check(BackupsIn(set_).front()).code, 0);
    EXPECT_EQ(Check(BackupsIn(set_).back()).code, 0);
    EXPECT_TRUE(program_->Runs()) << program_->err();

    const Finished next = MakeBackup({"--keep", "1"});
    ASSERT_EQ(next.code, 0) << next.out << next.err;
    EXPECT_EQ(next.err.find("was interrupted") != std::string::npos, story.left > 0) << next.err;
    EXPECT_EQ(LeftOversIn(set_).size(), 0u);
    EXPECT_EQ(BackupsIn(set_).size(), 1u);
    EXPECT_FALSE(fs::exists(world_.data() + "/backup-copy"));
    EXPECT_EQ(Check(set_).code, 0);
  }
  ASSERT_NO_FATAL_FAILURE(Stop());
  ExpectRestoresAndEndsLikeTheOracle(set_);
}

// The copy left by a killed backup keeps deleted files on the disk, so a start of the pipeline removes it.
TEST_F(ProgramBackup, TheCopyOfAKilledBackupIsRemovedAtTheNextStart) {
  ASSERT_NO_FATAL_FAILURE(StartAndIngestHalf());
  Background dying(dir_.path(), Backup(), "B1:1");
  ASSERT_EQ(dying.Wait(), kKilled) << dying.err();
  EXPECT_TRUE(fs::exists(world_.data() + "/backup-copy"));
  ASSERT_NO_FATAL_FAILURE(Stop());
  Background again(dir_.path(), world_.run());
  ASSERT_TRUE(again.WaitFor("running")) << again.err();
  EXPECT_FALSE(fs::exists(world_.data() + "/backup-copy"));
}

TEST_F(ProgramBackup, AKilledRestoreShowsNothingAndTheNextOneStartsOver) {
  ASSERT_NO_FATAL_FAILURE(StartAndIngestHalf());
  ASSERT_NO_FATAL_FAILURE(MakeGoodBackup());
  const std::string target = dir_ / "restored";
  for (const char* point : {"B6:1", "B6:7", "B7:1", "B7:2"}) {
    SCOPED_TRACE(point);
    Background dying(dir_.path(), {"restore", "--from", set_, "--data", target}, point);
    ASSERT_EQ(dying.Wait(), kKilled) << dying.err();
    EXPECT_TRUE(fs::exists(target + "/restoring"));
    const Finished early = RunProgram(dir_.path(), {"run", "--data", target});
    EXPECT_EQ(early.code, kUsageExitCode);
    EXPECT_THAT(early.err, HasSubstr("a restore into " + target + " has not ended"));
  }
  const Finished done = RestoreTo(set_, target);
  ASSERT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_FALSE(fs::exists(target + "/restoring"));
  EXPECT_EQ(RunProgram(dir_.path(), {"audit", "--data", target}).code, 0);
  const Finished onto = RestoreTo(set_, target);
  EXPECT_EQ(onto.code, kUsageExitCode) << onto.out;
  EXPECT_THAT(onto.err, HasSubstr("is not an empty directory"));
}

TEST_F(ProgramBackup, ARestoreDeletesNothingOfOthers) {
  ASSERT_NO_FATAL_FAILURE(StartAndIngestHalf());
  ASSERT_NO_FATAL_FAILURE(MakeGoodBackup());
  const std::string target = dir_ / "ours";
  for (const char* file : {"/restoring/notes", "/notes"}) {
    fs::create_directories(target + "/restoring");
    std::ofstream(target + file) << "keep";
    const Finished refused = RestoreTo(set_, target);
    EXPECT_EQ(refused.code, kUsageExitCode) << refused.out;
    EXPECT_THAT(refused.err, HasSubstr("is not an empty directory"));
    EXPECT_TRUE(fs::exists(target + file));
    fs::remove_all(target);
  }
  fs::create_directories(target + "/restoring");  // of a restore that died before its lock file
  EXPECT_EQ(RestoreTo(set_, target).code, 0);
}

TEST_F(ProgramBackup, RestoresIntoAMountPoint) {
  const testing::SmallDisk disk("256m");
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a small disk (" << disk.why() << ")";
  ASSERT_NO_FATAL_FAILURE(StartAndIngestHalf());
  ASSERT_NO_FATAL_FAILURE(MakeGoodBackup());
  fs::create_directory(disk.dir() / "lost+found");
  const Finished done = RestoreTo(set_, disk.dir().path());
  ASSERT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_TRUE(fs::exists(disk.dir() / "lost+found"));
  EXPECT_EQ(RunProgram(dir_.path(), {"audit", "--data", disk.dir().path()}).code, 0);
}

TEST_F(ProgramBackup, AFullDiskFailsOnlyTheBackupAndItSucceedsWithRoom) {
  const testing::SmallDisk disk("64m");
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a small disk (" << disk.why() << ")";
  ASSERT_NO_FATAL_FAILURE(StartAndIngestHalf());
  set_ = disk.dir() / "backups";
  ASSERT_NO_FATAL_FAILURE(MakeGoodBackup());
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(set_))
    if (entry.is_regular_file()) bytes += entry.file_size();
  // Room for the existing backup and for a small part of the next one.
  ASSERT_TRUE(disk.Grow(std::to_string(bytes / 1024 + bytes / 8192 + 256) + "k"));
  const Finished full = MakeBackup({"--full"});
  EXPECT_EQ(full.code, kFullExitCode) << full.out << full.err;
  EXPECT_THAT(full.err, HasSubstr("No space left on device"));
  EXPECT_THAT(full.err, HasSubstr("free disk space there"));
  EXPECT_EQ(LeftOversIn(set_).size(), 0u) << "an unfinished backup would occupy the missing space";
  EXPECT_EQ(BackupsIn(set_).size(), 1u);
  EXPECT_EQ(Check(set_).code, 0);
  EXPECT_FALSE(fs::exists(world_.data() + "/backup-copy"));
  const Finished ingested = world_.Ingest();  // the pipeline is not affected
  EXPECT_LE(ingested.code, 1) << ingested.out << ingested.err;

  const std::string target = disk.dir() / "restored";
  const Finished nowhere = RestoreTo(set_, target);
  EXPECT_EQ(nowhere.code, kFullExitCode) << nowhere.out << nowhere.err;
  EXPECT_FALSE(fs::exists(target));

  ASSERT_TRUE(disk.Grow("256m"));
  ASSERT_NO_FATAL_FAILURE(MakeGoodBackup({"--full"}));
  EXPECT_EQ(BackupsIn(set_).size(), 2u);
  ASSERT_NO_FATAL_FAILURE(Stop());
  ExpectRestoresAndEndsLikeTheOracle(set_);
}

TEST_F(ProgramBackup, ADamagedFileOfAnyKindIsNamedAndNothingIsRestored) {
  ASSERT_NO_FATAL_FAILURE(StartAndIngestHalf());
  ASSERT_NO_FATAL_FAILURE(MakeGoodBackup({"--config", world_.run().back()}));
  ASSERT_NO_FATAL_FAILURE(Stop());
  const std::string backup = BackupsIn(set_).front();
  const std::string target = dir_ / "restored";
  std::map<std::string, int> kinds;  // by extension or name
  const auto expect_refused = [&](const std::string& names) {
    for (const std::string& from : {set_, backup}) {
      const Finished refused = RestoreTo(from, target);
      EXPECT_EQ(refused.code, kCorruptedExitCode) << refused.out << refused.err;
      EXPECT_THAT(refused.err, HasSubstr(backup));
      EXPECT_THAT(refused.err, HasSubstr(names));
      EXPECT_THAT(refused.err, AnyOf(HasSubstr("other backup"), HasSubstr("restore another")));
    }
    EXPECT_EQ(Check(backup).code, kCorruptedExitCode);
    EXPECT_FALSE(fs::exists(target));
  };
  for (const auto& [path, inode] : InodesOf(backup)) {
    const std::string file = backup + "/" + path;
    const std::uintmax_t size = fs::file_size(file);
    if (size == 0) continue;
    const std::string kind = fs::path(path).has_extension() ? fs::path(path).extension().string()
                                                            : fs::path(path).filename().string().substr(0, 8);
    if (++kinds[kind] > 2) continue;
    SCOPED_TRACE(path);
    const bool configuration = path.starts_with("configuration/");
    const auto flip = [&] {
      std::fstream bytes(file, std::ios::binary | std::ios::in | std::ios::out);
      bytes.seekg(static_cast<std::streamoff>(size / 2));
      const char damaged = static_cast<char>(bytes.get() ^ 0x01);
      bytes.seekp(static_cast<std::streamoff>(size / 2));
      bytes.put(damaged);
    };
    flip();
    if (configuration) {  // is not restored, but reported
      EXPECT_EQ(Check(backup).code, kCorruptedExitCode);
    } else {
      expect_refused(fs::path(path).filename());
    }
    flip();
    if (configuration) continue;
    fs::rename(file, file + ".aside");
    expect_refused(fs::path(path).filename());
    fs::rename(file + ".aside", file);
  }
  for (const char* kind : {".log", ".sst", "MANIFEST", "CURRENT", "acknowle", ".yaml", ".json", "SHA256SU"})
    EXPECT_GT(kinds[kind], 0) << kind;
  EXPECT_EQ(Check(backup).code, 0);  // healed
  ExpectRestoresAndEndsLikeTheOracle(backup);
}

TEST_F(ProgramBackup, UnchangedFilesAreLinkedAndOnlyTheNewestAreKept) {
  ASSERT_NO_FATAL_FAILURE(StartAndIngestHalf());
  ASSERT_NO_FATAL_FAILURE(Stop());
  ASSERT_NO_FATAL_FAILURE(MakeGoodBackup());  // without a running pipeline
  ASSERT_NO_FATAL_FAILURE(MakeGoodBackup());
  ASSERT_NO_FATAL_FAILURE(MakeGoodBackup({"--full"}));
  const auto backups = BackupsIn(set_);
  ASSERT_EQ(backups.size(), 3u);
  const auto first = InodesOf(backups[0]);
  const auto second = InodesOf(backups[1]);
  const auto full = InodesOf(backups[2]);
  std::size_t linked = 0;
  for (const auto& [path, inode] : second) {
    const auto before = first.find(path);
    const bool same = before != first.end() && before->second == inode;
    linked += same ? 1 : 0;
    EXPECT_EQ(full.contains(path) && full.at(path) == inode, false) << path;
    const bool table = path.ends_with(".sst") || path.ends_with(".blob");
    // A file that the opening for the second backup created is new.
    if (table && before != first.end()) {
      EXPECT_TRUE(same) << path << " is copied again";
    }
  }
  EXPECT_GT(linked, 5u);
  // No file of a backup is shared with the pipeline's own state or log.
  for (const auto& [path, inode] : InodesOf(world_.data()))
    for (const auto* backup : {&first, &second})
      for (const auto& [name, copied] : *backup) EXPECT_NE(copied, inode) << name;

  const Finished kept = MakeBackup({"--keep", "2", "--json"});
  ASSERT_EQ(kept.code, 0) << kept.err;
  const auto json = nlohmann::json::parse(kept.out);
  EXPECT_EQ(json.at("deleted").size(), 2u);
  EXPECT_EQ(json.at("deleted").at(0).get<std::string>(), fs::path(backups[0]).filename());
  EXPECT_GT(json.at("linked_files").get<std::uint64_t>(), 5u);
  const auto left = BackupsIn(set_);
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0], backups[2]);
  ExpectRestoresAndEndsLikeTheOracle(left[1]);  // its links outlive what they were linked to
}

TEST_F(ProgramBackup, OnlyOneRunsAndOnlyOutsideTheDataDirectory) {
  ASSERT_EQ(MakeBackup().code, kNotFoundExitCode);  // no data directory yet
  ASSERT_NO_FATAL_FAILURE(StartAndIngestHalf());
  {
    fs::create_directories(set_);
    const auto lock = stream::embedded::LockFile::Take(set_ + "/lock");
    const Finished second = MakeBackup();
    EXPECT_EQ(second.code, kBusyExitCode) << second.err;
    EXPECT_THAT(second.err, HasSubstr("another backup is being made in " + set_));
  }
  {
    const auto lock = stream::embedded::LockFile::Take(world_.data() + "/backup.lock");
    const Finished second = MakeBackup();
    EXPECT_EQ(second.code, kBusyExitCode) << second.err;
    EXPECT_THAT(second.err, HasSubstr("another backup of " + world_.data()));
  }
  const Finished within =
      RunProgram(dir_.path(), {"backup", "--data", world_.data(), "--to", world_.data() + "/backups"});
  EXPECT_EQ(within.code, kUsageExitCode);
  EXPECT_THAT(within.err, HasSubstr("lies in the data directory"));
  EXPECT_FALSE(fs::exists(world_.data() + "/backups"));
  EXPECT_EQ(RestoreTo(set_, dir_ / "restored").code, kNotFoundExitCode);  // no backup yet
  ASSERT_NO_FATAL_FAILURE(MakeGoodBackup());
}

}  // namespace
}  // namespace cobblestone
