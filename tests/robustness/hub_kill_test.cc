// A federation hub is killed (SIGKILL) at each failpoint, in the middle of editions, decisions, proofs and deletions, and
// opened again. Afterwards all accounts with their days equal a computation by plain maps, the rows of identities are those
// of the same facts in another order, bit for bit, and every re-executed commit has the same fingerprint (else an open fails
// with "diverged").
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "common/base/failpoint.h"
#include "services/embedded/engine.h"
#include "tests/robustness/hub_outcome.h"
#include "tests/support/in_child.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::testing {

using embedded::Engine;

namespace {

constexpr int kDays = 40;

// Dies at the failpoint, or reaches the end.
int RunHub(const std::string& directory, const std::vector<Event>& events, const std::string& failpoint) {
  return RunInChild([&] {
    if (!failpoint.empty()) ArmFailpoint(failpoint);
    auto engine = Engine::Open(BusyHubSettings(directory), [](const std::string&) {});
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    (*engine)->Start();
    const Status sent = Ingest(**engine, events);
    ASSERT_TRUE(sent.ok()) << sent.message();
    const Status stopped = (*engine)->Stop();
    ASSERT_TRUE(stopped.ok()) << stopped.message();
  });
}

TEST(HubKill, NothingIsLostDoubledOrErasedTwiceWhereverTheHubDies) {
  TempDir temp;
  const std::string directory = temp / "data";
  const std::vector<Event> events = HubTraffic(7, kDays);
  const HubOutcome expected = HubOracle(events);
  for (const char* what : {"erased", "missing", "deleted", "returned", "reused", "fell", "forged", "proven"})
    EXPECT_GE(expected.counts.count(what) ? expected.counts.at(what) : 0, 5) << what;
  std::mt19937 random(20261127);
  std::map<std::string, int> kills;
  const std::vector<std::string> points = {"E0", "E1", "E2", "E3", "E4", "E4b", "E5"};
  bool done = false;
  for (int round = 0; round < 42 && !done; ++round) {
    const std::string& point = points[static_cast<std::size_t>(round) % points.size()];
    const int status = RunHub(directory, events, point + ":" + std::to_string(1 + random() % 12));
    if (WIFSIGNALED(status)) {
      ASSERT_EQ(WTERMSIG(status), SIGKILL);
      ++kills[point];
    } else {
      ASSERT_EQ(status, 0);
      done = true;
    }
  }
  ASSERT_EQ(RunHub(directory, events, ""), 0);
  for (const std::string& point : points) EXPECT_GE(kills[point], 3) << "too few kills at " << point;

  auto engine = Engine::Open(BusyHubSettings(directory), [](const std::string&) {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  ExpectLikeTheHubOracle(**engine, events);
}

// Partitions, threads and the size of commits make no difference.
TEST(HubKill, TheOutcomeIsThatOfThePlainMapsForEveryTraffic) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    TempDir temp;
    const std::vector<Event> events = HubTraffic(seed, 25);
    settings::RunSettings settings = BusyHubSettings(temp / "data");
    settings.partitions = 1 + static_cast<std::uint32_t>(seed % 3);
    auto engine = Engine::Open(settings, [](const std::string&) {});
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    (*engine)->Start();
    const Status sent = Ingest(**engine, events);
    ASSERT_TRUE(sent.ok()) << sent.message();
    ExpectLikeTheHubOracle(**engine, events);
    if (HasFailure()) FAIL() << "seed " << seed;
    ASSERT_TRUE((*engine)->Stop().ok());
  }
}

}  // namespace
}  // namespace cobblestone::testing
