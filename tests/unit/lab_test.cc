// The fairness laboratory: figures computed by hand, errors in files of attacks, and what each strategy changes in the
// events of an attacker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "common/wire/events/event_codec.h"
#include "services/lab/attack_file.h"
#include "services/lab/experiment.h"
#include "services/lab/metrics.h"
#include "services/lab/parallel.h"

namespace cobblestone {
namespace {

using fleet::Attack;
using ::testing::HasSubstr;

// ---- Figures -------------------------------------------------------------------------------------------

lab::GrantedJob Honest(std::uint64_t host, double granted, double deserved) {
  return {.host = host, .account = host, .granted = granted, .deserved = deserved};
}
lab::GrantedJob Attacker(std::uint64_t account, std::uint32_t person, double granted, double deserved) {
  return {
      .host = 100 + account, .account = account, .person = person, .granted = granted, .deserved = deserved};
}

TEST(LabFigures, GainIsTheRatioOfRatiosOfAttackAndTwin) {
  // Attackers 30/10 against 20/20; honest hosts 22/20 against 20/20.
  const lab::WorldOutcome attack{.jobs = {Honest(1, 22, 20), Attacker(5, 1, 18, 4), Attacker(6, 2, 12, 6)},
                                 .attackers_work = 5};
  const lab::WorldOutcome twin{.jobs = {Honest(1, 20, 20), Attacker(5, 1, 10, 10), Attacker(6, 2, 10, 10)},
                               .attackers_work = 20};
  const lab::Figures figures = FiguresOf(attack, twin, 0);
  EXPECT_DOUBLE_EQ(figures.gain, 3);
  EXPECT_DOUBLE_EQ(figures.relative_gain, 3 / 1.1);
  EXPECT_DOUBLE_EQ(figures.worst_person, 4.5);
  EXPECT_DOUBLE_EQ(figures.income, 1.5);
  EXPECT_DOUBLE_EQ(figures.honest_work, 0.25);
  EXPECT_NEAR(figures.collateral, 0.1, 1e-12);
}

TEST(LabFigures, APersonPoolsItsAccountsAndAnAccountStandsAlone) {
  lab::WorldOutcome attack;
  lab::WorldOutcome twin;
  for (int i = 0; i < 10; ++i) {
    attack.jobs.push_back(Attacker(5, 1, 4, 1));
    attack.jobs.push_back(Attacker(7, 1, 2, 1));
    twin.jobs.push_back(Attacker(5, 1, 1, 1));
  }
  const lab::Figures figures = FiguresOf(attack, twin, 0);
  EXPECT_DOUBLE_EQ(figures.worst_person, 3);
  EXPECT_DOUBLE_EQ(figures.worst_account, 4);
}

TEST(LabFigures, OnlyTheFirstGrantsOfAPersonCount) {
  const lab::WorldOutcome attack{.jobs = {Attacker(5, 1, 3, 1), Attacker(5, 1, 90, 1)}};
  const lab::WorldOutcome twin{.jobs = {Attacker(5, 1, 1, 1), Attacker(5, 1, 1, 1)}};
  EXPECT_DOUBLE_EQ(FiguresOf(attack, twin, 1).gain, 3);
  EXPECT_DOUBLE_EQ(FiguresOf(attack, twin, 2).gain, 46.5);
}

TEST(LabFigures, CreditForNoWorkIsUnbounded) {
  const lab::WorldOutcome attack{.jobs = {Attacker(5, 1, 3, 0)}};
  const lab::WorldOutcome nothing;
  const lab::WorldOutcome twin{.jobs = {Attacker(5, 1, 1, 1)}};
  EXPECT_TRUE(std::isinf(FiguresOf(attack, twin, 0).gain));
  EXPECT_DOUBLE_EQ(FiguresOf(nothing, twin, 0).gain, 0);
}

TEST(LabFigures, VariationAndDevicesStartAfterFiftyJobsOfAHost) {
  lab::WorldOutcome world;
  for (int i = 0; i < 50; ++i) world.jobs.push_back(Honest(1, 100, 1));
  for (int i = 0; i < 50; ++i)
    world.jobs.push_back({.host = 2, .account = 2, .device = 1, .granted = 7, .deserved = 1});
  world.jobs.push_back(Honest(1, 1, 1));
  world.jobs.push_back({.host = 2, .account = 2, .device = 1, .granted = 3, .deserved = 1});
  const lab::Figures figures = FiguresOf(world, world, 0);
  EXPECT_DOUBLE_EQ(figures.cv_identical, std::sqrt(2.0) / 2);  // of 1 and 3
  EXPECT_DOUBLE_EQ(figures.device_neutrality, 3);
}

TEST(LabFigures, DriftComparesTheHalvesOfTheGrantsAfterTheWarmUp) {
  lab::WorldOutcome world;
  for (int i = 0; i < 60; ++i) world.jobs.push_back(Honest(1, i < 50 ? 9 : 2, 1));
  for (int i = 0; i < 60; ++i) world.jobs.push_back(Honest(1, 3, 1));
  EXPECT_DOUBLE_EQ(FiguresOf(world, world, 0).drift, 0.5);
  EXPECT_EQ(lab::FiguresOf({}, {}, 0).drift, 0);
}

TEST(LabFigures, ConvergenceIsTheEndOfTheLastWindowThatDeviates) {
  std::vector<double> values(100, 1.0);
  EXPECT_EQ(lab::ConvergenceOf(values, 1), 0u);
  values[9] = 3;  // in the windows of 20 that end at 20 to 29
  EXPECT_EQ(lab::ConvergenceOf(values, 1), 29u);
  EXPECT_EQ(lab::ConvergenceOf(values, 2), 100u);
  EXPECT_EQ(lab::ConvergenceOf({1, 1}, 1), 2u);
}

TEST(LabFigures, TheIntervalIsStudents) {
  const lab::Spread spread = lab::SpreadOf(std::vector<double>{1, 2, 3});
  EXPECT_DOUBLE_EQ(spread.mean, 2);
  EXPECT_DOUBLE_EQ(spread.greatest, 3);
  EXPECT_NEAR(spread.half_width, 4.303 / std::sqrt(3.0), 1e-12);
}

// ---- Files ---------------------------------------------------------------------------------------------

TEST(LabAttackFile, EachKeyIsRead) {
  const auto read = lab::ParseAttack(
      "a.yaml",
      "id: X\nname: all\nshare: 0.1\nstart: 7\nbenchmark: 1e9\nfabricate: yes\n"
      "keep_share: 0.5\nabort: project\nfail_every: 8\n"
      "trickles: 3\nreports: 50\nanonymous: yes\nfabricate_share: 0.25\nbuild: 20\nlate_every: 6\nrepeat: 2\n"
      "versions: {count: 5, every: 11}\n"
      "claim: {pattern: ramp, channel: benchmark, factor: 24, growth: 1.5, period: 3, "
      "first_jobs: 4}\nidentities: {every: 9, new: account}\n");
  ASSERT_TRUE(read.ok()) << read.status().message();
  const Attack expected{.start = 7,
                        .pattern = fleet::ClaimPattern::kRamp,
                        .channel = fleet::ClaimChannel::kBenchmark,
                        .factor = 24,
                        .growth = 1.5,
                        .period = 3,
                        .first_jobs = 4,
                        .benchmark = 1e9,
                        .anonymous = true,
                        .fabricate = true,
                        .fabricate_share = 0.25,
                        .build = 20,
                        .keep_share = 0.5,
                        .unwanted = fleet::Unwanted::kAbortedByProject,
                        .fail_every = 8,
                        .late_every = 6,
                        .version_every = 11,
                        .trickles = 3,
                        .repeat = 2,
                        .recycle_every = 9,
                        .identity = fleet::NewIdentity::kAccount,
                        .reports = 50};
  EXPECT_EQ(read->attack, expected);
  EXPECT_DOUBLE_EQ(read->share, 0.1);
  EXPECT_EQ(read->versions, 5u);
  EXPECT_TRUE(read->trickles);
  EXPECT_TRUE(read->reports);
  EXPECT_TRUE(lab::ParseAttack("a.yaml", "id: X\nname: x\nrehome: yes\n")->attack.rehome);
  EXPECT_TRUE(lab::ParseAttack("a.yaml", "id: X\nname: x\none_account: yes\n")->attack.one_account);
}

TEST(LabAttackFile, AnErrorNamesPlaceKeyAndWhatIsAllowed) {
  const std::pair<const char*, const char*> cases[] = {
      {"id: X\nname: x\nshares: 1\n", "a.yaml:3:1: unknown key 'shares'; allowed: id, name, share"},
      {"id: X\nname: x\nshare: much\n", "a.yaml:3:8: share: 'much'; it must be a number from 1e-06 to 10"},
      {"id: X\nname: x\nclaim: {pattern: up}\n",
       "a.yaml:3:18: claim.pattern: 'up'; it must be one of constant, estimate, honest"},
      {"id: X\nname: x\nclaim: 10\n", "a.yaml:3:8: must be a group of pattern"},
      {"id: X\nname: x\nidentities: {every: 0}\n", "identities.every: '0'; it must be a whole number from 1"},
      {"id: X\nid: Y\nname: x\n", "a.yaml:2:1: 'id' occurs twice"},
      {"id: X\nname: x\nversions: {count: 101}\n",
       "versions.count: '101'; it must be a whole number from 2 to 100"},
      {"id: X\nname: x\nabort: late\n", "abort: 'late'; it must be one of detach, never, project, user"},
      {"id: X\nname: x\nrehome: yes\nidentities: {every: 9}\n", "rehome and identities cannot be combined"},
      {"id: X\nname: x\none_account: yes\nidentities: {every: 9, new: account}\n",
       "one_account cannot be combined with new accounts"},
      {"name: x\n", "an attack needs `id` and `name`"},
      {"id: [\n", "invalid YAML"},
  };
  for (const auto& [text, message] : cases) {
    const auto read = lab::ParseAttack("a.yaml", text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_THAT(read.status().message(), HasSubstr(message));
  }
}

TEST(LabAttackFile, TheAttacksOfTheTreeAreValid) {
  const auto attacks = lab::ReadAttacks({COBBLESTONE_SOURCE_DIR "/config/attacks"});
  ASSERT_TRUE(attacks.ok()) << attacks.status().message();
  EXPECT_GE(attacks->size(), 15u);
}

// ---- Strategies ----------------------------------------------------------------------------------------

TEST(LabStrategy, ClaimsFollowTheirPattern) {
  using fleet::ClaimPattern;
  const auto factor = [](ClaimPattern pattern, std::uint32_t n) {
    const Attack attack{
        .start = 5, .pattern = pattern, .factor = 4, .growth = 2, .period = 3, .first_jobs = 2};
    return fleet::ClaimFactor(attack, n);
  };
  struct {
    ClaimPattern pattern;
    double factors[6];  // of the jobs 4 to 9; the attack begins at job 5
  } cases[] = {
      {ClaimPattern::kHonest, {1, 1, 1, 1, 1, 1}},         {ClaimPattern::kConstant, {1, 4, 4, 4, 4, 4}},
      {ClaimPattern::kRamp, {1, 1, 2, 4, 4, 4}},           {ClaimPattern::kSawtooth, {1, 1, 2, 4, 1, 2}},
      {ClaimPattern::kSpike, {1, 1, 1, 4, 1, 1}},          {ClaimPattern::kSandbag, {1, .25, .25, 1, 1, 1}},
      {ClaimPattern::kVolatility, {1, 4, .25, 4, .25, 4}},
  };
  for (const auto& [pattern, factors] : cases)
    for (std::uint32_t i = 0; i < 6; ++i)
      EXPECT_NEAR(factor(pattern, 4 + i), factors[i], 1e-12) << static_cast<int>(pattern) << " job " << 4 + i;
}

TEST(LabStrategy, AnAttackerKeepsTheSmallestAndFailsInTurn) {
  const Attack attack{.keep_share = 0.2, .fail_every = 4};
  EXPECT_EQ(fleet::FateOf(attack, 0, 0.19), fleet::JobFate::kComputed);
  EXPECT_EQ(fleet::FateOf(attack, 0, 0.21), fleet::JobFate::kUnwanted);
  EXPECT_EQ(fleet::FateOf(attack, 3, 0.1), fleet::JobFate::kFailed);
}

// The completions of the attacker's machine, in order; its hosts and accounts; and all other events, without its
// dispatches.
struct Seen {
  std::vector<credit::CompletionFacts> completions;
  std::set<std::uint64_t> hosts;
  std::set<std::uint64_t> accounts;
  std::vector<credit::CompletionFacts> dispatches;  // of attackers
  std::vector<credit::ValidationFacts> verdicts;    // about attackers
  std::vector<std::string> others;
};

struct Conditions {
  fleet::Replication replication = fleet::Replication::kSingle;
  double deadline_factor = 1;
  std::uint64_t attackers = 1;
  std::uint32_t versions = 1;
  bool trickles = false;
  std::uint64_t jobs = 40;
  std::uint64_t hosts = 10;
  double join = 0;
  std::function<double(std::uint64_t host, std::uint64_t app)> vouching = {};
};

Seen SeenOf(const Attack& attack, const Conditions& conditions = {}) {
  lab::LabOptions options;
  options.parameters = lab::LabParameters();
  options.parameters.deadline_factor = conditions.deadline_factor;
  options.hosts = conditions.hosts;
  options.jobs = conditions.jobs;
  options.join = conditions.join;
  fleet::FleetOptions made =
      lab::WorldOf(options, {.policy = "boinc", .replication = conditions.replication}, conditions.attackers,
                   attack, 3, {.versions = conditions.versions, .trickles = conditions.trickles});
  made.vouching = conditions.vouching;
  fleet::Fleet world(made, [](const fleet::Truth&) {});
  Seen seen;
  for (std::string_view bytes; world.Next(&bytes);) {
    const auto event = wire::ParseEvent(bytes);
    EXPECT_TRUE(event.ok());
    if (const auto* host = std::get_if<wire::HostMember>(&event->body);
        host != nullptr && host->host.value >= fleet::kFirstAttacker) {
      seen.hosts.insert(host->host.value);
      seen.accounts.insert(host->user.value);
    } else if (const auto* done = std::get_if<wire::Completion>(&event->body);
               done != nullptr && done->facts.host.value >= fleet::kFirstAttacker) {
      seen.completions.push_back(done->facts);
    } else if (const auto* sent = std::get_if<wire::Dispatch>(&event->body);
               sent == nullptr || sent->facts.host.value < fleet::kFirstAttacker) {
      seen.others.emplace_back(bytes);
      if (const auto* verdict = std::get_if<credit::ValidationFacts>(&event->body);
          verdict != nullptr && verdict->host.value >= fleet::kFirstAttacker)
        seen.verdicts.push_back(*verdict);
    } else {
      seen.dispatches.push_back(sent->facts);
    }
  }
  return seen;
}

TEST(LabStrategy, ABenchmarkChangesClaimsAndNothingElse) {
  const Seen twin = SeenOf({});
  const Seen attack =
      SeenOf({.pattern = fleet::ClaimPattern::kConstant, .channel = fleet::ClaimChannel::kBenchmark});
  ASSERT_EQ(attack.completions.size(), twin.completions.size());
  ASSERT_GT(twin.completions.size(), 20u);
  for (std::size_t i = 0; i < twin.completions.size(); ++i) {
    EXPECT_NEAR(attack.completions[i].peak_flops / twin.completions[i].peak_flops, 10, 1e-5);
    EXPECT_EQ(attack.completions[i].elapsed_time, twin.completions[i].elapsed_time);
  }
  ASSERT_GT(twin.others.size(), 500u);
  EXPECT_EQ(attack.others, twin.others);
}

TEST(LabStrategy, AReportedBenchmarkIsExact) {
  const Seen seen = SeenOf({.benchmark = 1e9});
  ASSERT_GT(seen.completions.size(), 20u);
  for (const auto& facts : seen.completions) EXPECT_EQ(facts.peak_flops, 1e9);
}

TEST(LabStrategy, UnwantedJobsEndAtTheirStartWithTheChosenStatus) {
  std::map<credit::Outcome, int> outcomes;
  for (const auto& facts : SeenOf({.keep_share = 0.5}).completions) ++outcomes[facts.outcome];
  EXPECT_GT(outcomes[credit::Outcome::kSuccess], 20);
  EXPECT_GT(outcomes[credit::Outcome::kAbortedByUser], 20);
  outcomes.clear();
  for (const auto& facts :
       SeenOf({.keep_share = 0.5, .unwanted = fleet::Unwanted::kAbortedByProject}).completions)
    ++outcomes[facts.outcome];
  EXPECT_GT(outcomes[credit::Outcome::kAbortedByProject], 20);
  EXPECT_EQ(outcomes[credit::Outcome::kAbortedByUser], 0);
}

TEST(LabStrategy, EveryEighthJobFails) {
  const Seen seen = SeenOf({.fail_every = 8});
  const auto failed = std::count_if(seen.completions.begin(), seen.completions.end(), [](const auto& facts) {
    return facts.outcome == credit::Outcome::kClientError;
  });
  EXPECT_EQ(failed, static_cast<std::ptrdiff_t>(seen.completions.size() / 8));
}

TEST(LabStrategy, ANewIdentityIsTheSameMachine) {
  const Seen twin = SeenOf({});
  for (const auto identity : {fleet::NewIdentity::kHost, fleet::NewIdentity::kAccount}) {
    const Seen seen = SeenOf({.recycle_every = 10, .identity = identity});
    EXPECT_GE(seen.hosts.size(), 3u);
    EXPECT_EQ(seen.accounts.size(), identity == fleet::NewIdentity::kHost ? 1u : seen.hosts.size());
    std::map<std::uint64_t, int> jobs;
    for (const auto& facts : seen.completions) {
      ++jobs[facts.host.value];
      EXPECT_EQ(facts.peak_flops, twin.completions[0].peak_flops);
    }
    for (const auto& [host, count] : jobs) EXPECT_LE(count, 10) << host;
  }
}

std::map<credit::Outcome, std::size_t> OutcomesOf(const Seen& seen) {
  std::map<credit::Outcome, std::size_t> outcomes;
  for (const auto& facts : seen.completions) ++outcomes[facts.outcome];
  return outcomes;
}

TEST(LabStrategy, WithheldJobsTimeOutAtTheirDeadlineAlsoThoseOfAnEarlierIdentity) {
  for (const std::uint32_t every : {0u, 10u}) {
    const Seen seen =
        SeenOf({.keep_share = 0.5, .unwanted = fleet::Unwanted::kWithheld, .recycle_every = every},
               {.deadline_factor = 0.05, .jobs = 80});  // half a day
    auto outcomes = OutcomesOf(seen);
    EXPECT_GT(outcomes[credit::Outcome::kSuccess], 20u);
    EXPECT_GT(outcomes[credit::Outcome::kTimeout], 20u);
    EXPECT_EQ(outcomes.size(), 2u);
    for (const auto& facts : seen.completions) {
      if (facts.outcome != credit::Outcome::kTimeout) continue;
      EXPECT_EQ(facts.received_time, facts.sent_time + 43200);
    }
    EXPECT_EQ(seen.hosts.size() > 1, every > 0);
  }
}

TEST(LabStrategy, WithheldJobsAreInProgressUntilTheirDeadline) {
  const auto sent = [](double deadline_factor) {
    const Seen seen = SeenOf({.keep_share = 0.01, .unwanted = fleet::Unwanted::kWithheld},
                             {.deadline_factor = deadline_factor});
    return seen.dispatches.size();
  };
  // The limit of jobs in progress is 16.
  EXPECT_GE(sent(100), 16u);
  EXPECT_LE(sent(100), 18u);
  EXPECT_GT(sent(0.01), 60u);
}

TEST(LabStrategy, DetachedJobsAreErrorsAndTheirWorkunitsGoToOthers) {
  const Seen seen = SeenOf({.keep_share = 0.5, .unwanted = fleet::Unwanted::kDetached});
  auto outcomes = OutcomesOf(seen);
  EXPECT_GT(outcomes[credit::Outcome::kClientError], 20u);
  EXPECT_EQ(outcomes.size(), 2u);
  std::set<std::uint64_t> ended;
  for (const auto& facts : seen.completions) {
    if (facts.outcome == credit::Outcome::kClientError) ended.insert(facts.workunit.value);
  }
  std::size_t sent_again = 0;
  for (const std::string& bytes : seen.others) {
    const auto event = wire::ParseEvent(bytes);
    const auto* sent = std::get_if<wire::Dispatch>(&event->body);
    sent_again += sent != nullptr && ended.contains(sent->facts.workunit.value) ? 1 : 0;
  }
  EXPECT_GT(sent_again, 5u);
}

TEST(LabExperiment, TheShareOfTheLaboratoryReplacesThatOfTheAttack) {
  const lab::NamedAttack attack{.share = 0.02};
  EXPECT_EQ(lab::AttackersOf({.hosts = 300}, attack), 6u);
  EXPECT_EQ(lab::AttackersOf({.hosts = 300, .share = 0.05}, attack), 15u);
  EXPECT_EQ(lab::AttackersOf({.hosts = 20}, attack), 1u) << "at least one";
}

TEST(LabStrategy, AttackersJoinOnTheDayThatTheLaboratorySays) {
  const Seen seen = SeenOf({}, {.join = 2});
  ASSERT_GT(seen.dispatches.size(), 20u);
  EXPECT_GE(seen.dispatches.front().sent_time, 1.7e9 + 2 * 86400);
}

// Twelve machines that abort four jobs in five are sent so many that they meet in workunits.
TEST(LabStrategy, AdvisedReplicationSendsNoWorkunitToTwoHostsThatNothingVouchesFor) {
  const auto met = [](fleet::Replication replication) {
    const Seen seen = SeenOf({.keep_share = 0.2}, {.replication = replication,
                                                   .attackers = 12,
                                                   .hosts = 60,
                                                   .join = 2,
                                                   .vouching = [](std::uint64_t host, std::uint64_t) {
                                                     return host < fleet::kFirstAttacker ? 100.0 : 0.0;
                                                   }});
    std::map<std::uint64_t, int> results;
    for (const auto& verdict : seen.verdicts) ++results[verdict.workunit.value];
    EXPECT_GT(results.size(), 100u);
    return std::count_if(results.begin(), results.end(), [](const auto& count) { return count.second > 1; });
  };
  EXPECT_GT(met(fleet::Replication::kQuorum), 100);
  EXPECT_EQ(met(fleet::Replication::kAdvised), 0);
}

TEST(LabStrategy, LateResultsReturnAfterTheDecision) {
  const Seen seen = SeenOf({.late_every = 4}, {.deadline_factor = 0.1, .jobs = 100});
  auto outcomes = OutcomesOf(seen);
  EXPECT_GE(outcomes[credit::Outcome::kTimeout], 5u);
  const auto late = std::count_if(seen.verdicts.begin(), seen.verdicts.end(),
                                  [](const auto& verdict) { return verdict.late; });
  EXPECT_GE(late, 3);
}

TEST(LabStrategy, TheBetterHostOfAnAccountReportsTheResultsOfBoth) {
  const Seen seen = SeenOf({.rehome = true}, {.attackers = 2});
  std::set<std::uint64_t> sent;
  std::set<std::uint64_t> reported;
  std::set<std::uint64_t> judged;
  for (const auto& facts : seen.dispatches) sent.insert(facts.host.value);
  for (const auto& facts : seen.completions) reported.insert(facts.host.value);
  for (const auto& verdict : seen.verdicts) judged.insert(verdict.host.value);
  EXPECT_EQ(sent.size(), 2u);
  EXPECT_EQ(reported.size(), 1u);
  EXPECT_EQ(judged, reported);
  EXPECT_EQ(seen.accounts.size(), 1u);
}

TEST(LabStrategy, MachinesOfOneAccountShareNoWorkunit) {
  // 10 honest hosts and 10 attackers: of two results of a workunit, two attackers' are common.
  const auto shared = [](const Attack& attack) {
    const Seen seen = SeenOf(attack, {.replication = fleet::Replication::kQuorum, .attackers = 10});
    std::map<std::uint64_t, int> results;
    for (const auto& verdict : seen.verdicts) ++results[verdict.workunit.value];
    EXPECT_GT(results.size(), 100u);
    EXPECT_EQ(seen.accounts.size(), attack.one_account ? 1u : 10u);
    return std::count_if(results.begin(), results.end(), [](const auto& count) { return count.second > 1; });
  };
  EXPECT_GT(shared({}), 30);
  EXPECT_EQ(shared({.one_account = true}), 0);
}

TEST(LabStrategy, AVersionHopperUsesEachVersionInTurn) {
  const Seen seen = SeenOf({.version_every = 7}, {.versions = 3});
  ASSERT_GT(seen.dispatches.size(), 30u);
  std::vector<std::int64_t> versions;
  for (const auto& facts : seen.dispatches) versions.push_back(facts.version.value);
  EXPECT_EQ(std::set<std::int64_t>(versions.begin(), versions.end()).size(), 3u);
  for (std::size_t i = 0; i + 21 < versions.size(); ++i) {
    EXPECT_EQ(versions[i], versions[i + 21]);
    EXPECT_NE(versions[i], versions[i + 7]);
  }
}

TEST(LabStrategy, ReportsAndVerdictsAreRepeatedAndReplayed) {
  std::map<std::uint64_t, int> reports;
  for (const auto& facts : SeenOf({.repeat = 2}).completions) ++reports[facts.result.value];
  ASSERT_GT(reports.size(), 30u);
  EXPECT_EQ(reports.begin()->second, 4);  // once, twice again, and replayed
  for (const auto& [result, count] : reports) EXPECT_GE(count, 3) << result;
}

TEST(LabStrategy, ATrickleFloodClaimsMoreThanTheTimeSinceTheDispatch) {
  const auto trickles_of = [](const Attack& attack) {
    std::vector<double> elapsed;
    for (const std::string& bytes : SeenOf(attack, {.trickles = true}).others) {
      const auto event = wire::ParseEvent(bytes);
      const auto* trickle = std::get_if<wire::Trickle>(&event->body);
      if (trickle != nullptr && trickle->host.value >= fleet::kFirstAttacker)
        elapsed.push_back(*trickle->elapsed_time);
    }
    return elapsed;
  };
  const std::vector<double> honest = trickles_of({});
  const std::vector<double> flood = trickles_of({.trickles = 5});
  ASSERT_GT(honest.size(), 30u);
  EXPECT_EQ(flood.size(), honest.size() * 5);
  EXPECT_LT(*std::max_element(honest.begin(), honest.end()), 86400);
  EXPECT_GE(*std::min_element(flood.begin(), flood.end()), 360000);
}

// Under settlement `keep` a job earns what it is worth, or what its trickles were paid if that is more.
TEST(LabOutcome, PaymentsByTricklesBelongToTheirJob) {
  lab::LabOptions options;
  options.parameters = lab::LabParameters();
  options.hosts = 20;
  options.jobs = 20;
  const auto run = [&](bool trickles) {
    return lab::RunWorld(lab::WorldOf(options, {.policy = "none"}, 1, {}, 1, {.trickles = trickles}));
  };
  const auto without = run(false);
  const auto with = run(true);
  ASSERT_TRUE(with.ok()) << with.status().message();
  ASSERT_GT(with->jobs.size(), 300u);
  ASSERT_EQ(with->jobs.size(), without->jobs.size());
  std::size_t more = 0;
  for (std::size_t i = 0; i < with->jobs.size(); ++i) {
    EXPECT_EQ(with->jobs[i].host, without->jobs[i].host);
    EXPECT_GE(with->jobs[i].granted, without->jobs[i].granted - 1e-5);
    more += with->jobs[i].granted > without->jobs[i].granted * 1.1 ? 1 : 0;
  }
  EXPECT_GT(more, 100u);
}

TEST(LabStrategy, ReportsOfAMachineAreWhatTheAttackSaysAndGrantNothing) {
  lab::LabOptions options;
  options.parameters = lab::LabParameters();
  options.hosts = 10;
  options.jobs = 80;
  const auto world_of = [&](const Attack& attack) {
    return lab::WorldOf(options, {.policy = "robust"}, 1, attack, 1, {.reports = true});
  };
  const auto reports_of = [&](const Attack& attack) {
    std::vector<wire::EstimatedCredit> reports;
    fleet::Fleet world(world_of(attack), {});
    for (std::string_view bytes; world.Next(&bytes);) {
      const auto event = wire::ParseEvent(bytes);
      const auto* report = std::get_if<wire::EstimatedCredit>(&event->body);
      if (report != nullptr && report->machine >= fleet::kFirstAttacker) reports.push_back(*report);
    }
    return reports;
  };
  const auto honest = reports_of({});
  const auto attack = reports_of({.reports = 1000});
  ASSERT_GE(honest.size(), 3u);
  ASSERT_EQ(attack.size(), honest.size());
  EXPECT_EQ(attack.back().cpus, 1000 * honest.back().cpus);
  EXPECT_EQ(attack.back().cpu_flops, 1000 * honest.back().cpu_flops);
  ASSERT_GT(honest.back().counters.at(0).credit, 0);
  EXPECT_NEAR(attack.back().counters[0].credit / honest.back().counters[0].credit, 1e6, 1);
  EXPECT_EQ(attack.back().counters[0].jobs, honest.back().counters[0].jobs);

  const auto twin = lab::RunWorld(world_of({}));
  const auto granted = lab::RunWorld(world_of({.reports = 1000}));
  ASSERT_TRUE(twin.ok() && granted.ok());
  ASSERT_GT(twin->jobs.size(), 300u);
  ASSERT_EQ(granted->jobs.size(), twin->jobs.size());
  for (std::size_t i = 0; i < twin->jobs.size(); ++i) {
    EXPECT_EQ(granted->jobs[i].host, twin->jobs[i].host);
    EXPECT_EQ(granted->jobs[i].granted, twin->jobs[i].granted);
  }
}

TEST(LabStrategy, AnAnonymousAttackerRunsAnAnonymousVersion) {
  for (const auto& facts : SeenOf({.anonymous = true}).dispatches) EXPECT_EQ(facts.version.value, -2);
}

// PFC/E of each job is `factor` times the mean of the machine's version, as far as the time since the dispatch allows.
TEST(LabStrategy, ReportedTimesAreThoseOfTheMeanJob) {
  const Seen seen = SeenOf({.pattern = fleet::ClaimPattern::kEstimate, .factor = 0.5});
  ASSERT_GT(seen.completions.size(), 30u);
  double greatest = 0;
  for (const auto& facts : seen.completions) greatest = std::max(greatest, facts.elapsed_time);
  const auto equal = std::count_if(seen.completions.begin(), seen.completions.end(),
                                   [&](const auto& facts) { return facts.elapsed_time == greatest; });
  EXPECT_GT(equal, static_cast<std::ptrdiff_t>(seen.completions.size() / 2));
}

TEST(LabStrategy, ASleeperBuildsUpAfterEachInvalidResult) {
  const Seen seen =
      SeenOf({.fabricate = true, .build = 5}, {.replication = fleet::Replication::kQuorum, .jobs = 200});
  std::size_t valid = 0;
  std::size_t invalid = 0;
  for (const auto& verdict : seen.verdicts) {
    valid += verdict.state == credit::ValidateState::kValid ? 1 : 0;
    invalid += verdict.state == credit::ValidateState::kInvalid ? 1 : 0;
    EXPECT_TRUE(valid >= 5 || invalid == 0);
  }
  EXPECT_GE(valid, 10u);
  EXPECT_GE(invalid, 2u);
}

// ---- Worlds --------------------------------------------------------------------------------------------

// What the honest hosts of a world show.
struct Population {
  std::map<std::int64_t, int> versions;          // successful results
  std::map<bool, std::vector<double>> deserved;  // by GPU
  std::vector<double> halves[2];
  std::set<std::uint64_t> hosts;
  std::set<double> peaks;
  double failed = 0;
};

Population PopulationOf(lab::World world, const std::vector<std::string>& changes = {}) {
  lab::LabOptions options;
  options.parameters = lab::LabParameters();
  options.changes = changes;
  options.hosts = 30;
  options.jobs = 40;
  const fleet::FleetOptions made = lab::WorldOf(
      options, {.policy = "boinc", .sizes = fleet::SizeModel::kAccurate, .world = world}, 1, {}, 1);
  Population seen;
  std::map<std::uint64_t, double> deserved;
  fleet::Fleet fleet(
      made, [&](const fleet::Truth& row) { deserved[row.result] = static_cast<double>(row.deserved_micro); });
  std::size_t all = 0;
  for (std::string_view bytes; fleet.Next(&bytes);) {
    const auto event = wire::ParseEvent(bytes);
    if (const auto* host = std::get_if<wire::HostMember>(&event->body)) seen.hosts.insert(host->host.value);
    const auto* done = std::get_if<wire::Completion>(&event->body);
    if (done == nullptr) continue;
    ++all;
    if (done->facts.outcome != credit::Outcome::kSuccess) {
      ++seen.failed;
      continue;
    }
    const std::int64_t version = done->facts.version.value;
    ++seen.versions[version];
    seen.peaks.insert(done->facts.peak_flops);
    const bool gpu = version > 0 && version % 10 > 1;
    // Deserved credit is set after the completion: read when all is over.
    seen.deserved[gpu].push_back(static_cast<double>(done->facts.result.value));
    const double part = (done->facts.sent_time - made.start_time) / (made.days * 86400);
    if (part < 0.4 || part > 0.5)
      seen.halves[part > 0.5 ? 1 : 0].push_back(static_cast<double>(done->facts.result.value));
  }
  seen.failed /= static_cast<double>(all);
  const auto look_up = [&](std::vector<double>& results) {
    for (double& result : results) result = deserved.at(static_cast<std::uint64_t>(result));
  };
  for (auto& [gpu, results] : seen.deserved) look_up(results);
  for (auto& half : seen.halves) look_up(half);
  return seen;
}

double MeanOf(const std::vector<double>& values) { return lab::SpreadOf(values).mean; }

TEST(LabWorld, EachWorldHasWhatItsNameSays) {
  using lab::World;
  const Population uniform = PopulationOf(World::kUniform);
  EXPECT_EQ(uniform.hosts.size(), 31u);
  EXPECT_EQ(uniform.versions.size(), 1u);
  EXPECT_EQ(uniform.failed, 0);
  EXPECT_NEAR(MeanOf(uniform.halves[1]) / MeanOf(uniform.halves[0]), 1, 0.05);

  const Population mixed = PopulationOf(World::kMixed);
  EXPECT_GT(*mixed.peaks.rbegin() / *mixed.peaks.begin(), 3);
  EXPECT_EQ(mixed.versions.count(-2), 1u);  // anonymous

  EXPECT_GT(PopulationOf(World::kNewHosts).hosts.size(), 60u);

  const Population gpu = PopulationOf(World::kGpu);
  ASSERT_GT(gpu.deserved.at(true).size(), 100u);
  ASSERT_GT(gpu.deserved.at(false).size(), 100u);
  EXPECT_NEAR(MeanOf(gpu.deserved.at(false)) / MeanOf(gpu.deserved.at(true)), 1, 0.05);

  const Population sized = PopulationOf(World::kLongOnCpu);
  EXPECT_NEAR(MeanOf(sized.deserved.at(false)) / MeanOf(sized.deserved.at(true)), 4, 0.2);

  const Population released = PopulationOf(World::kNewVersion);
  EXPECT_EQ(released.versions.size(), 2u);
  for (const auto& [version, results] : released.versions) EXPECT_GT(results, 200) << version;

  EXPECT_NEAR(PopulationOf(World::kUnreliable).failed, 0.15, 0.08);  // the rate varies over hosts

  const Population step = PopulationOf(World::kSizeStep);
  EXPECT_NEAR(MeanOf(step.halves[1]) / MeanOf(step.halves[0]), 2, 0.1);

  const Population only = PopulationOf(World::kGpuOnly);
  EXPECT_EQ(only.deserved.count(false), 0u);
  EXPECT_GT(only.deserved.at(true).size(), 100u);

  const Population two = PopulationOf(World::kTwoVersions);
  EXPECT_EQ(two.versions.size(), 2u);
  for (const auto& [version, results] : two.versions)
    EXPECT_GT(results, 0.4 * static_cast<double>(uniform.versions.begin()->second)) << version;
}

TEST(LabWorld, AChangedParameterAppliesToEveryWorld) {
  EXPECT_EQ(PopulationOf(lab::World::kUnreliable, {"error_rate=0"}).failed, 0);
  EXPECT_EQ(PopulationOf(lab::World::kGpuOnly, {"gpu_hosts=0"}).versions.size(), 0u);
}

TEST(LabWorld, HostScaleCheckIsTheFlagOfTheApp) {
  const auto flag = [](const std::vector<std::string>& changes) {
    lab::LabOptions options;
    options.parameters = lab::LabParameters();
    options.hosts = 10;
    options.jobs = 10;
    options.changes = changes;
    fleet::Fleet world(lab::WorldOf(options, {.policy = "boinc"}, 1, {}, 3, {}), [](const fleet::Truth&) {});
    for (std::string_view bytes; world.Next(&bytes);) {
      const auto event = wire::ParseEvent(bytes);
      if (const auto* app = std::get_if<wire::AppChange>(&event->body)) return app->host_scale_check;
    }
    ADD_FAILURE() << "no app";
    return false;
  };
  EXPECT_FALSE(flag({}));
  EXPECT_TRUE(flag({"host_scale_check=1"}));
}

TEST(LabWorld, ConditionsNameTheirWorldUnlessItIsUniform) {
  lab::Condition condition{.policy = "boinc"};
  EXPECT_EQ(NameOf(condition), "boinc, single replication, noisy sizes");
  condition.world = *lab::WorldByName("gpu-only");
  EXPECT_EQ(NameOf(condition), "boinc, single replication, noisy sizes, world gpu-only");
  EXPECT_THAT(lab::WorldByName("flat").status().message(), HasSubstr("known are uniform, mixed, new-hosts"));
}

// ---- Threads -------------------------------------------------------------------------------------------

// docs/lab.md, "Policy boinc against a model of BOINC's rules": the two rows that converge with few hosts and jobs. The bounds are
// those that the section states, 0.03 around the model.
TEST(LabAgainstModel, GriefersEarnAndCostWhatTheModelOfBoincSays) {
  const auto attacks = lab::ReadAttacks({COBBLESTONE_SOURCE_DIR "/config/attacks/model/a14-griefing.yaml"});
  ASSERT_TRUE(attacks.ok()) << attacks.status().message();
  lab::LabOptions options;
  options.parameters = lab::LabParameters();
  options.attacks = *attacks;
  options.hosts = 60;
  options.jobs = 200;
  options.seeds = 2;
  options.conditions = {
      {.policy = "boinc", .replication = fleet::Replication::kSingle, .world = lab::World::kTwoVersions},
      {.policy = "boinc", .replication = fleet::Replication::kQuorum, .world = lab::World::kTwoVersions}};
  const auto measured = RunLaboratory(options);
  ASSERT_TRUE(measured.ok()) << measured.status().message();
  const auto gain = [&](std::size_t condition) {
    return ((*measured)[condition].seeds[0].gain + (*measured)[condition].seeds[1].gain) / 2;
  };
  EXPECT_NEAR(gain(0), 0.01, 0.03);
  EXPECT_NEAR(gain(1), 0.59, 0.03);
}

TEST(LabParallel, EachIndexRunsOnceAndTheLeastFailureIsTheResult) {
  for (const unsigned threads : {1u, 2u, 7u}) {
    std::vector<std::atomic<int>> runs(100);
    const auto count = [&](std::size_t i) {
      ++runs[i];
      return Status::Ok();
    };
    EXPECT_TRUE(lab::RunInParallel(runs.size(), threads, count).ok());
    EXPECT_TRUE(std::all_of(runs.begin(), runs.end(), [](const auto& n) { return n == 1; }));
    const auto fail = [&](std::size_t i) {
      ++runs[i];
      return i >= 20 ? Status::Fatal("index " + std::to_string(i)) : Status::Ok();
    };
    EXPECT_EQ(lab::RunInParallel(runs.size(), threads, fail).message(), "index 20");
    EXPECT_TRUE(std::all_of(runs.begin() + 30, runs.end(), [](const auto& n) { return n == 1; }));
  }
  EXPECT_TRUE(lab::RunInParallel(0, 2, [](std::size_t) { return Status::Fatal("called"); }).ok());
}

// ---- Replication ---------------------------------------------------------------------------------------

// n is the number of replicated valid results of the host, the draw that of the host and its job.
TEST(LabReplication, AdvisedReplicatesByTheHostsOwnDrawAndHistory) {
  lab::LabOptions options;
  options.parameters = lab::LabParameters();
  options.parameters.wrong_rate = 0.02;
  options.parameters.error_rate = 0.1;  // failures do not lower n
  options.parameters.hold_single = 0;   // which makes single results replicated ones
  options.hosts = 10;
  options.jobs = 100;
  const lab::Condition condition{.policy = "robust", .replication = fleet::Replication::kAdvised};
  fleet::Fleet world(lab::WorldOf(options, condition, 1, {}, 3), nullptr);
  const fleet::Draws draws(3);
  std::map<std::uint64_t, std::uint32_t> jobs;      // of a host
  std::map<std::uint64_t, std::uint32_t> verified;  // of a host
  std::map<std::uint64_t, bool> single;             // by workunit, as drawn
  std::map<bool, int> decided;
  int caught = 0;
  for (std::string_view bytes; world.Next(&bytes);) {
    const auto event = wire::ParseEvent(bytes);
    ASSERT_TRUE(event.ok());
    if (const auto* sent = std::get_if<wire::Dispatch>(&event->body)) {
      const std::uint64_t host = sent->facts.host.value;
      const double u = draws.Uniform(fleet::Stream::kReplicate, host, jobs[host]++);
      single.emplace(sent->facts.workunit.value, u >= 1 / (1 + 0.1 * verified[host]));
    } else if (const auto* seen = std::get_if<credit::ValidationFacts>(&event->body)) {
      if (seen->state == credit::ValidateState::kInconclusive || seen->late) continue;
      const bool valid = seen->state == credit::ValidateState::kValid;
      if (valid) {
        EXPECT_EQ(seen->unreplicated, single.at(seen->workunit.value));
        ++decided[seen->unreplicated];
      }
      std::uint32_t& n = verified[seen->host.value];
      caught += valid ? 0 : 1;
      n = !valid ? 0 : seen->unreplicated ? n : n + 1;
    }
  }
  EXPECT_GT(decided[true], 300);
  EXPECT_GT(decided[false], 300);
  EXPECT_GT(caught, 0);
}

// A host that invents results as fast as it likes gets none of them granted after it has returned one that is checked.
TEST(LabReplication, SingleResultsWaitForTheVerdictOnAllThatTheirHostReturnedBefore) {
  lab::LabOptions options;
  options.parameters = lab::LabParameters();
  options.changes = {"wrong_rate=0.02"};
  options.hosts = 10;
  options.jobs = 100;
  const lab::Condition condition{.policy = "robust", .replication = fleet::Replication::kAdvised};
  const Attack sleeper{.fabricate = true, .fabricate_share = 0.2, .build = 10, .recycle_every = 100};
  fleet::Fleet world(lab::WorldOf(options, condition, 1, sleeper, 3), [](const fleet::Truth&) {});
  struct Returned {
    std::size_t at = 0;      // event
    std::size_t judged = 0;  // event; 0: never, or when it was late
    bool single = false;
  };
  std::map<std::uint64_t, std::map<std::uint64_t, Returned>> hosts;  // by result
  std::size_t number = 0;
  int invalid = 0;
  for (std::string_view bytes; world.Next(&bytes);) {
    ++number;
    const auto event = wire::ParseEvent(bytes);
    if (const auto* back = std::get_if<wire::Completion>(&event->body)) {
      hosts[back->facts.host.value][back->facts.result.value].at = number;
    } else if (const auto* seen = std::get_if<credit::ValidationFacts>(&event->body);
               seen != nullptr && !seen->late && seen->state != credit::ValidateState::kInconclusive) {
      Returned& result = hosts[seen->host.value][seen->result.value];
      result.judged = number;
      result.single = seen->unreplicated;
      invalid += seen->state == credit::ValidateState::kInvalid ? 1 : 0;
    }
  }
  int singles = 0;
  for (const auto& [host, results] : hosts) {
    for (const auto& [number_of_single, single] : results) {
      if (!single.single) continue;
      ++singles;
      for (const auto& [number_of_other, other] : results) {
        if (other.single || other.judged == 0) continue;
        if (other.at < single.at) EXPECT_LT(other.judged, single.judged) << "host " << host;
      }
    }
  }
  EXPECT_GT(singles, 200);
  EXPECT_GT(invalid, 5);
}

}  // namespace
}  // namespace cobblestone
