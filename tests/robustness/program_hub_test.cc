// The tools of a pipeline on a federation hub: each works, or says clearly that it does not apply.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "services/embedded/engine.h"
#include "tests/e2e/program_process.h"
#include "tests/robustness/hub_outcome.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::testing {
namespace {

using ::testing::HasSubstr;

void ExpectHub(const std::string& directory, const std::vector<Event>& events) {
  settings::RunSettings settings = BusyHubSettings(directory);
  auto engine = embedded::Engine::Open(settings, [](const std::string&) {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  ExpectLikeTheHubOracle(**engine, events);
}

TEST(ProgramHub, IsBackedUpAndRestoredAndAuditsNothing) {
  TempDir dir;
  const std::vector<Event> events = HubTraffic(11, 15);
  WriteTraffic(events, dir / "events.pb");
  std::ofstream(dir / "hub.yaml") << "role: hub\npartitions: 4\ndata_directory: data\n";
  const auto run = [&](const std::vector<std::string>& words) { return RunProgram(dir.path(), words); };
  const Finished sent = run({"ingest", "events.pb", "--config", "hub.yaml"});
  // Forged proofs were refused.
  ASSERT_EQ(sent.code, HubOracle(events).refused > 0 ? 1 : 0) << sent.out << sent.err;
  ExpectHub(dir / "data", events);

  const Finished saved = run({"backup", "--data", "data", "--to", "backups"});
  ASSERT_EQ(saved.code, 0) << saved.out << saved.err;
  EXPECT_EQ(run({"restore", "--from", "backups", "--check"}).code, 0);
  const Finished restored = run({"restore", "--from", "backups", "--data", "restored"});
  ASSERT_EQ(restored.code, 0) << restored.out << restored.err;
  EXPECT_EQ(run({"tasks", "--data", "restored"}).code, 0);
  ExpectHub(dir / "restored", events);

  const Finished audit = run({"audit", "--data", "restored"});
  EXPECT_EQ(audit.code, 2) << audit.out;
  EXPECT_THAT(audit.err, HasSubstr("federation hub"));
}

}  // namespace
}  // namespace cobblestone::testing
