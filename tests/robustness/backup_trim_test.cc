// Copies of a running engine for backups while its log is trimmed continuously. Every copy is a data
// directory as of one commit, and its log holds everything that its states need to continue.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "common/stream/embedded/log.h"
#include "common/wire/control/topics.h"
#include "services/backup/data_directory_check.h"
#include "services/embedded/engine.h"
#include "tests/robustness/traffic.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {

using embedded::Engine;
using intake::AppendBlock;

namespace {

namespace fs = std::filesystem;
using testing::BusySettings;

// Whether the log of a copy begins after its first record of completions.
bool IsTrimmed(const std::string& directory, std::uint32_t partitions) {
  auto log = stream::embedded::Log::Open(
      {.path = directory + "/log", .topics = wire::Manifest(partitions), .read_only = true});
  EXPECT_TRUE(log.ok()) << log.status().message();
  for (std::uint32_t p = 0; log.ok() && p < partitions; ++p)
    if ((*log)->Begin({wire::kCompletions, p}) > 0) return true;
  return false;
}

TEST(BackupTrim, EveryCopyOfATrimmedLogOpensAndContinues) {
  const testing::TempDir dir;
  const auto events = testing::Traffic(36, 20000);
  settings::RunSettings settings = BusySettings(dir / "data");
  settings.retention.inputs_bytes = 1;  // everything before the older checkpoint is trimmed at once
  auto engine = Engine::Open(settings, [](const std::string&) {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  (*engine)->Start();
  std::atomic<bool> ingested = false;
  std::atomic<bool> enough = false;
  std::thread ingest([&] {
    const Status s = testing::Ingest(**engine, events);
    EXPECT_TRUE(s.ok()) << s.message();
    ingested = true;
    // Sends the same events under another source name until a copy is trimmed. They are recognised as repeats
    // and change states.
    for (std::uint64_t at = 0, round = 0; !enough; ++round) {
      AppendBlock block{.source = "again", .first_line = at};
      for (int i = 0; i < 300; ++i) {
        const testing::Event& event = events[at++ % events.size()];
        block.lines.push_back({.envelope = event.broadcast ? std::string() : event.envelope});
      }
      const auto outcome = (*engine)->Append(block);
      EXPECT_TRUE(outcome.ok()) << outcome.status().message();
    }
  });
  std::string last;
  int copies = 0;
  for (bool trimmed = false; !(trimmed && ingested && copies >= 10) && !::testing::Test::HasFailure();
       ++copies) {
    const auto copied = (*engine)->CopyForBackup();
    EXPECT_TRUE(copied.ok()) << copied.status().message();
    if (!copied.ok()) break;
    last = dir / "copy" + std::to_string(copies);
    fs::rename(copied->at("directory").get<std::string>(), last);
    const auto figures = backup::CheckDataDirectory(last, settings.partitions);
    EXPECT_TRUE(figures.ok()) << "copy " << copies << ": " << figures.status().message();
    trimmed = IsTrimmed(last, settings.partitions);
    if (!(trimmed && ingested && copies >= 9)) fs::remove_all(last);
  }
  enough = true;
  ingest.join();
  ASSERT_TRUE((*engine)->Stop().ok());
  engine = Status::NotFound("closed");
  ASSERT_FALSE(HasFailure());

  settings.data_directory = last;
  auto restored = Engine::Open(settings, [](const std::string&) {});
  ASSERT_TRUE(restored.ok()) << restored.status().message();
  (*restored)->Start();
  (*restored)->WaitIdle();
  const auto audit = (*restored)->Audit([](std::uint64_t, std::uint64_t) {});
  ASSERT_TRUE(audit.ok()) << audit.status().message();
  EXPECT_TRUE(audit->at("problems").empty()) << audit->dump();
  testing::ExpectLikeTheOracle(**restored, events);
}

}  // namespace
}  // namespace cobblestone
