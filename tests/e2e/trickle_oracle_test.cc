// Jobs that are paid while they run, compared with an independent computation: to the micro-credit, for any number of
// partitions, in any order, with any loss, and with any cheating.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/stream/state_codec.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/claims/open_jobs.h"
#include "tests/support/free_world.h"
#include "tests/support/job_events.h"
#include "tests/support/like_the_oracle.h"
#include "tests/support/seeds.h"
#include "tests/support/trickle_traffic.h"

namespace cobblestone::testing {

using pipeline::PipelineSlot;
using traffic::GenerateOptions;

namespace {

constexpr double kStart = 1.7e9;
constexpr double kDay = 86400;

struct PartialSums {
  std::uint64_t paid = 0;      // pairs of result and user
  std::uint64_t reversed = 0;  // pairs of which a part was reversed
  std::uint64_t unsettled = 0;
};

PartialSums SumsOf(const Outcome& outcome) {
  PartialSums sums;
  for (const auto& [key, one] : outcome.partials) {
    ++sums.paid;
    sums.reversed += one.reversed > 0 ? 1 : 0;
    sums.unsettled += one.settled != one.paid ? 1 : 0;
  }
  return sums;
}

// Rows about jobs and their names, and events that wait for either.
std::size_t JobRows(const Events& events) {
  LockstepWorld world(1);
  world.Add(events);
  world.Finish();
  std::size_t rows = 0;
  for (const auto& [key, row] : world.StateRows()) {
    std::uint8_t table = 0;
    stream::Key where;
    EXPECT_TRUE(stream::DecodeKey(key, &table, &where));
    rows += table >= claims::kJobsTable.id && table <= claims::kWaitingNamesTable.id ? 1 : 0;
  }
  return rows;
}

class TrickleSeeds : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, TrickleSeeds, ::testing::ValuesIn(Seeds({1, 2, 3})));

TEST_P(TrickleSeeds, PartialGrantsAndSettlementsEqualTheOracle) {
  const Played run = ExpectLikeTheOracle(Generate(Trickling(GetParam())));
  const PartialSums sums = SumsOf(run.outcome);
  EXPECT_GT(sums.paid, 400u);
  EXPECT_GT(sums.reversed, 80u);
  EXPECT_LT(sums.unsettled, sums.paid / 4);
  for (const char* reason :
       {"ALREADY_DECIDED", "NOT_SUPPORTED", "DISPATCH_DIFFERS", "MISSING_FIELD", "NOT_FINITE"})
    EXPECT_GT(run.outcome.refusals.count(reason), 0u) << reason;
}

TEST_P(TrickleSeeds, AFailedJobIsSettledInTimeAndLeavesNoRow) {
  GenerateOptions options = Trickling(GetParam());
  options.lost = 0.05;
  options.results = 400;
  options.delay_bound = 2 * kDay;
  options.result_window = 10 * kDay;
  options.span = 40 * kDay;
  options.tick_period = 21600;
  Events events = Generate(options);
  const std::size_t in_progress =
      JobRows({events.begin(), events.begin() + static_cast<std::ptrdiff_t>(events.size() / 2)});
  EXPECT_GT(in_progress, 20u);
  const double later = options.start_time + options.span + 100 * kDay;
  events.push_back(wire::EncodeEvent(
      {.head = {.id = 1u << 30, .project = ProjectId(1), .time = later}, .body = wire::Tick{.time = later}}));
  const Played run = ExpectLikeTheOracle(events);
  EXPECT_GT(SumsOf(run.outcome).paid, 200u);
  EXPECT_EQ(SumsOf(run.outcome).unsettled, 0u);
  for (const auto& [key, account] : run.outcome.accounts)
    EXPECT_TRUE(account.provisional == 0) << account.grants;
  EXPECT_EQ(JobRows(events), 0u);
}

TEST_P(TrickleSeeds, RepeatingEverythingPaysNothingTwice) {
  GenerateOptions options = Trickling(GetParam());
  options.results = 400;
  options.conflicts = 0;
  options.bad_lines = 0;
  const Events events = Generate(options);
  std::vector<std::pair<std::size_t, const std::string*>> order;
  std::mt19937_64 random(GetParam());
  for (std::size_t i = 0; i < events.size(); ++i) {
    order.emplace_back(i, &events[i]);
    order.emplace_back(i + random() % 300, &events[i]);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Events repeated;
  for (const auto& [place, event] : order) repeated.push_back(*event);
  const Played once = RunPipeline(events, 3);
  const Played twice = ExpectLikeTheOracle(repeated);
  EXPECT_TRUE(once.outcome.partials == twice.outcome.partials);
}

// ---- In any order --------------------------------------------------------------------------------------------------

GenerateOptions Few(std::uint64_t seed) {
  GenerateOptions options = Trickling(seed);
  options.results = 300;
  return options;
}

// The order of messages decides the days of their credit, and the order of grants decides the shown total under
// `cap`; both are left out.
Outcome WithoutOrder(Outcome outcome) {
  for (auto& [key, account] : outcome.accounts) {
    account.shown = 0;
    account.days.clear();
  }
  return outcome;
}

// Decisions and hosts arrive among the messages, and before the dispatch, because topics have no order relative to
// each other.
TEST_P(TrickleSeeds, AnyOrderOfMessagesAndDecisionsGivesTheSameAccounts) {
  TrickleTraffic phases = UnorderedTrickles(Few(GetParam()));
  DropMessagesAfterTheEnd(phases);
  Events ordered = phases.members;
  for (const Events* part : {&phases.running, &phases.results})
    ordered.insert(ordered.end(), part->begin(), part->end());
  const auto hosts = std::partition(phases.members.begin(), phases.members.end(), [](const auto& envelope) {
    return wire::PeekKind(envelope) != wire::EventKind::kHost;
  });
  Events mixed(hosts, phases.members.end());
  phases.members.erase(hosts, phases.members.end());
  EXPECT_GT(mixed.size(), 20u);
  for (const Events* part : {&phases.running, &phases.results})
    mixed.insert(mixed.end(), part->begin(), part->end());
  const auto have = [](const Outcome& outcome) {
    std::map<AccountKey, std::pair<std::int64_t, std::int64_t>> all;
    for (const auto& [key, account] : outcome.accounts)
      if (account.micro != 0 ||
          account.provisional != 0)  // otherwise all its payments may have been reversed
        all[key] = {static_cast<std::int64_t>(account.micro), static_cast<std::int64_t>(account.provisional)};
    return all;
  };
  const Outcome oracle = RunOracle(ordered);
  const auto expected = have(oracle);
  std::mt19937_64 random(GetParam());
  std::size_t late = 0;
  for (const std::uint32_t partitions : {1u, 4u}) {
    FreeWorld world(partitions, random());
    world.Add(phases.members);
    world.RunUntilIdle();
    std::shuffle(mixed.begin(), mixed.end(), random);
    world.Add(mixed);
    world.RunUntilIdle();
    EXPECT_EQ(have(world.outcome()).size(), expected.size());
    for (const auto& [key, sums] : have(world.outcome())) {
      const auto known = expected.find(key);
      EXPECT_TRUE(known != expected.end() && known->second == sums)
          << partitions << " partitions, account " << key.account << ": " << sums.first << ", provisional "
          << sums.second << ", in order " << (known == expected.end() ? -1 : known->second.first);
    }
    for (const std::string& record : world.ledger()) {
      wire::GrantHead head;
      ASSERT_TRUE(wire::DecodeGrantHead(record, &head));
      late += head.kind == wire::GrantKind::kPartial && wire::ProvisionalOf(head) == 0 ? 1 : 0;
    }
  }
  EXPECT_GT(late, 20u);
}

TEST_P(TrickleSeeds, AnyOrderOfMessagesGivesTheSamePayments) {
  TrickleTraffic phases = UnorderedTrickles(Few(GetParam()));
  Events all = phases.members;
  all.insert(all.end(), phases.running.begin(), phases.running.end());
  all.insert(all.end(), phases.results.begin(), phases.results.end());
  const Outcome expected = WithoutOrder(RunOracle(all));
  EXPECT_GT(SumsOf(expected).reversed, 20u);
  std::mt19937_64 random(GetParam());
  for (const std::uint32_t partitions : {1u, 4u}) {
    FreeWorld world(partitions, random());
    world.Add(phases.members);
    world.RunUntilIdle();
    std::shuffle(phases.running.begin(), phases.running.end(), random);
    Events running = phases.running;
    for (std::size_t i = 0; i < running.size(); i += 5) running.push_back(std::string(running[i]));
    world.Add(running);
    world.RunUntilIdle();
    world.Add(phases.results);
    world.RunUntilIdle();
    EXPECT_EQ(GrantDifferences(expected, WithoutOrder(world.outcome())), "") << partitions << " partitions";
  }
}

// ---- The payments for a result are a function of its highest valid mark
// --------------------------------------------

class Project {
 public:
  // Users 1 to 3 have hosts 1 to 3; `rule` prices the app's trickles, `settlement` settles them.
  explicit Project(wire::TrickleRuleChange rule, const std::string& settlement = "settle")
      : variety_(rule.variety) {
    Send(kStart, wire::AppChange{.app = AppId(1),
                                 .policy = "assigned",
                                 .delay_bound = 100 * kDay,
                                 .trickles = {std::move(rule)},
                                 .trickle_settlement = settlement});
    Send(kStart, wire::AppVersionChange{.row = {.id = 1, .app = AppId(1), .version_num = 1, .platform = 1}});
    for (std::uint64_t user = 1; user <= 3; ++user)
      Send(kStart, wire::UserMember{.user = UserId(user), .team = TeamId(10 + user)});
    for (std::uint64_t host = 1; host <= 3; ++host) SetOwner(kStart, host, host);
  }
  void Send(double time, wire::EventBody body) {
    events.push_back(wire::EncodeEvent(
        {.head = {.id = ++id_, .project = ProjectId(1), .time = time}, .body = std::move(body)}));
  }
  void SetOwner(double time, std::uint64_t host, std::uint64_t user) {
    Send(time, wire::HostMember{.host = HostId(host), .user = UserId(user), .whetstone = 1e9, .cpus = 1});
  }
  void Sent(std::uint64_t result, std::uint64_t host, const std::string& name = {}, double time = kStart) {
    Send(time, DispatchOf(result, host, time, name));
  }
  void SendTrickle(double time, std::uint64_t result, std::uint64_t host, double number,
                   std::uint64_t sequence = 1, const std::string& name = {}) {
    Send(time, wire::Trickle{.result = ResultId(result),
                             .host = HostId(host),
                             .variety = variety_,
                             .sequence = sequence,
                             .elapsed_time = number,
                             .cpu_time = number,
                             .fraction_done = number <= 1 ? std::optional(number)
                                                          : std::nullopt,  // otherwise it is not a fraction
                             .steps = number,
                             .runtime_increment = number,
                             .result_name = name});
  }
  void Decided(double time, std::uint64_t result, std::uint64_t host, double credit,
               credit::ValidateState state = credit::ValidateState::kValid, std::uint64_t workunit = 0,
               std::uint32_t pass = 1, std::uint32_t claims = 1) {
    wire::Completion completion = CompletionOf(result, host, workunit != 0 ? workunit : result, time);
    completion.facts.sent_time = kStart;
    completion.facts.version = AppVersionId(1);
    completion.facts.peak_flops = 1e9;
    Send(time, completion);
    credit::ValidationFacts validation = ValidationOf(result, host, completion.facts.workunit.value, credit);
    validation.state = state;
    validation.pass = pass;
    validation.claims = claims;
    Send(time, validation);
  }

  Events events;

 private:
  std::string variety_;
  std::uint64_t id_ = 0;
};

wire::TrickleRuleChange Steps() {
  return {
      .variety = "model",
      .kind = "steps",
      .measure = "steps",
      .phases = {{.last_step = 400, .credit_per_step = 0.137}, {.last_step = 1000, .credit_per_step = 0.071}},
      .min_step_seconds = 1000};
}
wire::TrickleRuleChange Elapsed() {
  return {.variety = "time", .kind = "elapsed", .measure = "elapsed_time"};
}
wire::TrickleRuleChange Increments() {
  return {.variety = "since", .kind = "elapsed", .measure = "runtime_increment", .incremental = true};
}
wire::TrickleRuleChange Fraction() {
  return {.variety = "part", .kind = "fraction", .measure = "fraction_done"};
}
wire::TrickleRuleChange RunTime() {
  return {.variety = "cpu", .kind = "runtime", .measure = "cpu_time", .speed_limit = 7e8};
}
wire::TrickleRuleChange Days() {
  return {.variety = "day", .kind = "day", .credit_per_day = 3.3, .max_credit = 60};
}

std::int64_t PaidTo(const Outcome& outcome, std::uint64_t user) {
  const auto account = outcome.accounts.find({1, OracleAccountKind::kUser, user});
  return account == outcome.accounts.end() ? 0 : static_cast<std::int64_t>(account->second.micro);
}

struct Message {
  double time = 0;
  double number = 0;
  std::uint64_t sequence = 0;
};

// Thirty days of messages of a job that computes nine tenths of the time.
std::vector<Message> Month(const wire::TrickleRuleChange& rule) {
  std::vector<Message> messages;
  for (std::uint64_t day = 1; day <= 30; ++day) {
    const double at = static_cast<double>(day) * kDay;
    double number = 0.9 * at;
    if (rule.kind == "steps") number = std::floor(at / 3100);
    if (rule.kind == "fraction") number = static_cast<double>(day) / 33;
    if (rule.incremental) number = 0.9 * kDay + static_cast<double>(day) / 7;
    messages.push_back({kStart + at, number, day});
  }
  return messages;
}

TEST(TrickleProperty, AnyOrderRepetitionAndLossPayTheHighestMarkExactly) {
  for (const auto& rule : {Steps(), Elapsed(), Increments(), Fraction(), RunTime(), Days()}) {
    const std::vector<Message> all = Month(rule);
    std::mt19937_64 random(7);
    for (int round = 0; round < 12; ++round) {
      // The messages that arrive, once and in order; then the same messages in any order, many times.
      std::vector<Message> came;
      for (const Message& message : all)
        if (random() % 3 != 0) came.push_back(message);
      if (came.empty()) continue;
      Project plain(rule);
      plain.Sent(100, 1);
      // Of cumulative numbers only the last one counts.
      for (const Message& message : came)
        if (rule.incremental || &message == &came.back())
          plain.SendTrickle(message.time, 100, 1, message.number, message.sequence);
      std::vector<Message> chaos = came;
      for (int extra = 0; extra < 20; ++extra) chaos.push_back(came[random() % came.size()]);
      std::shuffle(chaos.begin(), chaos.end(), random);
      Project wild(rule);
      const std::size_t sent_at = random() % 3 == 0 ? chaos.size() / 2 : 0;
      for (std::size_t i = 0; i < chaos.size(); ++i) {
        if (i == sent_at) wild.Sent(100, 1);
        wild.SendTrickle(chaos[i].time, 100, 1, chaos[i].number, chaos[i].sequence);
      }
      const std::int64_t expected = PaidTo(RunPipeline(plain.events, 1).outcome, 1);
      EXPECT_GT(expected, 1'000'000) << rule.kind;
      EXPECT_EQ(PaidTo(RunPipeline(wild.events, 1).outcome, 1), expected) << rule.kind << ", round " << round;
    }
  }
}

// Partial grants, final grant and reversals of each result sum to its worth, or to the payments if those are kept.
TEST_P(TrickleSeeds, AllRecordsOfAResultSumToItsSettledWorth) {
  const GenerateOptions options = Trickling(GetParam());
  const Played run = RunPipeline(Generate(options), 3);
  struct Paths {
    std::int64_t partial = 0;
    std::int64_t marks = 0;  // worth of its marks
    std::int64_t settled = 0;
    std::int64_t sum = 0;
    std::int64_t worth = 0;
    std::uint64_t app = 0;
  };
  std::map<std::uint64_t, Paths> results;
  for (const std::string& record : run.ledger) {
    wire::Grant grant;
    ASSERT_TRUE(wire::DecodeGrant(record, &grant));
    if (!wire::IsAward(grant.head.kind)) continue;
    Paths& paths = results[grant.head.result.value];
    paths.app = grant.head.app.value;
    paths.sum += grant.head.credit_micro;
    paths.settled += grant.head.settles_micro;
    if (grant.head.kind == wire::GrantKind::kPartial) {
      paths.partial += grant.head.credit_micro;
      paths.marks = std::max(paths.marks, grant.partial->paid_before + grant.head.credit_micro);
      // After the decision a partial grant is final at once.
      if (wire::ProvisionalOf(grant.head) == 0) paths.settled += grant.head.credit_micro;
    }
    if (grant.head.kind == wire::GrantKind::kFinal) paths.worth = std::llrint(grant.detail.credit * 1e6);
  }
  std::map<std::uint64_t, std::uint64_t> compared;
  for (const auto& [result, paths] : results) {
    if (paths.partial == 0 || paths.settled == 0) continue;
    EXPECT_EQ(paths.settled, paths.partial) << result;
    const bool keeps = (paths.app - 1) % 3 == 0;
    EXPECT_EQ(paths.sum, keeps ? std::max(paths.worth, paths.marks) : paths.worth) << result;
    ++compared[(paths.app - 1) % 3];
  }
  for (std::uint64_t settlement = 0; settlement < 3; ++settlement) EXPECT_GT(compared[settlement], 50u);
}

// ---- Cheating
// ------------------------------------------------------------------------------------------------------

// Users 1 and 2 are one cheat, with hosts 1 and 2, and send anything about their results and user 3's: forged,
// rewound, repeated, from the other host, while hosts change owners between them, before and after the decision.
TEST_P(TrickleSeeds, ACheatGetsNoMoreThanTheWallClockTimeOfItsJobs) {
  std::mt19937_64 random(GetParam());
  for (int round = 0; round < 8; ++round) {
    Project project(Elapsed());
    for (std::uint64_t result = 100; result < 103; ++result)
      project.Sent(result, result - 99, "job_" + std::to_string(result));
    double now = kStart;
    double last = kStart;
    const auto lie = [&] {
      const std::uint64_t result = 100 + random() % 4;  // 103 does not exist
      const std::uint64_t host = 1 + random() % 2;
      const double number = std::ldexp(1000.0, static_cast<int>(random() % 20));
      const bool by_name = random() % 2 == 0;
      // The project sets the event's time.
      project.SendTrickle(now, by_name ? 0 : result, host, number, 1 + random() % 4,
                          by_name ? "job_" + std::to_string(result) : "");
      if (random() % 3 == 0) project.events.push_back(std::string(project.events.back()));
      if (random() % 5 == 0) project.SetOwner(now, host, 1 + random() % 2);
    };
    for (int hour = 0; hour < 60; ++hour) {
      last = now += 3600;
      lie();
      if (hour % 10 == 0) project.SendTrickle(now, 102, 3, 0.5 * (now - kStart));
    }
    const std::vector<std::string> running = project.events;
    // 200 Cobblestones a day for 1 GFLOPS, for two jobs.
    const double most = 2 * 200 * (last - kStart) / kDay;
    const Outcome paid = RunPipeline(running, 3).outcome;
    const auto cheat = [](const Outcome& outcome) { return PaidTo(outcome, 1) + PaidTo(outcome, 2); };
    EXPECT_LE(cheat(paid), std::llrint(most * 1e6));
    EXPECT_GT(cheat(paid), 0);
    const std::int64_t honest = std::llrint(200 * 0.5 * (kStart + 51 * 3600 - kStart) / kDay * 1e6);
    EXPECT_EQ(PaidTo(paid, 3), honest) << "messages of other hosts do not change a job's payments";

    // Validated at 5 Cobblestones, or invalid: only that remains, whatever the order of messages.
    project.Decided(now, 100, 1, 5);
    for (int more = 0; more < 10; ++more) lie();
    project.Decided(now, 101, 2, 5, credit::ValidateState::kInvalid);
    for (int more = 0; more < 30; ++more) lie();
    for (std::size_t i = 0; i < running.size(); ++i)
      if (random() % 4 == 0) project.events.push_back(std::string(running[i]));
    const Played done = ExpectLikeTheOracle(project.events);
    EXPECT_EQ(cheat(done.outcome), 5'000'000);
    EXPECT_EQ(PaidTo(done.outcome, 3), honest);
  }
}

// ---- After the decision
// --------------------------------------------------------------------------------------------

TEST(LateTrickle, UnderKeepTheGreaterOfGrantAndHighestMarkIsPaid) {
  const auto valid = credit::ValidateState::kValid;
  const auto invalid = credit::ValidateState::kInvalid;
  struct Case {
    double worth;
    credit::ValidateState state;
    bool sent_late;  // its dispatch arrives after the decision
    std::int64_t in_all;
  };
  // 300 steps are worth 41.1, of which 100 steps, 13.7, were reported before.
  for (const Case& one : {Case{9, valid, false, 41'100'000}, Case{9, valid, true, 41'100'000},
                          Case{20, valid, false, 41'100'000}, Case{50, valid, false, 50'000'000},
                          Case{50, valid, true, 50'000'000}, Case{9, invalid, false, 41'100'000},
                          Case{9, invalid, true, 41'100'000}}) {
    Project project(Steps(), "keep");
    if (!one.sent_late) project.Sent(100, 1, "job");
    project.SendTrickle(kStart + 5 * kDay, 100, 1, 100);
    project.Decided(kStart + 11 * kDay, 100, 1, one.worth, one.state);
    if (one.sent_late) project.Sent(100, 1, "job");
    project.SendTrickle(kStart + 10 * kDay, 0, 1, 300, 2, "job");
    project.SendTrickle(kStart + 9 * kDay, 100, 1, 200, 3);
    project.SendTrickle(kStart + 10 * kDay, 100, 2, 400, 4);
    const Played run = ExpectLikeTheOracle(project.events);
    EXPECT_EQ(PaidTo(run.outcome, 1), one.in_all) << one.worth << " " << one.sent_late;
    EXPECT_TRUE(run.outcome.accounts.at({1, OracleAccountKind::kUser, 1}).provisional == 0);
  }
}

TEST(LateTrickle, WaitsForAnUndecidedWorkunit) {
  Project project(Steps(), "keep");
  const auto valid = credit::ValidateState::kValid;
  project.Sent(100, 1);
  project.Decided(kStart + 11 * kDay, 100, 1, 20, valid, 100, 1, 2);
  project.SendTrickle(kStart + 10 * kDay, 100, 1, 300);
  const Played waiting = ExpectLikeTheOracle(project.events);
  EXPECT_EQ(PaidTo(waiting.outcome, 1), 0) << "its worth beyond the grant is still unknown";
  project.Decided(kStart + 12 * kDay, 101, 2, 20, valid, 100, 1, 2);
  EXPECT_EQ(PaidTo(ExpectLikeTheOracle(project.events).outcome, 1), 41'100'000);
}

// A result that ends in an error does not wait for its host; the pricing of its trickles does.
TEST(LateTrickle, IsPaidForAnErrorWhoseHostBecomesKnownLater) {
  wire::Completion failed = CompletionOf(100, 9, 100, kStart + 11 * kDay);
  failed.facts.outcome = credit::Outcome::kClientError;
  failed.facts.sent_time = kStart;
  failed.facts.version = AppVersionId(1);
  failed.facts.peak_flops = 1e9;
  std::vector<int> order = {0, 1, 2, 3, 4};
  do {
    Project project(Steps(), "keep");
    for (const int what : order) switch (what) {
        case 0: project.Sent(100, 9, "job"); break;
        case 1: project.Send(kStart + 11 * kDay, failed); break;
        case 2: project.SetOwner(kStart + 11 * kDay, 9, 1); break;
        case 3: project.SendTrickle(kStart + 9 * kDay, 100, 9, 200, 2); break;
        default: project.SendTrickle(kStart + 10 * kDay, 0, 9, 300, 3, "job");
      }
    project.Sent(100, 9, "job");
    const Played run = ExpectLikeTheOracle(project.events);
    EXPECT_EQ(PaidTo(run.outcome, 1), 41'100'000) << ::testing::PrintToString(order);
    EXPECT_TRUE(run.outcome.refusals.empty());
  } while (std::next_permutation(order.begin(), order.end()));
}

// The work ended when the result was returned, and the dispatch must belong to the same job.
TEST(LateTrickle, PaysNoTimeAfterTheEndAndNoOtherJob) {
  Project project(Elapsed(), "keep");
  project.Sent(100, 1);
  project.Decided(kStart + 2 * kDay, 100, 1, 1, credit::ValidateState::kInvalid);
  project.SendTrickle(kStart + 30 * kDay, 100, 1, 25 * kDay);
  project.Decided(kStart + 2 * kDay, 101, 2, 1, credit::ValidateState::kInvalid);
  wire::Dispatch other = DispatchOf(101, 2, kStart, "");
  other.facts.peak_flops = 5e9;
  project.Send(kStart, other);
  project.SendTrickle(kStart + kDay, 101, 2, kDay);
  const Played run = ExpectLikeTheOracle(project.events);
  EXPECT_EQ(PaidTo(run.outcome, 1), 400'000'000);
  EXPECT_EQ(PaidTo(run.outcome, 2), 0);
  EXPECT_EQ(run.outcome.refusals.at("DISPATCH_DIFFERS"), 1u);
}

// The peak speeds of dispatch and completion are copies of one number, one of which went through the database.
TEST(LateTrickle, IsPaidIfTheLateDispatchHasMoreDigitsOfThePeakSpeed) {
  Project project(Elapsed(), "keep");
  project.Decided(kStart + 2 * kDay, 101, 2, 1, credit::ValidateState::kInvalid);
  wire::Dispatch digits = DispatchOf(101, 2, kStart, "");
  digits.facts.peak_flops = 1e9 * (1 + 0.9e-6);
  project.Send(kStart, digits);
  project.SendTrickle(kStart + kDay, 101, 2, kDay);
  const Played run = ExpectLikeTheOracle(project.events);
  EXPECT_GT(PaidTo(run.outcome, 2), 0);
  EXPECT_TRUE(run.outcome.refusals.empty());
}

// ---- Rows that expire
// ----------------------------------------------------------------------------------------------

// The result's claim belongs to a pass without a decision; the next pass decided the workunit without the result.
TEST(TrickleStory, AResultOfAnOlderPassIsSettledWithItsWorkunit) {
  Project project(Steps());
  project.Sent(100, 1);
  project.SendTrickle(kStart + 10 * kDay, 100, 1, 300);
  const auto valid = credit::ValidateState::kValid;
  project.Decided(kStart + 11 * kDay, 100, 1, 9, valid, 100, 1,
                  2);  // a pass of two: the other result never arrives
  project.Decided(kStart + 12 * kDay, 101, 2, 9, valid, 100, 2, 2);
  project.Decided(kStart + 12 * kDay, 102, 3, 9, valid, 100, 2, 2);
  const Played run = ExpectLikeTheOracle(project.events);
  EXPECT_EQ(run.outcome.grants.size(), 2u);
  EXPECT_EQ(PaidTo(run.outcome, 1), 0);
  EXPECT_EQ(SumsOf(run.outcome).unsettled, 0u);
}

TEST(TrickleStory, TwoJobsOfOneNameOnOneHostAreNotMixedUp) {
  Project project(Steps());
  project.Sent(100, 1, "twin");
  project.Sent(101, 1, "twin");
  project.Decided(kStart + kDay, 100, 1, 9);
  project.SendTrickle(kStart + 10 * kDay, 0, 1, 100, 1, "twin");
  const Played run = ExpectLikeTheOracle(project.events);
  EXPECT_EQ(PaidTo(run.outcome, 1), 9'000'000 + 13'700'000);
}

// A job on a host that is never sent, messages of jobs that are never sent, and a project that does not exist.
TEST(TrickleStory, UnusableMessagesLeaveNoRow) {
  Project project(Steps());
  project.Sent(100, 9);
  project.Sent(101, 9, "late");
  project.SendTrickle(kStart + kDay, 100, 9, 100);
  project.SendTrickle(kStart + kDay, 0, 9, 100, 1, "late");
  project.SendTrickle(kStart + kDay, 0, 8, 100, 1, "never");
  project.events.push_back(wire::EncodeEvent(
      {.head = {.id = 1, .project = ProjectId(5), .time = kStart},
       .body = wire::Trickle{.result = ResultId(1), .host = HostId(1), .variety = "model", .steps = 1}}));
  EXPECT_GT(JobRows(project.events), 3u);
  project.Send(kStart + 1000 * kDay, wire::Tick{.time = kStart + 1000 * kDay});
  const Played run = ExpectLikeTheOracle(project.events);
  EXPECT_EQ(run.outcome.refusals,
            (std::map<std::string, std::uint64_t>{{"UNKNOWN_APP", 1}, {"UNKNOWN_RESULT", 3}}));
  EXPECT_EQ(JobRows(project.events), 0u);
  LockstepWorld world(1);
  world.Add(project.events);
  world.Finish();
  for (const PipelineSlot& slot : world.slots()) {
    if (slot.stages.claims == nullptr) continue;
    slot.stages.claims->hosts().ForEach([](const stream::Key& key, const claims::HostState& host) {
      EXPECT_TRUE(host.unpriced.empty()) << key.id;
    });
  }
}

TEST(Oracle, FindsEveryDifferenceOfPartialGrants) {
  const Outcome outcome = RunPipeline(Generate(Trickling(1)), 1).outcome;
  ASSERT_FALSE(outcome.partials.empty());
  const auto differs = [&](auto change) {
    Outcome other = outcome;
    change(other);
    return !Differences(outcome, other).empty();
  };
  EXPECT_FALSE(differs([](Outcome&) {}));
  EXPECT_TRUE(differs([](Outcome& o) { o.partials.begin()->second.paid += 1; }));
  EXPECT_TRUE(differs([](Outcome& o) { o.partials.begin()->second.reversed += 1; }));
  EXPECT_TRUE(differs([](Outcome& o) { o.partials.begin()->second.settled += 1; }));
  EXPECT_TRUE(differs([](Outcome& o) { o.partials.erase(o.partials.begin()); }));
  EXPECT_TRUE(differs([](Outcome& o) { o.accounts.begin()->second.provisional += 1; }));
  EXPECT_TRUE(differs([](Outcome& o) { o.accounts.begin()->second.shown += 1; }));
}

}  // namespace
}  // namespace cobblestone::testing
