// A project on one Kafka cluster sends its accounts to a hub on another one, over a link that cuts, repeats, delays and
// reorders requests. Sender, worker and gateway are killed meanwhile, the sender's token is revoked and replaced, and the clocks
// of the hub are three days behind.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/e2e/gateway_process.h"
#include "tests/e2e/hub_comparison.h"
#include "tests/robustness/kafka_world.h"
#include "tests/support/bad_link.h"

namespace cobblestone::testing {
namespace {

constexpr std::chrono::seconds kHubClockOff = -std::chrono::hours(72);
constexpr std::string_view kNewToken = "a-new-token-0123456789";

std::unique_ptr<Served> Gateway(const KafkaWorld& world, const TempDir& dir,
                                std::chrono::seconds clock_off = {}) {
  std::vector<std::pair<std::string, std::string>> environment;
  if (clock_off.count() != 0)
    environment = {{"LD_PRELOAD", COBBLESTONE_OTHER_CLOCK},
                   {"COBBLESTONE_OTHER_CLOCK", std::to_string(clock_off.count())}};
  auto served = std::make_unique<Served>(std::make_unique<Background>(
      dir.path(),
      std::vector<std::string>{"gateway", "--config", world.ConfigOf("gateway"), "--listen", "127.0.0.1:0"},
      "", environment));
  EXPECT_TRUE(served->Start()) << served->process().err();
  return served;
}

void Kill(Background& process) {
  process.Signal(SIGKILL);
  (void)process.Wait();
}

void WriteSecret(const std::string& path, const std::string& text) {
  std::remove(path.c_str());
  std::ofstream(path) << text << "\n";
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
}

TEST(KafkaHubPush, AccountsOfOneClusterReachTheHubOfAnotherExactly) {
  const TempDir dir;
  WriteTokens(dir / "tokens");
  const std::string readers = "read " + std::string(kReadToken);
  WriteSecret(dir / "hub-tokens", readers + "\ningest 4 feeds " + std::string(kIngestToken));
  WriteSecret(dir / "token", std::string(kIngestToken));
  const auto gateway = [&dir](const std::string& tokens) {
    return "gateway: {rate_limit: 100000, rate_burst: 100000, follow: commits, tokens_file: \"" +
           (dir / tokens) + "\"}\n";
  };
  BadLink link;
  const auto hub_broker = TestBroker::Dedicated(1);
  const auto project_broker = TestBroker::Dedicated(1);
  const KafkaWorld hub(*hub_broker, std::vector<Event>(),
                       {.partitions = 3, .kafka = "", .more = gateway("hub-tokens") + "role: hub\n"});
  const KafkaWorld project(*project_broker, std::vector<Event>(),
                           {.partitions = 3,
                            .kafka = "",
                            .more = gateway("tokens") + "hub: {url: \"" + link.url() +
                                    "\", push_token_file: \"" + (dir / "token") +
                                    "\", push_interval: 1 s, factors: false}\n"
                                    "projects: [{id: 1, name: Fold, hub_project: 4}]\n"});
  auto hub_worker = hub.Worker("a", "", kHubClockOff);
  auto hub_gateway = Gateway(hub, dir, kHubClockOff);
  link.SetServer(hub_gateway->url());
  auto project_worker = project.Worker("a");
  auto sender = Gateway(project, dir);

  link.Harm(3);
  std::istringstream lines(EventLines(dir, 600));
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(line + "\n");
  constexpr std::size_t kBatches = 4;
  for (std::size_t batch = 0, sent = 0; batch < kBatches; ++batch) {
    std::string body;
    const std::size_t first = sent;
    for (; sent < (batch + 1) * all.size() / kBatches; ++sent) body += all[sent];
    // The project's own sender sends a batch without an answer again, too.
    Reply reply;
    for (int attempt = 0; attempt < 10 && reply.status != 200; ++attempt)
      reply =
          sender->Post("/api/v1/events?source=jobs&first_line=" + std::to_string(first), body, kIngestToken);
    ASSERT_EQ(reply.status, 200) << reply.body;
    if (batch == 0) {
      Kill(sender->process());
      sender = Gateway(project, dir);
    } else if (batch == 1) {
      Kill(hub_gateway->process());
      hub_gateway = Gateway(hub, dir, kHubClockOff);
      link.SetServer(hub_gateway->url());
    } else if (batch == 2) {
      Kill(*hub_worker);
      hub_worker = hub.Worker("a", "", kHubClockOff);
      WriteSecret(dir / "hub-tokens", readers);
      const auto unknown = [](const Reply& one) { return one.status == 401; };
      EXPECT_EQ(hub_gateway->GetUntil("/api/v1/health", unknown, kIngestToken).status, 401);
    }
  }
  ASSERT_TRUE(sender->process().WaitFor("401"));
  WriteSecret(dir / "hub-tokens", readers + "\ningest 4 feeds " + std::string(kNewToken));
  WriteSecret(dir / "token", std::string(kNewToken));
  link.Heal();
  ExpectSameAtHub(*ReferenceOf(dir), *hub_gateway);
  EXPECT_GT(link.Count(LinkFault::kNone), 0);
  if (HasFailure())
    ADD_FAILURE() << "sender:\n" << sender->process().err() << "hub:\n" << hub_gateway->process().err();
}

}  // namespace
}  // namespace cobblestone::testing
