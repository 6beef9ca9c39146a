// `cobblestone run` on a log that a power cut or a bad disk has changed. Unacknowledged data is dropped. Any
// other damage stops the start, with advice to the operator, and the directory stays unchanged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/store/rocksdb/rocksdb_store.h"
#include "services/claims/state.h"
#include "tests/robustness/program_world.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {
namespace {

namespace fs = std::filesystem;
using testing::Background;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr int kCorruptedExitCode = 5;  // docs/guides/command-line.md

// The names of files that differ.
std::string Difference(std::map<std::string, std::string> before,
                       const std::map<std::string, std::string>& after) {
  std::string names;
  for (const auto& [name, bytes] : after) {
    const auto was = before.find(name);
    if (was == before.end() || was->second != bytes)
      names += (was == before.end() ? "new " : "changed ") + name + "\n";
    if (was != before.end()) before.erase(was);
  }
  for (const auto& [name, bytes] : before) names += "gone " + name + "\n";
  return names;
}

class ProgramDamage : public ::testing::Test {
 protected:
  // The most recently written write-ahead file of the log.
  [[nodiscard]] std::string NewestWal() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(world_.data() + "/log/db"))
      if (entry.path().extension() == ".log" && entry.file_size() > 0) files.push_back(entry.path());
    EXPECT_FALSE(files.empty());
    return *std::max_element(files.begin(), files.end());
  }
  // Runs an ingest until the program is killed.
  void KilledAt(const std::string& failpoint) {
    Background program(dir_.path(), world_.run(), failpoint);
    ASSERT_TRUE(program.WaitFor("running")) << program.err();
    const testing::Finished cut = world_.Ingest();
    program.Signal(failpoint.empty() ? SIGKILL
                                     : SIGTERM);  // ends the program if the failpoint was not reached
    ASSERT_EQ(program.Wait(), 128 + SIGKILL) << cut.out << cut.err << program.err();
  }
  void ExpectRefusesAndChangesNothing(const std::string& says) {
    const auto before = world_.Files();
    for (int attempt = 0; attempt < 2; ++attempt) {  // a service manager starts it again
      Background program(dir_.path(), world_.run());
      if (program.WaitFor("running")) program.Signal(SIGKILL);
      EXPECT_EQ(program.Wait(), kCorruptedExitCode) << program.err();
      EXPECT_THAT(program.err(), ContainsRegex(says));
      EXPECT_THAT(program.err(), HasSubstr(world_.data() + "/log"));
      EXPECT_THAT(program.err(), HasSubstr("restore"));
      EXPECT_EQ(Difference(before, world_.Files()), "") << "attempt " << attempt;
    }
  }

  testing::TempDir dir_;
  testing::TempDir beside_;
  std::vector<testing::Event> events_ = testing::Traffic(33, 6000);
  testing::ProgramWorld world_{dir_.path(), beside_, events_};
};

TEST_F(ProgramDamage, ATornUnacknowledgedLastRecordIsDropped) {
  ASSERT_NO_FATAL_FAILURE(KilledAt("E4b:3"));  // written, but not acknowledged
  const std::string wal = NewestWal();
  fs::resize_file(wal, fs::file_size(wal) - 7);
  world_.FinishAndExpectLikeTheOracle();
}

TEST_F(ProgramDamage, AMissingAcknowledgedEndStopsTheStart) {
  ASSERT_NO_FATAL_FAILURE(KilledAt(""));
  const std::string wal = NewestWal();
  fs::resize_file(wal, fs::file_size(wal) - 7);
  ExpectRefusesAndChangesNothing("has lost its end");
}

TEST_F(ProgramDamage, AFlippedByteInAcknowledgedDataStopsTheStart) {
  ASSERT_NO_FATAL_FAILURE(KilledAt(""));
  const std::string wal = NewestWal();
  const auto middle = static_cast<std::streamoff>(fs::file_size(wal) / 2);
  const auto flip = [&] {
    std::fstream file(wal, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(middle);
    const char damaged = static_cast<char>(file.get() ^ 0x10);
    file.seekp(middle);
    file.put(damaged);
  };
  flip();
  ExpectRefusesAndChangesNothing("damaged|has a gap|has lost its end");
  flip();  // the disk was repaired
  world_.FinishAndExpectLikeTheOracle();
}

// The checksums of the damaged rows are valid, so only the stage that reads such a row can detect the damage.
TEST_F(ProgramDamage, UndecodableStateRowsStopTheProgramAndTheNextStartRebuilds) {
  {
    Background program(dir_.path(), world_.run());
    ASSERT_TRUE(program.WaitFor("running")) << program.err();
    static_cast<void>(world_.Ingest());
    program.Signal(SIGTERM);
    ASSERT_EQ(program.Wait(), 0) << program.err();
  }
  std::size_t damaged = 0;
  for (const auto& entry : fs::directory_iterator(world_.data() + "/state")) {
    auto opened = store::OpenRocksdbStore(
        {.path = entry.path(), .memory = std::make_shared<store::StoreMemory>(1 << 20)});
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    std::vector<std::string> keys;
    const char table = static_cast<char>(claims::kHostsTable.id);
    ASSERT_TRUE((*opened)
                    ->Scan({&table, 1},
                           [&](std::string_view key, std::string_view) {
                             keys.emplace_back(key);
                             return Status::Ok();
                           })
                    .ok());
    std::vector<store::Row> rows;
    for (const std::string& key : keys) rows.push_back({.key = key, .value = "\x01 no row"});
    const auto meta = (*opened)->Meta();
    ASSERT_TRUE(meta.ok());
    ASSERT_TRUE((*opened)->Apply(rows, *meta).ok());
    damaged += rows.size();
    if (damaged > 0) break;  // of one slot: damage is found and repaired slot by slot
  }
  ASSERT_GT(damaged, 0u);
  const testing::TempDir again;
  testing::WriteTraffic(events_, again / "again.pb");
  {
    Background program(dir_.path(), world_.run());
    ASSERT_TRUE(program.WaitFor("running")) << program.err();
    // Sends everything again under another source name: repeats, whose hosts are looked up.
    static_cast<void>(testing::RunProgram(
        dir_.path(), {"ingest", again / "again.pb", "--source", "again", "--config", world_.run().back()}));
    ASSERT_EQ(program.Wait(), kCorruptedExitCode) << program.err();
    EXPECT_THAT(program.err(), HasSubstr("a value in state table 1 cannot be decoded"));
    EXPECT_THAT(program.err(),
                HasSubstr("Start again: the state is then rebuilt from a checkpoint and the log"));
  }
  Background program(dir_.path(), world_.run());
  ASSERT_TRUE(program.WaitFor("running")) << program.err();
  EXPECT_THAT(program.err(), ContainsRegex("restored from checkpoint|is rebuilt"));
  program.Signal(SIGTERM);
  ASSERT_EQ(program.Wait(), 0) << program.err();
  const testing::Finished audited = testing::RunProgram(dir_.path(), {"audit", "--data", world_.data()});
  EXPECT_EQ(audited.code, 0) << audited.out << audited.err;
}

TEST_F(ProgramDamage, TheOperatorCanAcceptTheLossAndResendEverything) {
  {
    Background program(dir_.path(), world_.run());
    ASSERT_TRUE(program.WaitFor("running")) << program.err();
    static_cast<void>(world_.Ingest());
    program.Signal(SIGTERM);
    ASSERT_EQ(program.Wait(), 0) << program.err();
  }
  const std::string wal = NewestWal();
  fs::resize_file(wal, fs::file_size(wal) / 10);  // states written at the end are newer than the log
  ExpectRefusesAndChangesNothing("--accept-loss");

  std::vector<std::string> accept = world_.run();
  accept.emplace_back("--accept-loss");
  {
    Background program(dir_.path(), accept);
    ASSERT_TRUE(program.WaitFor("running")) << program.err();
    EXPECT_THAT(program.err(),
                HasSubstr("data loss accepted: the log in " + world_.data() + "/log has lost"));
    EXPECT_THAT(program.err(), HasSubstr(" is moved to " + world_.data() + "/lost/state/slot-"));
    EXPECT_TRUE(fs::exists(world_.data() + "/lost/state"));
    EXPECT_THAT(program.err(), HasSubstr("Send every source again"));
    program.Signal(SIGTERM);
    ASSERT_EQ(program.Wait(), 0) << program.err();
  }
  // The remaining data is consistent, and the loss is settled: later starts need no flag and have no loss to
  // accept.
  const std::vector<std::string> audit = {"audit", "--data", world_.data()};
  testing::Finished audited = testing::RunProgram(dir_.path(), audit);
  EXPECT_EQ(audited.code, 0) << audited.out << audited.err;
  {
    Background program(dir_.path(), accept);
    ASSERT_TRUE(program.WaitFor("running")) << program.err();
    EXPECT_THAT(program.err(), HasSubstr("no data loss to accept"));
    program.Signal(SIGTERM);
    ASSERT_EQ(program.Wait(), 0) << program.err();
  }
  world_.FinishAndExpectLikeTheOracle();
  audited = testing::RunProgram(dir_.path(), audit);
  EXPECT_EQ(audited.code, 0) << audited.out << audited.err;
}

}  // namespace
}  // namespace cobblestone
