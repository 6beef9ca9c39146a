// `cobblestone hub snapshot` beside a hub on a real broker: it writes what a hub on the embedded log writes, and
// another operator continues from it, on either log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/snapshot_hub.h"
#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr seconds kPatience{120};

// Two workers of hub `name`, which run until the end of the test, and the hub as its operator sees it.
class ClusteredHub {
 public:
  ClusteredHub(const TestBroker& broker, const std::string& name, const std::string& more = "")
      : world_(broker, std::vector<Event>{},
               {.more = Hub::SnapshotSettings(name, name + "-snapshots", more)}),
        hub_(Hub::Configured(world_.path(""), name, world_.ConfigOf("admin"))) {
    for (const char* worker : {"w0", "w1"}) workers_.push_back(world_.Worker(worker));
  }

  Hub& hub() { return hub_; }
  [[nodiscard]] std::string Of(const std::string& date) const { return world_.path(hub_.Of(date)); }
  void Ingest(const Lines& lines, const std::string& source) {
    hub_.Ingest(lines, source);
    ASSERT_TRUE(world_.AwaitRest(kPatience)) << world_.Tasks().dump(1);
  }
  // The snapshot of `date`, once the checkpoints of the workers show the tick of that date.
  void Snapshot(const std::string& date) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    Finished done;
    do {
      done = hub_.Snapshot();
      if (done.code != 0) {
        ASSERT_THAT(done.err, HasSubstr("the hub has no time yet"));
      }
    } while (hub_.Manifest(date).is_discarded() && std::chrono::steady_clock::now() < until);
    ASSERT_TRUE(hub_.Manifest(date).is_object()) << done.out << done.err;
  }
  void Stop() {
    for (const auto& worker : workers_) {
      worker->Signal(SIGTERM);
      EXPECT_EQ(worker->Wait(), 0) << worker->err();
    }
  }

 private:
  KafkaWorld world_;
  Hub hub_;
  std::vector<std::unique_ptr<Background>> workers_;
};

class KafkaHubSnapshot : public ::testing::Test {
 protected:
  Finished Program(const std::vector<std::string>& arguments) { return RunProgram(dir_.path(), arguments); }

  TempDir dir_;
  std::unique_ptr<TestBroker> broker_ = TestBroker::Shared();
};

// The tick comes after all else is known, because the first snapshot of a day stays.
TEST_F(KafkaHubSnapshot, IsThatOfTheEmbeddedLogAndAnotherOperatorContinuesOnEither) {
  Lines feeds;
  for (const Feed& feed : Feeds(1, 2, 3)) feeds.Project(feed);
  Lines monday;
  monday.Tick(kMonday + 60);
  Lines tuesday;
  tuesday.Tick(kMonday + kDay);

  ClusteredHub kafka(*broker_, "kafka");
  kafka.Ingest(feeds, "feeds");
  EXPECT_THAT(kafka.hub().Snapshot().err, HasSubstr("the hub has no time yet"));
  kafka.Ingest(monday, "monday");
  kafka.Snapshot(kFirst);
  const Finished verified = Program({"hub", "verify-snapshot", kafka.Of(kFirst)});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;

  Hub embedded(dir_.path(), "embedded", 1);
  embedded.Ingest(feeds, "feeds");
  embedded.Ingest(monday, "monday");
  ASSERT_EQ(embedded.Snapshot().code, 0);
  const auto parts = embedded.Parts(kFirst);
  EXPECT_EQ(parts.size(), 6u);
  EXPECT_EQ(kafka.hub().Parts(kFirst), parts);
  EXPECT_EQ(kafka.hub().Manifest(kFirst)["content"], embedded.Manifest(kFirst)["content"]);
  for (const char* file : {"user.gz", "team.gz", "host.gz", "tables.xml"})
    EXPECT_EQ(ReadFile(kafka.hub().Stats(file)), ReadFile(embedded.Stats(file))) << file;
  const Finished compared = Program({"hub", "compare-snapshots", kafka.Of(kFirst), embedded.Of(kFirst)});
  EXPECT_EQ(compared.code, 0) << compared.out;

  // The next day of the same hub.
  kafka.Ingest(tuesday, "tuesday");
  kafka.Snapshot(kSecond);
  const Finished next =
      Program({"hub", "verify-snapshot", kafka.Of(kSecond), "--previous", kafka.Of(kFirst)});
  EXPECT_EQ(next.code, 0) << next.out << next.err;
  EXPECT_EQ(kafka.hub().Parts(kSecond), parts) << "no member has changed";
  const json first = kafka.hub().Manifest(kFirst);
  kafka.Stop();

  const std::string closed = "  continues: \"The hub has closed.\"\n";
  const auto expect_continues = [&](Hub& hub, const std::string& snapshot) {
    const json manifest = hub.Manifest(kSecond);
    EXPECT_EQ(manifest["sequence"], 2);
    EXPECT_EQ(manifest["continues"], (json{{"key", first["key"]}, {"statement", "The hub has closed."}}));
    const Finished chain = Program({"hub", "verify-snapshot", snapshot, "--previous", kafka.Of(kFirst)});
    EXPECT_EQ(chain.code, 0) << chain.out << chain.err;
    EXPECT_EQ(hub.Parts(kSecond), parts) << "every total and every person is there";
  };

  // Another operator, on one machine.
  Hub small(dir_.path(), "small", 2, closed);
  const Finished adopted = small.Adopt(kafka.Of(kFirst));
  EXPECT_EQ(adopted.code, 0) << adopted.out << adopted.err;
  EXPECT_THAT(adopted.out, HasSubstr("adopted snapshot 1 of 2026-09-21: 7 accounts, 0 decisions"));
  small.Ingest(tuesday, "tuesday");
  ASSERT_EQ(small.Snapshot().code, 0);
  expect_continues(small, dir_ / small.Of(kSecond));

  // Another operator, with a cluster.
  ClusteredHub large(*broker_, "large", closed);
  const Finished taken = large.hub().Adopt(kafka.Of(kFirst));
  EXPECT_EQ(taken.code, 0) << taken.out << taken.err;
  EXPECT_THAT(taken.out, HasSubstr("adopted snapshot 1 of 2026-09-21: 7 accounts, 0 decisions"));
  EXPECT_EQ(large.hub().Adopt(kafka.Of(kFirst)).code, 0) << "after an interruption";
  large.Ingest(tuesday, "tuesday");
  large.Snapshot(kSecond);
  expect_continues(large.hub(), large.Of(kSecond));

  Lines more;
  more.Project(Feeds(2, 1, 3)[0], "1790086400000");
  large.Ingest(more, "more");
  const Finished late = large.hub().Adopt(kafka.Of(kFirst));
  EXPECT_EQ(late.code, 2);
  EXPECT_THAT(late.err, HasSubstr("only be adopted by an empty hub"));
  large.Stop();
}

}  // namespace
}  // namespace cobblestone::testing
