#include "tests/sim/sim_world.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <random>

#include "common/sim/sim_machine.h"
#include "common/stream/hash128.h"
#include "common/stream/kafka/worker.h"
#include "common/wire/control/topics.h"
#include "common/wire/control/watermark_codec.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/events/event_line.h"
#include "common/wire/ledger/account_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/pipeline/periods.h"
#include "services/pipeline/pipeline.h"
#include "services/pipeline/rules_version.h"
#include "services/traffic/generate.h"
#include "tests/robustness/hub_traffic.h"
#include "tests/support/job_events.h"

namespace cobblestone::testing {

using pipeline::kRulesVersion;
using pipeline::MakeSlotFactory;
using pipeline::PeekLine;
using pipeline::PeekTime;
using pipeline::PeriodEndsBefore;
using pipeline::PeriodKind;
using pipeline::PeriodKindOf;
using pipeline::PipelineOptions;
using traffic::GenerateOptions;
using traffic::Generator;

namespace {

using sim::SimCluster;
using stream::kafka::Millis;
using stream::kafka::Phase;
using stream::kafka::Worker;

constexpr stream::TopicIndex kCheckpoint = wire::kTopicCount;
constexpr int kMaxMachines = 3;
constexpr int kStepsToRest = 20000;
constexpr int kMaxTurns = 2000000;

std::vector<stream::TopicSpec> Topics() {
  auto topics = wire::Manifest(kSimPartitions);
  topics.push_back({.name = "checkpoint", .partitions = kSimPartitions + 1});
  return topics;
}

std::vector<bool> Packed() {
  std::vector<bool> packed;
  for (stream::TopicIndex t = 0; t <= kCheckpoint; ++t)
    packed.push_back(t > wire::kCatalogue && t < wire::kTopicCount && t != wire::kRefused);
  return packed;
}

std::vector<bool> LockstepTopics(bool lockstep) {
  std::vector<bool> topics;
  for (stream::TopicIndex t = 0; t <= kCheckpoint; ++t) topics.push_back(lockstep && t < wire::kCatalogue);
  return topics;
}

// In two of three schedules so few rows that what expires together expires in several commits.
std::size_t RowsPerCommit(std::uint64_t seed) {
  return seed % 3 == 0 ? stage::CommitBudget::kRows : 1 + seed % 3;
}

// A machine; its disk outlives its process.
struct Machine {
  std::string name;
  sim::SimDisk disk;
  std::unique_ptr<sim::SimBackground> background;
  std::unique_ptr<SimCluster::Client> client;
  std::unique_ptr<Worker> worker;
  int asleep = 0;  // steps
};

class World {
 public:
  World(const SimTraffic& traffic, const SimSchedule& schedule)
      : traffic_(traffic),
        schedule_(schedule),
        random_(schedule.seed),
        cluster_({.topics = Topics(), .journal = wire::kJournal}, schedule.seed * 7919 + 1),
        factory_(MakeSlotFactory(PipelineOptions{.hub = schedule.hub,
                                                 .partitions = kSimPartitions,
                                                 .future_limit = 1e12,
                                                 .lockstep = schedule.lockstep,
                                                 .rows_per_commit = RowsPerCommit(schedule.seed)})) {
    if (schedule.change_stages) schedule.change_stages(factory_);
    if (schedule.hide_suspects) cluster_.hide_suspects();
    task_ = {.topics = Topics(),
             .packed = Packed(),
             .journal = wire::kJournal,
             .checkpoint = kCheckpoint,
             .peek_time = schedule.lockstep ? PeekLine : PeekTime,
             .lockstep_topics = LockstepTopics(schedule.lockstep),
             .run_records = 8,
             .round_records = 30,
             .message_bytes = 2000,
             .flush_interval = Millis(40),
             .flush_debt_records = 60,
             .checkpoint_interval = Millis(100),
             .checkpoint_bytes = 600,
             .object_bytes = 20000,
             .rules_version = kRulesVersion};
    for (int m = 0; m < kMaxMachines; ++m) {
      machines_.push_back(std::make_unique<Machine>());
      machines_.back()->name = "w" + std::to_string(m);
    }
  }

  SimResult Run() {
    if (schedule_.lockstep || schedule_.hub) return RunFed();
    for (const std::string& event : traffic_.broadcasts) Append(event);
    Start(*machines_[0]);
    if (!Rest("the broadcasts")) return std::move(result_);
    cluster_.set_faults(DrawFaults());
    std::size_t sent = 0;
    while (sent < traffic_.events.size() && result_.problem.empty()) {
      for (std::size_t n = random_() % 8; n > 0 && sent < traffic_.events.size(); --n)
        Append(traffic_.events[sent++]);
      for (std::size_t n = 1 + random_() % 6; n > 0; --n) Turn();
    }
    // No more faults from here on.
    cluster_.set_faults({});
    for (auto& machine : machines_) {
      machine->asleep = 0;
      // A worker that has not noticed its full disk would notice only now.
      if (machine->disk.full() && machine->worker != nullptr) Die(*machine, "killed");
      machine->disk.Fill(false);
      if (machine->worker == nullptr && machine->name == "w0") Start(*machine);
    }
    if (Rest("everything")) Judge();
    for (const auto& [kind, count] : cluster_.counts().by_kind) result_.counts[kind] += count;
    return std::move(result_);
  }

 private:
  static constexpr stream::TopicPartition kPassed{wire::kPassed, 0};

  // Of traffic whose order counts.
  SimResult RunFed() {
    Start(*machines_[0]);
    if (!schedule_.calm) cluster_.set_faults(DrawFaults());
    for (int turns = 0; schedule_.hub ? FeedHub() : Feed(); ++turns) {
      if (turns == kMaxTurns) {
        result_.problem = "does not get on: " + std::to_string(sent_) + " of " +
                          std::to_string(traffic_.events.size()) + " events; " + cluster_.Describe();
        DescribeTasks();
        return std::move(result_);
      }
      if (turns % 10000 == 9999 && SkippedARecord()) return std::move(result_);
      if (!schedule_.calm) {
        Turn();
        continue;
      }
      cluster_.Advance(Millis(1));
      (void)machines_[0]->background->RunOne();
      Step(*machines_[0]);
    }
    cluster_.set_faults({});
    for (auto& machine : machines_) {
      machine->asleep = 0;
      // A worker that has not noticed its full disk would notice only now; a worker that stopped at a record retries
      // it.
      if (machine->worker != nullptr && (machine->disk.full() || HasStopped(*machine)))
        Die(*machine, "killed");
      machine->disk.Fill(false);
      if (machine->worker == nullptr && machine->name == "w0") Start(*machine);
    }
    if (Rest("everything") && !SkippedARecord()) schedule_.hub ? JudgeHub() : HashOutcome();
    for (const auto& [kind, count] : cluster_.counts().by_kind) result_.counts[kind] += count;
    return std::move(result_);
  }

  // Like `cobblestone ingest`, except that the records of a block appear one by one. False: everything is ingested
  // and visible.
  bool Feed() {
    if (barrier_ != 0) return !Passed() || NextBarrier();
    const bool over = sent_ == traffic_.events.size();
    const PeriodKind next = over ? PeriodKind::kNothing : PeriodKindOf(traffic_.events[sent_]);
    if (PeriodEndsBefore(period_kind_, next, over)) {
      SendBarrier(false);
    } else if (over) {
      return false;
    } else if (random_() % 3 == 0) {
      std::string with_line;
      wire::AppendWithLine(sent_, traffic_.events[sent_], &with_line);
      cluster_.Append(wire::RouteEvent(traffic_.events[sent_], kSimPartitions), "", with_line);
      ++sent_;
      if (next != PeriodKind::kNothing) period_kind_ = next;
    }
    return true;
  }

  // Like `cobblestone ingest` for a hub. False: everything is sent and processed.
  bool FeedHub() {
    if (barrier_ != 0) {
      if (!Passed()) return true;
      barrier_ = 0;
      drained_ = true;
    }
    if (sent_ == traffic_.events.size()) {
      if (!drained_) SendBarrier(false);
      return !drained_;
    }
    const bool broadcast = wire::PeekRouting(traffic_.events[sent_])->key == wire::KeyKind::kBroadcast;
    if (!drained_ && (broadcast || after_broadcast_)) {
      SendBarrier(false);
    } else if (broadcast || random_() % 2 == 0) {
      Append(traffic_.events[sent_++]);
      drained_ = false;
      after_broadcast_ = broadcast;
    }
    return true;
  }

  // By chance, three deaths in a row hit the same record, and it was skipped. Such a schedule is not judged: the oracle
  // has the record, and a skipped broadcast never passes.
  bool SkippedARecord() {
    for (const auto& [offset, value] : cluster_.Committed({wire::kRefused, 0})) {
      wire::Refused refused;
      if (!wire::DecodeRefused(value, &refused)) result_.problem = "a refused record does not decode";
      if (refused.refusal.reason != wire::RefusalReason::kCrashed) continue;
      ++result_.counts["skipped a record"];
      return true;
    }
    return false;
  }

  // IDENTITY has the facts of the plain maps, each as often, and as many events were refused.
  void JudgeHub() {
    std::vector<std::string> facts;
    EachRecord({wire::kIdentityFacts, 0}, [&](std::string_view record) { facts.emplace_back(record); });
    std::sort(facts.begin(), facts.end());
    const std::size_t refused = cluster_.Committed({wire::kRefused, 0}).size();
    if (facts != traffic_.facts)
      result_.problem = "the hub has other facts about identities: " + std::to_string(facts.size()) +
                        " instead of " + std::to_string(traffic_.facts.size());
    if (refused != traffic_.refused)
      result_.problem +=
          " refused " + std::to_string(refused) + " instead of " + std::to_string(traffic_.refused);
  }

  void SendBarrier(bool ends_period) {
    ends_period_ = ends_period;
    ++barriers_;
    barrier_ = barriers_;
    passed_from_ = cluster_.StableEnd(kPassed);
    Append(wire::EncodeEvent({.head = {.id = barrier_}, .body = wire::Barrier{.ends_period = ends_period}}));
  }

  // Whether all partitions have passed the barrier.
  bool Passed() {
    std::uint32_t partitions = 0;
    moved_ = 0;
    EachRecord(
        kPassed,
        [&](std::string_view record) {
          wire::WatermarkPassed one;
          if (!wire::DecodeWatermarkPassed(record, &one) || one.barrier != barrier_) return;
          ++partitions;
          moved_ += one.moved;
        },
        passed_from_);
    return partitions == kSimPartitions;
  }

  bool NextBarrier() {
    barrier_ = 0;
    if (!ends_period_) {
      SendBarrier(moved_ == 0);
    } else {
      period_kind_ = PeriodKind::kNothing;
    }
    return true;
  }

  void HashOutcome() {
    std::vector<std::string> all;
    for (std::uint32_t p = 0; p < kSimPartitions; ++p) {
      EachRecord({wire::kGrants, p}, [&](std::string_view record) {
        wire::GrantHead head;
        if (!wire::DecodeGrantHead(record, &head)) result_.problem = "a record of the ledger does not decode";
        if (head.kind == wire::GrantKind::kFinal || head.kind == wire::GrantKind::kOpening)
          all.emplace_back(record);
      });
      std::map<AccountKey, std::string> totals;
      EachRecord({wire::kTotals, p}, [&](std::string_view record) {
        wire::Total total;
        if (!wire::DecodeTotal(record, &total)) result_.problem = "a total does not decode";
        totals[{total.project.value, static_cast<OracleAccountKind>(total.kind), total.account}] =
            total.elsewhere ? "" : record;
      });
      for (const auto& [account, record] : totals)
        if (!record.empty()) all.push_back(record);
    }
    std::sort(all.begin(), all.end());
    stream::Hasher hasher;
    for (const std::string& record : all) hasher.Bytes(record);
    const stream::Hash128 hash = hasher.Digest();
    result_.hash = std::to_string(all.size()) + " records, " + std::to_string(hash.high) + " " +
                   std::to_string(hash.low);
  }

  void Append(const std::string& envelope) {
    cluster_.Append(wire::RouteEvent(envelope, kSimPartitions), "", envelope);
  }

  // Each schedule has its own probabilities of faults.
  sim::Faults DrawFaults() {
    const auto draw = [&](unsigned most) {
      return random_() % 2 == 0 ? 0 : static_cast<unsigned>(random_() % most);
    };
    return {.crash = draw(150),
            .lost_request = draw(300),
            .lost_response = draw(300),
            .delivery = draw(40),
            .duplicate_end = draw(1500),
            .unstable_positions = draw(3000),
            .slow_reads = schedule_.compacting ? 9000 : draw(5000)};
  }

  void Start(Machine& machine) {
    machine.background = std::make_unique<sim::SimBackground>();
    machine.client = cluster_.NewClient();
    stream::kafka::WorkerOptions options{
        .instance = machine.name,
        .slots = kSimPartitions + 1,
        .task = task_,
        .commit_min = Millis(2),
        .commit_max = Millis(10),
        .unstable_patience = Millis(50),
        .watch_interval = schedule_.no_watch ? Millis(std::chrono::hours(9)) : Millis(500),
        .standby = schedule_.standby,
        .settle_after = Millis(200),
        .report = [this, name = machine.name](const std::string& what) {
          if (what.find("was compacted together") != std::string::npos)
            ++result_.counts["lost a checkpoint to compaction"];
          result_.story.push_back(name + ": " + what);
        }};
    machine.worker = std::make_unique<Worker>(std::move(options), *machine.client, machine.disk,
                                              *machine.background, factory_);
    machine.asleep = 0;
  }

  void Die(Machine& machine, const char* how) {
    for (const auto& task : machine.worker->Look().tasks)
      if (task.phase == Phase::kTailing && task.restored_rows > 0)
        ++result_.counts["had followed checkpoints"];
    ++result_.counts[how];
    result_.story.push_back(machine.name + " dies: " + how);
    machine.background->Die();
    machine.worker.reset();
  }

  void Step(Machine& machine) {
    try {
      const Status s = machine.worker->Step(Millis(0));
      if (!s.ok()) Die(machine, "ended by itself");
    } catch (const sim::Crash&) {
      Die(machine, "crashed at a call");
    }
  }

  // Without the delay after which brokers compact incomplete data.
  void CompactCheckpoints() {
    for (std::uint32_t k = 0; k <= kSimPartitions; ++k) cluster_.Compact({kCheckpoint, k});
    ++result_.counts["checkpoints compacted"];
  }

  // One random action on one machine.
  void Turn() {
    cluster_.Advance(Millis(random_() % 8));
    Machine& machine = *machines_[random_() % machines_.size()];
    if (schedule_.compacting) {
      if (random_() % 4 == 0) CompactCheckpoints();
      if (machine.worker == nullptr && random_() % 6 == 0) machine.disk.Lose();
    }
    if (machine.worker == nullptr) {
      switch (random_() % 60) {
        case 0:
          machine.disk.Lose();
          ++result_.counts["disk lost"];
          break;
        case 1:
        case 6:
        case 7:
        case 8:
          if (machine.disk.Damage(random_)) ++result_.counts["disk damaged"];
          break;
        case 2:
        case 3:
        case 4:
        case 5: Start(machine); break;
        case 9: machine.disk.Fill(false); break;
        case 10:
        case 11: CompactCheckpoints(); break;
        default: break;
      }
      return;
    }
    if (machine.asleep > 0) {
      --machine.asleep;
      return;
    }
    switch (random_() % 400) {
      case 0: Die(machine, "killed"); return;
      case 1:
        machine.asleep = 200 + static_cast<int>(random_() % 800);
        ++result_.counts["fell asleep"];
        return;
      case 2:
        ++result_.counts["left"];
        try {
          machine.worker->Leave(true);
          machine.worker.reset();
        } catch (const sim::Crash&) {
          Die(machine, "crashed at a call");
        }
        return;
      case 3:
        cluster_.Advance(Millis(300 + random_() % 2000));
        ++result_.counts["time went by"];
        return;
      case 4:
        machine.disk.Fill(true);
        ++result_.counts["disk full"];
        return;
      default: break;
    }
    if (random_() % 3 == 0) {
      (void)machine.background->RunOne();
      return;
    }
    Step(machine);
  }

  // All workers run until nothing is left to do.
  bool Rest(const char* what) {
    int quiet = 0;
    for (int step = 0; step < kStepsToRest; ++step) {
      cluster_.Advance(Millis(5));
      std::uint32_t running = 0;
      std::uint64_t lag = 0;
      for (auto& machine : machines_) {
        if (machine->worker == nullptr && schedule_.restarts && machine->name == "w0") Start(*machine);
        if (machine->worker == nullptr) continue;
        (void)machine->background->RunOne();
        Step(*machine);
        if (machine->worker == nullptr) continue;
        for (const auto& task : machine->worker->Look().tasks) {
          if (task.phase == Phase::kStopped) {
            result_.problem = "slot " + std::to_string(task.slot) + " has stopped: " + task.problem;
            return false;
          }
          if (task.owned && task.phase == Phase::kRunning) {
            ++running;
            lag += task.lag;
          }
        }
      }
      const bool rest = running == kSimPartitions + 1 && lag == 0 && cluster_.open_transactions() == 0;
      quiet = rest ? quiet + 1 : 0;
      if (quiet > 60) return true;  // three reports of Worker::Publish
    }
    result_.problem = std::string("does not come to rest: ") + what +
                      "; open transactions: " + std::to_string(cluster_.open_transactions()) + "; " +
                      cluster_.Describe();
    DescribeTasks();
    return false;
  }

  static bool HasStopped(const Machine& machine) {
    for (const auto& task : machine.worker->Look().tasks)
      if (task.phase == Phase::kStopped) return true;
    return false;
  }

  void DescribeTasks() {
    for (const auto& machine : machines_) {
      if (machine->worker == nullptr) continue;
      for (const auto& task : machine->worker->Look().tasks)
        result_.problem += "\n  " + machine->name + " slot " + std::to_string(task.slot) +
                           (task.owned ? " owned " : " not owned ") +
                           std::string(stream::kafka::PhaseName(task.phase)) + " at " +
                           std::to_string(task.sequence) + " of " + std::to_string(task.target_sequence) +
                           ", lag " + std::to_string(task.lag) + " " + task.problem;
    }
  }

  void Judge() {
    Outcome actual;
    std::map<AccountKey, wire::Total> totals;
    for (std::uint32_t p = 0; p < kSimPartitions; ++p) {
      EachRecord({wire::kGrants, p}, [&](std::string_view record) {
        if (!AddLedgerRecord(record, &actual)) result_.problem = "a record of the ledger does not decode";
      });
      EachRecord({wire::kTotals, p}, [&](std::string_view record) {
        wire::Total total;
        if (!wire::DecodeTotal(record, &total)) result_.problem = "a total does not decode";
        const auto kind = total.kind == wire::AccountKind::kHost   ? OracleAccountKind::kHost
                          : total.kind == wire::AccountKind::kUser ? OracleAccountKind::kUser
                                                                   : OracleAccountKind::kTeam;
        totals[{total.project.value, kind, total.account}] = total;
      });
    }
    for (const auto& [offset, value] : cluster_.Committed({wire::kRefused, 0})) {
      wire::Refused refused;
      if (!wire::DecodeRefused(value, &refused)) result_.problem = "a refused record does not decode";
      if (refused.refusal.reason == wire::RefusalReason::kCrashed) result_.crashed.push_back(refused);
    }
    if (!actual.granted_twice.empty())
      result_.problem = "granted twice: result " + std::to_string(actual.granted_twice[0].result);
    Outcome grants;
    grants.grants = traffic_.expected.grants;
    std::map<AccountKey, BigMicro> sums;
    for (auto& [key, grant] : grants.grants) {
      const auto got = actual.grants.find(key);
      if (got != actual.grants.end()) {
        const BigMicro micro = grant.priced ? grant.micro : got->second.micro;
        sums[{key.project, OracleAccountKind::kHost, grant.to_host}] += micro;
        sums[{key.project, OracleAccountKind::kUser, grant.to_user}] += micro;
        sums[{key.project, OracleAccountKind::kTeam, grant.to_team}] += micro;
      }
      grant.to_host = grant.to_user = grant.to_team = 0;
    }
    if (const std::string difference = GrantDifferences(grants, actual, 3); !difference.empty())
      result_.problem += " grants differ from the oracle's: " + difference;
    for (const auto& [key, micro] : sums) {
      if (key.account == 0) continue;
      const auto total = totals.find(key);
      if (total == totals.end() || total->second.total_micro != micro)
        result_.problem +=
            " the total of account " + std::to_string(key.account) + " is not the sum of its grants;";
      if (result_.problem.size() > 500) break;
    }
  }

  void EachRecord(stream::TopicPartition where, const std::function<void(std::string_view)>& visit,
                  std::uint64_t from = 0) {
    for (const auto& [offset, value] : cluster_.Committed(where, from)) {
      stream::RecordCursor cursor(value);
      std::string_view record;
      while (cursor.Next(&record)) visit(record);
    }
  }

  const SimTraffic& traffic_;
  const SimSchedule& schedule_;
  std::mt19937_64 random_;
  SimCluster cluster_;
  stream::SlotFactory factory_;
  stream::kafka::TaskOptions task_;
  std::vector<std::unique_ptr<Machine>> machines_;
  SimResult result_;
  bool drained_ = true;  // of a hub: everything sent has been processed
  bool after_broadcast_ = false;
  // Lockstep: the state of the ingest.
  std::size_t sent_ = 0;
  PeriodKind period_kind_ = PeriodKind::kNothing;
  std::uint64_t barriers_ = 0;
  std::uint64_t barrier_ = 0;      // the awaited barrier
  std::uint64_t passed_from_ = 0;  // records before this offset do not belong to the barrier
  bool ends_period_ = false;
  std::uint64_t moved_ = 0;
};

}  // namespace

SimTraffic MakeSimTraffic(std::uint64_t seed, std::uint64_t results) {
  GenerateOptions options;
  options.seed = seed;
  options.results = results;
  options.hosts = 20;
  options.versions = 2;
  options.apps = 2;
  options.policies = {"benchmark", "creditnew"};
  options.duplicates = 0.05;
  options.lost = 0;
  SimTraffic traffic;
  std::vector<std::string> all;
  Generator generator(options);
  for (std::string envelope; generator.Next(&envelope);) {
    const auto routing = wire::PeekRouting(envelope);
    (routing && routing->key == wire::KeyKind::kBroadcast ? traffic.broadcasts : traffic.events)
        .push_back(envelope);
    all.push_back(envelope);
  }
  traffic.expected = RunOracle(all);
  return traffic;
}

SimTraffic MakeHubTraffic(std::uint64_t seed, int days) {
  const std::vector<Event> events = HubTraffic(seed, days);
  HubOutcome expected = HubOracle(events);
  SimTraffic traffic{.facts = std::move(expected.facts), .refused = expected.refused};
  for (const Event& event : events) traffic.events.push_back(event.envelope);
  return traffic;
}

SimTraffic MakeLockstepTraffic(std::uint64_t seed, std::uint64_t results) {
  GenerateOptions options;
  options.seed = seed;
  options.results = results;
  options.hosts = 8;
  options.users = 6;
  options.teams = 2;
  options.versions = 2;
  options.apps = 3;
  options.policies = {"creditnew", "boinc", "runtime"};
  options.ownerless_hosts = 0.1;
  options.late = 0.1;
  options.out_of_order = 0.3;
  options.duplicates = 0.05;
  options.owner_changes = 1;
  options.team_changes = 0.5;
  options.span = 0.2 * 86400;
  options.tick_period = 7200;
  options.delay_bound = 3000;
  options.result_window = 9000;
  SimTraffic traffic;
  Generator generator(options);
  for (std::string envelope; generator.Next(&envelope);)
    AppendContested(envelope, options.hosts, &traffic.events);
  // Two users are sent in the middle and at the end, so that the postings that wait for them follow hosts that have
  // moved.
  for (std::size_t user = 0; user < 2; ++user) {
    const auto named =
        std::find_if(traffic.events.begin(), traffic.events.end(), [](const std::string& event) {
          const auto routing = wire::PeekRouting(event);
          return routing && routing->kind == wire::EventKind::kUser;
        });
    if (named == traffic.events.end()) break;
    const std::string event = *named;
    traffic.events.erase(named);
    traffic.events.insert(
        traffic.events.end() - static_cast<std::ptrdiff_t>(user * traffic.events.size() / 3), event);
  }
  // Hosts are merged, also with hosts that never have credit. The target's owner is sent before the merge, after it,
  // repeatedly or never.
  std::mt19937_64 random(seed);
  std::uint64_t id = 1u << 29;
  constexpr std::uint64_t kMerges = 12;
  for (std::uint64_t m = 0; m < kMerges; ++m) {
    const auto at = traffic.events.begin() + static_cast<std::ptrdiff_t>(m * traffic.events.size() / kMerges);
    const double time = std::max(options.start_time, wire::PeekEventTime(*at).value_or(0));
    std::vector<std::string> period_kind;
    const auto add = [&](wire::EventBody body) {
      period_kind.push_back(wire::EncodeEvent(
          {.head = {.id = ++id, .project = ProjectId(1), .time = time}, .body = std::move(body)}));
    };
    const auto set_owner = [&](std::uint64_t host) {
      add(wire::HostMember{.host = HostId(host), .user = UserId(1 + random() % 2)});
    };
    const std::uint64_t host = 1 + random() % options.hosts;
    const std::uint64_t into = options.hosts + 1 + random() % 4;
    set_owner(host);
    if (random() % 2 == 0) set_owner(into);
    add(wire::HostMerge{.host = HostId(host), .into = HostId(into)});
    if (random() % 2 == 0) set_owner(into);
    if (random() % 4 == 0) add(wire::HostMerge{.host = HostId(into), .into = HostId(into + 1)});
    traffic.events.insert(at, period_kind.begin(), period_kind.end());
  }
  return traffic;
}

SimResult RunSchedule(const SimTraffic& traffic, const SimSchedule& schedule) {
  return World(traffic, schedule).Run();
}

}  // namespace cobblestone::testing
