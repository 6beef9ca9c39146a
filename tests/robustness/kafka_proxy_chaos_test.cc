// Two workers on a real broker, over a network that fails in every way the proxy supports, while events are
// ingested. When the network is whole again, lag reaches zero in bounded time. Every grant and every total
// equals the oracle's, and every re-executed commit has the fingerprint in its journal.
//
// COBBLESTONE_CHAOS_ROUNDS: how often each of the most important answers is lost (the short form: four
// times).

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/robustness/kafka_faults.h"
#include "tests/robustness/kafka_world.h"
#include "tests/support/kafka_proxy.h"

namespace cobblestone::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kPatience{180};

struct Aimed {
  FaultKind kind;
  KafkaApi api;
};

// Background faults, each with a small probability per request.
void Disturb(KafkaProxy& proxy) {
  for (const KafkaApi api :
       {KafkaApi::kProduce, KafkaApi::kAddPartitionsToTxn, KafkaApi::kAddOffsetsToTxn,
        KafkaApi::kTxnOffsetCommit, KafkaApi::kEndTxn, KafkaApi::kOffsetFetch, KafkaApi::kInitProducerId,
        KafkaApi::kHeartbeat, KafkaApi::kJoinGroup, KafkaApi::kSyncGroup}) {
    proxy.Inject({.kind = FaultKind::kCutBefore, .api = api, .probability = 0.004});
    proxy.Inject({.kind = FaultKind::kCutAfter, .api = api, .probability = 0.004});
    proxy.Inject({.kind = FaultKind::kLoseAndCut, .api = api, .probability = 0.004});
    proxy.Inject({.kind = FaultKind::kDelay, .api = api, .probability = 0.02, .delay = milliseconds(150)});
  }
  proxy.Inject({.kind = FaultKind::kCutBefore, .probability = 0.0005});
}

// Counts faults by their effect on the client. Requests of the kinds in `open` are sent only within an open
// transaction.
void Note(const KafkaProxy::Counts& counts, FaultCounts* faults) {
  for (const auto& [what, count] : counts) {
    const auto [kind, api] = what;
    const bool ends = api == KafkaApi::kEndTxn || api == KafkaApi::kTxnOffsetCommit;
    const bool open = ends || api == KafkaApi::kProduce || api == KafkaApi::kAddPartitionsToTxn ||
                      api == KafkaApi::kAddOffsetsToTxn;
    std::string name = "network: ";
    switch (kind) {
      case FaultKind::kDelay: name += "answer late"; break;
      case FaultKind::kCutBefore: name += "cut before the request"; break;
      case FaultKind::kCutAfter: name += "cut behind the request"; break;
      case FaultKind::kLoseAndCut:
      case FaultKind::kLoseAndHang:
        name += "took effect, answer lost: " + (ends ? ApiName(api) : std::string("others"));
        break;
    }
    faults->Note(name, open, count);
  }
}

TEST(KafkaProxyChaos, NothingIsLostOrDoubledWhateverTheNetworkDoes) {
  const int rounds = FromEnvironment("COBBLESTONE_CHAOS_ROUNDS", 4);
  const int seed = FromEnvironment("COBBLESTONE_CHAOS_SEED", 1);
  std::printf("seed %d, %d rounds\n", seed, rounds);
  KafkaProxy proxy(static_cast<std::uint64_t>(seed));
  const auto broker = TestBroker::DedicatedBehind(proxy.address());
  proxy.SetBroker(broker->behind_proxy());
  KafkaWorld world(*broker, static_cast<std::uint64_t>(seed) + 30, {.bootstrap = proxy.address()});
  const std::vector<std::string> names = {"w0", "w1"};
  std::vector<std::unique_ptr<Background>> workers;
  for (const std::string& name : names) workers.push_back(world.Worker(name));
  ASSERT_TRUE(world.AwaitRest(kPatience)) << world.Tasks().dump(1);
  KafkaWorld::Feed feed(world);

  // Each of these faults hits a worker itself, one after the other in a random order, while the background
  // faults continue.
  const std::vector<Aimed> kinds = {{FaultKind::kLoseAndCut, KafkaApi::kEndTxn},
                                    {FaultKind::kLoseAndCut, KafkaApi::kTxnOffsetCommit},
                                    {FaultKind::kLoseAndHang, KafkaApi::kEndTxn},
                                    {FaultKind::kLoseAndHang, KafkaApi::kTxnOffsetCommit},
                                    {FaultKind::kLoseAndCut, KafkaApi::kAddOffsetsToTxn},
                                    {FaultKind::kLoseAndCut, KafkaApi::kAddPartitionsToTxn},
                                    {FaultKind::kLoseAndCut, KafkaApi::kProduce},
                                    {FaultKind::kLoseAndCut, KafkaApi::kHeartbeat}};
  std::mt19937 random(static_cast<unsigned>(seed));
  for (int round = 0; round < rounds; ++round) {
    std::vector<Aimed> order = kinds;
    std::shuffle(order.begin(), order.end(), random);
    for (const auto& [kind, api] : order) {
      proxy.StopFaults();
      const int before = proxy.Count(kind, api);
      proxy.Inject({.kind = kind, .api = api, .client = "." + names[random() % 2], .times = 1});
      Disturb(proxy);
      const auto deadline = std::chrono::steady_clock::now() + kPatience;
      while (!proxy.Await(kind, api, before + 1, milliseconds(100)))
        ASSERT_LT(std::chrono::steady_clock::now(), deadline)
            << FaultName(kind) << " " << ApiName(api) << " matched no request\n"
            << world.Tasks().dump(1);
      for (std::size_t i = 0; i < workers.size(); ++i) ASSERT_TRUE(workers[i]->Runs()) << workers[i]->err();
    }
  }
  proxy.StopFaults();
  FaultCounts faults;
  Note(proxy.counts(), &faults);
  const auto whole = std::chrono::steady_clock::now();
  EXPECT_EQ(feed.Finish(), "");
  const bool rests = world.AwaitRest(kPatience);
  std::printf("%s%.1f s after the last fault nothing waited any more\n", Describe(proxy.counts()).c_str(),
              std::chrono::duration<double>(std::chrono::steady_clock::now() - whole).count());
  EXPECT_TRUE(rests) << world.Tasks().dump(1);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    workers[i]->Signal(SIGTERM);
    EXPECT_EQ(workers[i]->Wait(), 0) << workers[i]->err();
    if (HasFailure()) std::printf("---- %s\n%s", names[i].c_str(), workers[i]->err().c_str());
  }
  for (const KafkaApi api : {KafkaApi::kEndTxn, KafkaApi::kTxnOffsetCommit})
    EXPECT_GE(proxy.Count(FaultKind::kLoseAndCut, api) + proxy.Count(FaultKind::kLoseAndHang, api),
              2 * rounds)
        << ApiName(api);
  world.ExpectLikeTheOracle();
}

}  // namespace
}  // namespace cobblestone::testing
