// Bit-identical results. In lockstep one file of events gives one hash over all awards and totals, recent
// averages included: on one machine with one and with four threads, and on a real broker with one, two and
// three workers that are killed meanwhile. In `order: arrival` the result depends on timing; then the journal
// records it, and all topics can be reproduced from the journal.
//
// COBBLESTONE_CHAOS_SEED: the seed of the events (1); COBBLESTONE_CHAOS_ROUNDS: number of consecutive seeds (1).

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/settings/run_settings.h"
#include "common/wire/control/topics.h"
#include "services/access/ingest.h"
#include "services/embedded/engine.h"
#include "services/kafka/kafka_deployment.h"
#include "tests/robustness/corrected_traffic.h"
#include "tests/robustness/kafka_faults.h"
#include "tests/robustness/kafka_requests.h"
#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {

using access::ClientOf;
using access::Ingest;
using access::IngestSummary;
using embedded::Engine;
using kafka::DeploymentOf;
using traffic::GenerateOptions;

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kKilled = 128 + SIGKILL;
constexpr std::uint32_t kPartitions = 4;
constexpr seconds kPatience{180};

std::string OnOneMachine(const std::vector<Event>& events, std::uint32_t threads) {
  const TempDir dir;
  WriteTraffic(events, dir / "traffic.pb");
  settings::RunSettings settings = BusySettings(dir / "data");
  settings.partitions = kPartitions;
  settings.threads = threads;
  settings.order = settings::Order::kLockstep;
  settings.sync = false;
  auto engine = Engine::Open(settings, [](const std::string&) {});
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  (*engine)->Start();
  const auto client = ClientOf(**engine);
  IngestSummary summary;
  const Status ingested = Ingest(*client, {.file = dir / "traffic.pb", .source = "traffic"}, {}, &summary);
  EXPECT_TRUE(ingested.ok()) << ingested.message();
  std::string hash = OutcomeHash(**engine, "embedded, " + std::to_string(threads) + " threads");
  EXPECT_TRUE((*engine)->Stop().ok());
  return hash;
}

struct Member {
  std::string name;
  std::vector<std::string> deaths;  // failpoints, one per life, the last one first
  std::string death{};              // failpoint of this life
  std::unique_ptr<Background> process{};
};

// Workers that are killed at the given failpoints and restart.
class Crew {
 public:
  Crew(const KafkaWorld& world, std::vector<Member> members) : world_(world), members_(std::move(members)) {
    for (Member& member : members_) {
      due_ += member.deaths.size();
      Start(member);
    }
  }

  // Returns when the file is ingested and processed and every worker has died as planned; then stops all
  // workers.
  void IngestAndStop() {
    // Each worker has slots before the first event arrives, so each dies in the middle of work.
    ASSERT_TRUE(world_.Await(
        [this](const auto& answer) { return RestartEarlyDeaths() && EachHasSlots(answer); }, kPatience))
        << world_.Tasks().dump(1);
    auto ingest = world_.IngestInBackground();
    while (ingest->Runs()) {
      Revive();
      std::this_thread::sleep_for(milliseconds(20));
    }
    EXPECT_LE(ingest->Wait(), 1) << ingest->err();  // 1: bad lines of the traffic were reported
    Revive();
    ASSERT_EQ(kills_, due_) << "too few commits for all kills";
    EXPECT_TRUE(world_.AwaitRest(kPatience)) << world_.Tasks().dump(1);
    for (Member& member : members_) {
      ASSERT_TRUE(member.process->WaitFor("running")) << member.process->err();
      member.process->Signal(SIGTERM);
      EXPECT_EQ(member.process->Wait(), 0) << member.process->err();
    }
  }

  [[nodiscard]] std::string Text() const {
    return "Kafka, " + std::to_string(members_.size()) + " workers, " + std::to_string(kills_) + " kills";
  }

 private:
  // Assigning slots before there is work makes commits, too. A worker that dies in one of them is started
  // again with the same failpoint, to die during work. True: none died.
  bool RestartEarlyDeaths() {
    bool none = true;
    for (Member& member : members_) {
      if (member.process->Runs()) continue;
      EXPECT_EQ(member.process->Wait(), kKilled) << member.process->err();
      member.process = world_.Worker(member.name, member.death);
      none = false;
    }
    return none;
  }

  void Start(Member& member) {
    member.death.clear();
    if (!member.deaths.empty()) {
      member.death = member.deaths.back();
      member.deaths.pop_back();
    }
    member.process = world_.Worker(member.name, member.death);
  }

  void Revive() {
    for (Member& member : members_) {
      if (member.process->Runs()) continue;
      ASSERT_EQ(member.process->Wait(), kKilled) << member.process->err();
      faults_.Note("killed at " + member.death.substr(0, 2), world_.InTransaction(member.name));
      ++kills_;
      Start(member);
    }
  }

  [[nodiscard]] bool EachHasSlots(const nlohmann::json& answer) const {
    std::set<std::string> owners;
    for (const auto& task : answer["tasks"])
      if (task.value("phase", "") == "running") owners.insert(task.value("worker", ""));
    return owners.size() == members_.size();
  }

  const KafkaWorld& world_;
  std::vector<Member> members_;
  FaultCounts faults_;
  std::size_t due_ = 0;
  std::size_t kills_ = 0;
};

std::string OnKafka(const TestBroker& broker, const std::vector<Event>& events, std::vector<Member> members) {
  const KafkaWorld world(broker, events, {.partitions = kPartitions, .more = "order: lockstep\n"});
  Crew crew(world, std::move(members));
  crew.IngestAndStop();
  std::string hash;
  world.WithMigrated([&](Engine& engine) { hash = OutcomeHash(engine, crew.Text()); });
  return hash;
}

// Kills at every step of a commit. Restless traffic has some dozens of periods, each with commits of every
// slot.
std::vector<std::vector<Member>> Crews() {
  std::vector<std::vector<Member>> crews(3);
  crews[0].push_back({.name = "a", .deaths = {"K5:25", "K4:20", "K1:30"}});
  crews[1].push_back({.name = "a", .deaths = {"K3:20"}});
  crews[1].push_back({.name = "b", .deaths = {"K6:20", "K2:15"}});
  crews[2].push_back({.name = "a", .deaths = {"K5:15"}});
  crews[2].push_back({.name = "b", .deaths = {"K0:20"}});
  crews[2].push_back({.name = "c", .deaths = {}});
  return crews;
}

TEST(KafkaSameBits, ThreadsWorkersAndDeathsChangeNoBit) {
  const auto broker = TestBroker::Shared();
  const int first = FromEnvironment("COBBLESTONE_CHAOS_SEED", 1);
  for (int seed = first; seed < first + FromEnvironment("COBBLESTONE_CHAOS_ROUNDS", 1); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::printf("seed %d\n", seed);
    GenerateOptions options = RestlessOptions(static_cast<std::uint64_t>(seed), 1200);
    options.owner_changes = 0.3;  // each event of a member ends a period, which takes several transactions
    const std::vector<Event> events = WithCorrections(RestlessTraffic(options));
    const std::string hash = OnOneMachine(events, 1);
    ASSERT_NE(hash, "");
    EXPECT_EQ(OnOneMachine(events, 4), hash);
    for (std::vector<Member>& members : Crews())
      EXPECT_EQ(OnKafka(*broker, events, std::move(members)), hash);
  }
}

TEST(KafkaSameBits, TheOrderIsFixedWhenTheTopicsAreCreated) {
  const auto broker = TestBroker::Shared();
  const KafkaWorld world(*broker, std::vector<Event>(), {.more = "order: lockstep\n"});
  const std::string config = world.path("arrival.yaml");
  std::ifstream in(world.ConfigOf("admin"));
  std::ofstream out(config);
  for (std::string line; std::getline(in, line);)
    if (line != "order: lockstep") out << line << "\n";
  out.close();
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run"}, {"tasks"}, {"verify"}, {"topics", "create"}}) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--config", config});
    const Finished refused = RunProgram(world.path(""), all);
    EXPECT_EQ(refused.code, 2) << words.front() << ": " << refused.out << refused.err;
    EXPECT_NE(refused.err.find("were created with `order: lockstep`"), std::string::npos)
        << words.front() << ": " << refused.err;
  }
}

// Writes a record into the ledger that no commit has produced.
void Forge(const std::string& config) {
  const auto settings = settings::LoadRunSettings(config);
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  const auto deployment = DeploymentOf(*settings, {});
  ASSERT_TRUE(deployment.ok()) << deployment.status().message();
  const auto cluster = stream::kafka::MakeCluster(deployment->cluster);
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  const auto producer = (*cluster)->NewProducer("forger");
  ASSERT_TRUE(producer.ok()) << producer.status().message();
  std::string message;
  stream::AppendRecord(message, "no grant");
  std::uint64_t offset = 0;
  ASSERT_TRUE((*producer)->Init().ok());
  ASSERT_TRUE((*producer)->Begin().ok());
  ASSERT_TRUE((*producer)->Produce({wire::kGrants, 1}, {}, message, &offset).ok());
  ASSERT_TRUE((*producer)->Flush().ok());
  ASSERT_TRUE((*producer)->Commit().ok());
}

TEST(KafkaSameBits, AnArrivalOrderRunIsReproducedFromItsJournal) {
  const auto broker = TestBroker::Shared();
  const auto seed = static_cast<std::uint64_t>(FromEnvironment("COBBLESTONE_CHAOS_SEED", 1));
  const KafkaWorld world(*broker, RestlessTraffic(RestlessOptions(seed, 3000)), {.partitions = kPartitions});
  std::vector<Member> members;
  members.push_back({.name = "a", .deaths = {"K5:4"}});
  members.push_back({.name = "b", .deaths = {"K4:3"}});
  members.push_back({.name = "c", .deaths = {}});
  Crew crew(world, std::move(members));
  crew.IngestAndStop();
  // Verifies every commit from the first one on, each fingerprint, all state rows, and all topics.
  const Finished verified = world.Run({"verify", "--outputs"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
  std::printf("%s", verified.out.c_str());
  for (const char* topic : {"control", "claims", "grants", "postings", "totals", "samples", "passed"})
    EXPECT_NE(verified.out.find(std::string(topic) + ": "), std::string::npos) << topic;

  Forge(world.ConfigOf("admin"));
  const Finished forged = world.Run({"verify", "--outputs"});
  EXPECT_EQ(forged.code, 1) << "an additional record was not noticed: " << forged.out << forged.err;
  EXPECT_NE(forged.out.find("grants: partition 1 has "), std::string::npos) << forged.out;

  // The inputs of the first commits are trimmed, which is reported as a problem. Once the journal of those
  // commits is trimmed as well, as by retention, it is no problem, but still reported.
  TrimPartition(broker->bootstrap(), world.prefix() + ".catalogue", 0, 3);
  const Finished without = world.Run({"verify", std::to_string(kPartitions)});
  EXPECT_EQ(without.code, 1) << without.out << without.err;
  EXPECT_NE(without.out.find("the commits from the first one cannot be re-executed"), std::string::npos)
      << without.out;
  TrimPartition(broker->bootstrap(), world.prefix() + ".journal", kPartitions, 3);
  const Finished later = world.Run({"verify", std::to_string(kPartitions)});
  EXPECT_EQ(later.code, 0) << later.out << later.err;
  EXPECT_NE(later.out.find("so the commits before it cannot be re-executed"), std::string::npos) << later.out;
}

}  // namespace
}  // namespace cobblestone::testing
