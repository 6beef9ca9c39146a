// A publisher on a real broker, over a network that fails: late answers, cut connections, lost answers to
// requests that took effect. Every committed record is there exactly once and in order. The proxy itself
// works as specified.

#include "tests/support/kafka_proxy.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/client/publisher.h"
#include "common/stream/kafka/librdkafka/topic_admin.h"
#include "common/stream/kafka/read_all.h"
#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {
namespace {

using client::Publisher;
using client::SourceState;
using stream::kafka::Millis;

constexpr stream::TopicIndex kEvents = 0;
constexpr stream::TopicIndex kProducers = 1;
constexpr std::uint32_t kPartitions = 2;

class KafkaProxyTest : public ::testing::Test {
 protected:
  // One broker and one proxy for all tests; each test has its own topics.
  static void SetUpTestSuite() {
    proxy = std::make_unique<KafkaProxy>(1);
    broker = TestBroker::DedicatedBehind(proxy->address());
    proxy->SetBroker(broker->behind_proxy());
  }
  static void TearDownTestSuite() {
    std::printf("%s", Describe(proxy->counts()).c_str());
    broker.reset();
    proxy.reset();
  }

  void SetUp() override {
    const std::vector<stream::kafka::TopicPlan> plan = {{.spec = Options("").topics[kEvents]},
                                                        {.spec = Options("").topics[kProducers]}};
    auto admin = stream::kafka::MakeTopicAdmin(Options(broker->bootstrap()));
    ASSERT_TRUE(admin.ok());
    const auto made = (*admin)->Create(plan, 1);
    ASSERT_TRUE(made.ok()) << made.status().message();
    cluster = Connect(proxy->address());
    auto opened =
        Publisher::Open(*cluster, {.source = "s", .partitions = kPartitions, .producers_topic = kProducers});
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    publisher = std::move(*opened);
  }
  void TearDown() override {
    proxy->StopFaults();
    publisher.reset();
  }

  static stream::kafka::ClusterOptions Options(const std::string& bootstrap) {
    return {
        .connection = {{"bootstrap.servers", bootstrap},
                       {"reconnect.backoff.ms", "20"},
                       {"reconnect.backoff.max.ms", "200"}},
        .prefix = ::testing::UnitTest::GetInstance()->current_test_info()->name(),
        .topics = {{.name = "events", .partitions = kPartitions, .retention = stream::Retention::kForever},
                   {.name = "producers", .partitions = 1, .retention = stream::Retention::kForever}},
        .group = "nobody",
        .transaction_timeout = Millis(4000)};
  }
  static std::unique_ptr<stream::kafka::Cluster> Connect(const std::string& bootstrap) {
    auto made = stream::kafka::MakeCluster(Options(bootstrap));
    if (!made.ok()) throw std::runtime_error(made.status().message());
    return std::move(*made);
  }

  // In one transaction: one record for each partition, and the source's position.
  void Publish(int n) {
    for (std::uint32_t p = 0; p < kPartitions; ++p)
      publisher->AddTo({kEvents, p}, "record " + std::to_string(n));
    const Status s = publisher->Commit({.events = static_cast<std::uint64_t>(n)});
    ASSERT_TRUE(s.ok()) << "commit " << n << ": " << s.message();
  }

  // Reads without the proxy. The broker reports a transaction as committed shortly before readers see it.
  static void ExpectOnceEach(int records) {
    std::vector<std::string> expected;
    for (int n = 1; n <= records; ++n) expected.push_back("record " + std::to_string(n));
    const auto direct = Connect(broker->bootstrap());
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (std::uint32_t p = 0; p < kPartitions; ++p) {
      std::vector<std::string> read;
      do {
        read.clear();
        auto reader = direct->NewReader(stream::kafka::kLongFetch);
        ASSERT_TRUE(reader.ok());
        const Status s =
            stream::kafka::ReadAll(**reader, {kEvents, p}, 0, Millis(20000), [&](const auto& message) {
              read.emplace_back(message.value());
              return Status::Ok();
            });
        ASSERT_TRUE(s.ok()) << s.message();
      } while (read.size() < expected.size() && std::chrono::steady_clock::now() < deadline);
      EXPECT_EQ(read, expected) << "partition " << p;
    }
  }

  static inline std::unique_ptr<KafkaProxy> proxy;
  static inline std::unique_ptr<TestBroker> broker;
  std::unique_ptr<stream::kafka::Cluster> cluster;
  std::unique_ptr<Publisher> publisher;
};

TEST_F(KafkaProxyTest, ClientsStayOnTheProxy) {
  const int before = proxy->connections();
  Publish(1);
  EXPECT_GE(before, 2);  // one to find the cluster, one to the broker under its advertised name
  EXPECT_TRUE(proxy->counts().empty());
  ExpectOnceEach(1);
}

TEST_F(KafkaProxyTest, AnAnswerIsDelayed) {
  Publish(1);
  const int before = proxy->Count(FaultKind::kDelay);
  proxy->Inject({.kind = FaultKind::kDelay, .api = KafkaApi::kEndTxn, .times = 2, .delay = Millis(300)});
  proxy->Inject({.kind = FaultKind::kDelay, .api = KafkaApi::kProduce, .times = 2, .delay = Millis(300)});
  const auto start = std::chrono::steady_clock::now();
  Publish(2);
  EXPECT_GE(std::chrono::steady_clock::now() - start, Millis(600));
  Publish(3);
  EXPECT_EQ(proxy->Count(FaultKind::kDelay) - before, 4);
  ExpectOnceEach(3);
}

TEST_F(KafkaProxyTest, ACommitWhoseAnswerIsLostIsPublishedOnce) {
  const int before = proxy->Count(FaultKind::kLoseAndCut, KafkaApi::kEndTxn);
  for (int n = 1; n <= 5; ++n) {
    proxy->Inject({.kind = FaultKind::kLoseAndCut, .api = KafkaApi::kEndTxn, .times = 1});
    Publish(n);
    EXPECT_EQ(proxy->Count(FaultKind::kLoseAndCut, KafkaApi::kEndTxn) - before, n);
  }
  ExpectOnceEach(5);
}

TEST_F(KafkaProxyTest, ACommitWhoseConnectionHangsIsPublishedOnce) {
  Publish(1);
  proxy->Inject({.kind = FaultKind::kLoseAndHang, .api = KafkaApi::kEndTxn, .times = 1});
  Publish(2);
  EXPECT_EQ(proxy->Count(FaultKind::kLoseAndHang, KafkaApi::kEndTxn), 1);
  Publish(3);
  ExpectOnceEach(3);
}

TEST_F(KafkaProxyTest, ConnectionsAreCutAtRandom) {
  const KafkaProxy::Counts before = proxy->counts();
  for (const FaultKind kind : {FaultKind::kCutBefore, FaultKind::kCutAfter, FaultKind::kLoseAndCut})
    proxy->Inject({.kind = kind, .probability = 0.02});
  constexpr int kCommits = 100;
  for (int n = 1; n <= kCommits; ++n) ASSERT_NO_FATAL_FAILURE(Publish(n));
  proxy->StopFaults();
  int cuts = 0;
  for (const auto& [what, count] : proxy->counts())
    cuts += count - (before.contains(what) ? before.at(what) : 0);
  EXPECT_GE(cuts, 10);
  ExpectOnceEach(kCommits);
}

}  // namespace
}  // namespace cobblestone::testing
