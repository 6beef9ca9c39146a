// The simulated fleet: the same bytes for the same options, twins that differ only where an attacker acts, events that the
// pipeline accepts, and populations with the parameters that docs/fleet.md states. Bounds of samples are five standard
// errors, computed from their sizes.
#include "services/fleet/fleet.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "common/stream/hash128.h"
#include "common/wire/events/event_check.h"
#include "common/wire/events/event_codec.h"
#include "services/events/event_file.h"
#include "services/fleet/truth_file.h"
#include "services/replay/replay.h"

namespace cobblestone {

using fleet::Attack;
using fleet::Fleet;
using fleet::FleetOptions;
using fleet::HostTraits;
using fleet::kFirstAttacker;
using fleet::Preset;
using fleet::Truth;

namespace {

struct World {
  std::vector<std::string> events;
  std::vector<Truth> truth;
  fleet::FleetCounts counts;
};

World RunOf(const FleetOptions& options) {
  World run;
  Fleet world(options, [&](const Truth& row) { run.truth.push_back(row); });
  for (std::string_view event; world.Next(&event);) run.events.emplace_back(event);
  std::string_view none;
  EXPECT_FALSE(world.Next(&none));  // the end is permanent
  run.counts = world.counts();
  return run;
}

stream::Hash128 HashOf(const std::vector<std::string>& events) {
  stream::Hash128 hash;
  for (const std::string& event : events) hash = stream::HashBytes(event, hash.low ^ (hash.high * 3));
  return hash;
}

// Small, with everything that can happen in it.
FleetOptions Busy(Preset preset) {
  FleetOptions options;
  options.like = preset;
  options.parameters = fleet::ParametersOf(preset);
  options.parameters.lifetime_scale = 20;
  options.parameters.reset_interval = 10;
  options.parameters.release_interval = 7;
  options.parameters.wrong_rate = 0.05;
  options.parameters.always_on = 0.1;
  options.parameters.random_on = 0.8;
  options.parameters.deadline_factor = 0.15;  // about two days: many results are late
  options.parameters.gpu_hosts = 0.2;
  options.hosts = 40;
  options.days = 20;
  options.attackers = 2;
  options.attack = *fleet::AttackByName("fabricate");
  return options;
}

wire::Event Parsed(const std::string& bytes) {
  auto event = wire::ParseEvent(bytes);
  EXPECT_TRUE(event.ok());
  return *event;
}

// The host that an event is about; 0: none.
std::uint64_t HostOf(const wire::Event& event) {
  if (const auto* body = std::get_if<wire::HostMember>(&event.body)) return body->host.value;
  if (const auto* body = std::get_if<wire::Dispatch>(&event.body)) return body->facts.host.value;
  if (const auto* body = std::get_if<wire::Completion>(&event.body)) return body->facts.host.value;
  if (const auto* body = std::get_if<credit::ValidationFacts>(&event.body)) return body->host.value;
  if (const auto* body = std::get_if<wire::Trickle>(&event.body)) return body->host.value;
  if (const auto* body = std::get_if<wire::EstimatedCredit>(&event.body)) return body->host.value;
  return 0;
}

TEST(Fleet, TheSameOptionsGiveTheSameBytesAnotherSeedDoesNot) {
  FleetOptions options = Busy(Preset::kEinstein);
  const World once = RunOf(options);
  EXPECT_EQ(HashOf(once.events), HashOf(RunOf(options).events));
  options.seed = 2;
  EXPECT_NE(HashOf(once.events), HashOf(RunOf(options).events));
}

// The bytes are promised for every machine: reports name a seed, not a file.
TEST(Fleet, SeedOneAlwaysGivesTheSameBytes) {
  FleetOptions options;
  options.hosts = 50;
  options.days = 5;
  const World run = RunOf(options);
  const stream::Hash128 hash = HashOf(run.events);
  EXPECT_EQ(run.events.size(), 53975u);
  EXPECT_EQ(hash.low, 2178608693106388176u);
  EXPECT_EQ(hash.high, 597064504184354365u);
}

TEST(Fleet, EventsAreWellFormedAndInOrderOfTime) {
  for (const Preset preset : {Preset::kEinstein, Preset::kSeti, Preset::kLhc}) {
    double last = 0;
    for (const std::string& bytes : RunOf(Busy(preset)).events) {
      const wire::Event event = Parsed(bytes);
      EXPECT_FALSE(wire::CheckEvent(event));
      EXPECT_GE(event.head.time, last);
      last = event.head.time;
    }
  }
}

TEST(Fleet, ReplayAcceptsEveryEvent) {
  const std::string file = testing::TempDir() + "fleet.pb";
  for (const Preset preset : {Preset::kEinstein, Preset::kSeti, Preset::kLhc}) {
    const World run = RunOf(Busy(preset));
    // Everything that the simulator knows happens in this world.
    EXPECT_GT(run.counts.resends + (preset == Preset::kLhc ? 1 : 0), 0u);
    EXPECT_GT(run.counts.late, 0u);
    EXPECT_GT(run.counts.timeouts, 0u);
    EXPECT_GT(run.counts.failures, 0u);
    EXPECT_GT(run.counts.invalid, 0u);
    EXPECT_GT(run.counts.inconclusive, 0u);
    EXPECT_GT(run.counts.trickles, 0u);
    EXPECT_GT(run.counts.reports, 0u);
    auto writer = events::EventWriter::Open(file);
    ASSERT_TRUE(writer.ok());
    for (const std::string& event : run.events) ASSERT_TRUE((*writer)->Write(event).ok());
    ASSERT_TRUE((*writer)->Close().ok());
    const auto summary = replay::Replay({.file = file});
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    EXPECT_EQ(summary->refused, 0u);
    EXPECT_EQ(summary->bad_lines, 0u);
    EXPECT_GT(summary->first.grants, 100u);
    // A workunit's claims may be all there at the end, so each valid result has its grant.
    EXPECT_EQ(summary->first.grants, run.counts.valid);
  }
  std::filesystem::remove(file);
}

TEST(Fleet, AnAttackThatChangesReportsOnlyChangesNoEventOfAnHonestHost) {
  FleetOptions options = Busy(Preset::kEinstein);
  options.attack = *fleet::AttackByName("inflate");
  const World attack = RunOf(options);
  options.attack = Attack{};
  const World twin = RunOf(options);
  ASSERT_EQ(attack.events.size(), twin.events.size());
  std::size_t changed = 0;
  for (std::size_t i = 0; i < twin.events.size(); ++i) {
    if (attack.events[i] == twin.events[i]) continue;
    ++changed;
    EXPECT_GE(HostOf(Parsed(twin.events[i])), kFirstAttacker);
  }
  EXPECT_GT(changed, 10u);
}

// Jobs go to whoever asks, so another host changes who gets which job. What a host is, and what happens to its n-th job, is
// its own.
TEST(Fleet, AnAttackerChangesNoDrawOfAnHonestHost) {
  FleetOptions options = Busy(Preset::kLhc);
  const auto of_hosts = [](const World& run) {
    std::map<std::uint64_t, std::string> hosts;
    for (const std::string& bytes : run.events) {
      const wire::Event event = Parsed(bytes);
      const auto* host = std::get_if<wire::HostMember>(&event.body);
      if (host != nullptr && host->host.value < kFirstAttacker) hosts[host->host.value] += bytes;
    }
    return hosts;
  };
  const auto with = of_hosts(RunOf(options));
  EXPECT_GT(with.size(), options.hosts + 10);  // hosts that replace others, too
  options.attackers = 0;
  EXPECT_EQ(with, of_hosts(RunOf(options)));
  const fleet::Draws draws(options.seed);
  EXPECT_EQ(draws.Bits(fleet::Stream::kFate, 7, 3),
            fleet::Draws(options.seed).Bits(fleet::Stream::kFate, 7, 3));
}

// What each event of a result says agrees with the others.
TEST(Fleet, ResultsLiveOneConsistentLife) {
  for (const Preset preset : {Preset::kEinstein, Preset::kSeti, Preset::kLhc}) {
    FleetOptions options = Busy(preset);
    options.projects = 1;
    const World run = RunOf(options);
    struct Life {
      wire::Dispatch dispatch;
      int successes = 0;
      int verdicts = 0;
    };
    std::map<std::uint64_t, Life> lives;
    std::map<std::uint64_t, std::set<std::uint64_t>> users_of_workunit;
    std::map<std::uint64_t, std::uint64_t> user_of_host;
    for (const std::string& bytes : run.events) {
      const wire::Event event = Parsed(bytes);
      if (const auto* host = std::get_if<wire::HostMember>(&event.body))
        user_of_host[host->host.value] = host->user.value;
      if (const auto* dispatch = std::get_if<wire::Dispatch>(&event.body)) {
        Life& life = lives[dispatch->facts.result.value];
        const bool again = life.dispatch.facts.host.value != 0;
        EXPECT_TRUE(!again || life.dispatch.facts.host == dispatch->facts.host);
        life.dispatch = *dispatch;
        EXPECT_TRUE(again || users_of_workunit[dispatch->facts.workunit.value]
                                 .insert(user_of_host[dispatch->facts.host.value])
                                 .second)
            << "a user is sent a workunit twice, although the first result failed";
      }
      if (const auto* done = std::get_if<wire::Completion>(&event.body)) {
        Life& life = lives[done->facts.result.value];
        EXPECT_EQ(life.dispatch.facts.host, done->facts.host);
        EXPECT_EQ(life.dispatch.facts.sent_time, done->facts.sent_time);
        EXPECT_EQ(life.dispatch.facts.peak_flops, done->facts.peak_flops);
        EXPECT_EQ(life.successes, 0);
        if (done->facts.outcome != credit::Outcome::kSuccess) continue;
        ++life.successes;
        // Elapsed time is wall time: it fits between dispatch and report (as a float, sent and received in whole seconds).
        EXPECT_LE(done->facts.elapsed_time, done->facts.received_time - done->facts.sent_time + 2);
      }
      if (const auto* verdict = std::get_if<credit::ValidationFacts>(&event.body)) {
        Life& life = lives[verdict->result.value];
        EXPECT_EQ(life.successes, 1);
        EXPECT_EQ(life.verdicts, 0);
        life.verdicts += verdict->state == credit::ValidateState::kInconclusive ? 0 : 1;
      }
    }
    EXPECT_GT(lives.size(), 500u);
  }
}

// A project cannot know that two accounts share a machine, so it may send one of them the workunit of the other.
TEST(Fleet, ANewAccountOfAnAttackerIsAnotherUser) {
  FleetOptions options = Busy(Preset::kSeti);
  options.projects = 1;
  options.attack = {.late_every = 2, .recycle_every = 5, .identity = fleet::NewIdentity::kAccount};
  const World run = RunOf(options);
  std::map<std::uint64_t, std::uint64_t> user_of_host;
  std::map<std::pair<std::uint64_t, std::uint64_t>, wire::Dispatch> sent;  // by workunit and machine
  std::set<std::uint64_t> returned;
  int again = 0;
  for (const std::string& bytes : run.events) {
    const wire::Event event = Parsed(bytes);
    if (const auto* host = std::get_if<wire::HostMember>(&event.body))
      user_of_host[host->host.value] = host->user.value;
    if (const auto* done = std::get_if<wire::Completion>(&event.body);
        done && done->facts.outcome == credit::Outcome::kSuccess)
      returned.insert(done->facts.result.value);
    if (const auto* dispatch = std::get_if<wire::Dispatch>(&event.body)) {
      const std::uint64_t host = dispatch->facts.host.value;
      if (host < kFirstAttacker) continue;
      const std::uint64_t machine = (host - kFirstAttacker) % options.attackers;
      const auto& first =
          sent.try_emplace({dispatch->facts.workunit.value, machine}, *dispatch).first->second;
      again += first.facts.host.value != host && returned.contains(first.facts.result.value) ? 1 : 0;
    }
  }
  EXPECT_GT(again, 0);
  std::size_t attackers = 0;
  for (const Truth& row : run.truth) {
    EXPECT_EQ(row.user, user_of_host.at(row.host));  // of a late result, too
    attackers += row.host >= kFirstAttacker ? 1 : 0;
  }
  EXPECT_GT(attackers, 100u);
}

// A project gives up such a workunit, and its validator never looks at it.
TEST(Fleet, ResultsOfAWorkunitWithTooManyErrorsAreNotJudged) {
  FleetOptions options = Busy(Preset::kSeti);
  options.projects = 1;
  options.parameters.max_errors = 0;
  options.parameters.error_rate = 0.2;
  struct Life {
    bool decided = false;
    bool given_up = false;
    int returned = 0;
  };
  std::map<std::uint64_t, Life> workunits;
  std::set<std::uint64_t> timed_out;
  for (const std::string& bytes : RunOf(options).events) {
    const wire::Event event = Parsed(bytes);
    if (const auto* done = std::get_if<wire::Completion>(&event.body)) {
      Life& life = workunits[done->facts.workunit.value];
      if (done->facts.outcome == credit::Outcome::kSuccess) {
        ++life.returned;
      } else if (done->facts.outcome == credit::Outcome::kTimeout) {
        timed_out.insert(done->facts.result.value);
      } else if (!timed_out.contains(done->facts.result.value)) {
        life.given_up = life.given_up || !life.decided;
      }
    }
    if (const auto* verdict = std::get_if<credit::ValidationFacts>(&event.body)) {
      Life& life = workunits[verdict->workunit.value];
      EXPECT_FALSE(life.given_up);
      life.decided = life.decided || verdict->state != credit::ValidateState::kInconclusive;
    }
  }
  int unjudged = 0;
  for (const auto& [number, life] : workunits) unjudged += life.given_up && life.returned > 0 ? 1 : 0;
  EXPECT_GT(unjudged, 50);
}

TEST(Fleet, TruthHasOneRowForEachReturnedResultAndNothingForInventedWork) {
  const World run = RunOf(Busy(Preset::kEinstein));
  EXPECT_EQ(run.truth.size(), run.counts.results);
  std::set<std::pair<std::uint32_t, std::uint64_t>> results;
  std::size_t fabricated = 0;
  for (const Truth& row : run.truth) {
    EXPECT_TRUE(results.emplace(row.project, row.result).second);
    EXPECT_EQ(row.fabricated, row.host >= kFirstAttacker);
    EXPECT_EQ(row.deserved_micro == 0, row.fabricated || row.wrong);
    fabricated += row.fabricated ? 1 : 0;
  }
  EXPECT_GT(fabricated, 10u);
  EXPECT_EQ(fleet::TruthLine({.project = 1, .result = 2, .host = 3, .user = 4, .deserved_micro = 5'000'007}),
            "1,2,3,4,5.000007,0,0\n");
  EXPECT_EQ(fleet::TruthLine({.project = 1, .result = 2, .host = 3, .user = 4, .fabricated = true}),
            "1,2,3,4,0.000000,1,0\n");
}

// A world of accurate jobs on equal hosts: every result deserves the credit of its FLOPs, E times a log-normal factor, at 2
// peak FLOPs per FLOP and 200 Cobblestones per GFLOPS day.
TEST(Fleet, DeservedCreditIsThatOfTheTrueFlops) {
  FleetOptions options;
  options.hosts = 200;
  options.days = 10;
  options.projects = 1;
  options.parameters.wrong_rate = 0;
  const World run = RunOf(options);
  std::map<std::uint64_t, double> estimates;
  for (const std::string& bytes : run.events) {
    const wire::Event event = Parsed(bytes);
    if (const auto* dispatch = std::get_if<wire::Dispatch>(&event.body);
        dispatch && dispatch->facts.app.value == 1)
      estimates[dispatch->facts.result.value] = dispatch->fpops_est;
  }
  double sum = 0;
  double n = 0;
  std::set<std::uint64_t> workunits;
  for (const Truth& row : run.truth) {
    const auto estimate = estimates.find(row.result);
    // The results of one workunit have one size: count it once.
    if (estimate == estimates.end() || !workunits.insert((row.result - 1) / 32).second) continue;
    sum += std::log(static_cast<double>(row.deserved_micro) / 1e6 / (2 * estimate->second * 200 / 86400e9));
    ++n;
  }
  ASSERT_GT(n, 100);
  EXPECT_NEAR(sum / n, 0, 5 * 0.1 / std::sqrt(n));
}

// ---- The population ------------------------------------------------------------------------------------

constexpr std::uint64_t kHosts = 20'000;

std::vector<HostTraits> PopulationOf(Preset preset, bool settled) {
  const fleet::Parameters parameters = fleet::ParametersOf(preset);
  const fleet::Draws draws(1);
  std::vector<HostTraits> hosts;
  for (std::uint64_t host = 1; host <= kHosts; ++host)
    hosts.push_back(TraitsOf(parameters, draws, host, settled));
  return hosts;
}

void ExpectShare(const std::vector<HostTraits>& hosts, double share,
                 const std::function<bool(const HostTraits&)>& has) {
  double count = 0;
  for (const HostTraits& host : hosts) count += has(host) ? 1 : 0;
  EXPECT_NEAR(count / kHosts, share, 5 * std::sqrt(share * (1 - share) / kHosts) + 1e-12);
}

void ExpectMean(const std::vector<HostTraits>& hosts, double mean, double sigma,
                const std::function<double(const HostTraits&)>& of) {
  double sum = 0;
  for (const HostTraits& host : hosts) sum += of(host);
  EXPECT_NEAR(sum / kHosts, mean, 5 * sigma / std::sqrt(static_cast<double>(kHosts)));
}

TEST(Fleet, HostsHaveTheParametersOfTheirPreset) {
  for (const Preset preset : {Preset::kEinstein, Preset::kSeti, Preset::kLhc}) {
    const fleet::Parameters p = fleet::ParametersOf(preset);
    const std::vector<HostTraits> hosts = PopulationOf(preset, false);
    const auto log_speed = [](const HostTraits& host) { return std::log(host.core_flops / 1e9); };
    ExpectMean(hosts, p.core_speed_mu, p.core_speed_sigma, log_speed);
    ExpectMean(hosts, p.core_speed_sigma * p.core_speed_sigma,
               std::sqrt(2) * p.core_speed_sigma * p.core_speed_sigma,
               [&](const HostTraits& host) { return std::pow(log_speed(host) - p.core_speed_mu, 2); });
    const double all = p.cores_1 + p.cores_2 + p.cores_4 + p.cores_8 + p.cores_16 + p.cores_32;
    const std::pair<std::uint32_t, double> cores[] = {{1, p.cores_1}, {2, p.cores_2},   {4, p.cores_4},
                                                      {8, p.cores_8}, {16, p.cores_16}, {32, p.cores_32}};
    for (const auto& [count, share] : cores)
      ExpectShare(hosts, share / all, [&, n = count](const HostTraits& host) { return host.cores == n; });
    ExpectShare(hosts, p.gpu_hosts, [](const HostTraits& host) { return host.gpu_flops > 0; });
    ExpectShare(hosts, p.gpu_hosts * p.gpu_nvidia,
                [](const HostTraits& host) { return host.gpu == credit::Resource::kNvidia; });
    ExpectShare(hosts, p.always_on,
                [](const HostTraits& host) { return host.availability == fleet::AvailabilityKind::kAlways; });
    ExpectShare(hosts, p.random_on,
                [](const HostTraits& host) { return host.availability == fleet::AvailabilityKind::kRandom; });
    ExpectShare(hosts, p.anonymous_hosts, [](const HostTraits& host) { return host.anonymous; });
    ExpectShare(hosts, p.second_project, [](const HostTraits& host) { return host.projects >= 2; });
    ExpectShare(hosts, p.third_project, [](const HostTraits& host) { return host.projects == 3; });
    // Variance of a log-normal variable with mean m: m^2 (e^(sigma^2) - 1). The limit of 0.9 is 3.4 sigma away.
    const double spread = p.error_rate * std::sqrt(std::exp(p.error_rate_sigma * p.error_rate_sigma) - 1);
    ExpectMean(hosts, p.error_rate, spread, [](const HostTraits& host) { return host.error_rate; });
    const double k = p.lifetime_shape;
    const double scale = p.lifetime_scale * 86400;
    const double mean = scale * std::tgamma(1 + 1 / k);
    const double square = scale * scale * std::tgamma(1 + 2 / k);
    ExpectMean(hosts, mean, std::sqrt(square - mean * mean),
               [](const HostTraits& host) { return host.lifetime; });
    // In a stationary population the mean remaining lifetime is E[X^2] / (2 E[X]), and E[R^2] = E[X^3] / (3 E[X]).
    const double rest = square / (2 * mean);
    const double rest_square = scale * scale * scale * std::tgamma(1 + 3 / k) / (3 * mean);
    ExpectMean(PopulationOf(preset, true), rest, std::sqrt(rest_square - rest * rest),
               [](const HostTraits& host) { return host.lifetime; });
  }
}

TEST(Fleet, SpeedAndBenchmarkAreCorrelatedAsStated) {
  const fleet::Parameters p = fleet::ParametersOf(Preset::kSeti);
  const std::vector<HostTraits> hosts = PopulationOf(Preset::kSeti, false);
  std::map<std::uint32_t, std::pair<double, double>> by_cores;  // sum, count
  for (const HostTraits& host : hosts) {
    by_cores[host.cores].first += std::log(host.core_flops / 1e9);
    by_cores[host.cores].second += 1;
  }
  // Correlation 0.59: hosts with more cores are faster, each step of the larger groups by much more than chance.
  for (const auto& [fewer, more] : {std::pair{1u, 2u}, {2u, 4u}, {4u, 8u}}) {
    const auto [low, low_count] = by_cores[fewer];
    const auto [high, high_count] = by_cores[more];
    EXPECT_GT(high / high_count - low / low_count,
              5 * p.core_speed_sigma * std::sqrt(1 / low_count + 1 / high_count));
  }
  ExpectShare(hosts, p.failed_benchmarks, [](const HostTraits& host) { return host.whetstone == 1e9; });
}

TEST(Fleet, AvailableTimeAddsUpOverThePeriods) {
  const fleet::Parameters p = fleet::ParametersOf(Preset::kEinstein);
  const fleet::Draws draws(1);
  int kinds[3] = {};
  for (std::uint64_t host = 1; host <= 300; ++host) {
    const HostTraits traits = TraitsOf(p, draws, host, false);
    ++kinds[static_cast<int>(traits.availability)];
    const fleet::Availability start(traits, host, 0);
    fleet::Availability once = start;
    fleet::Availability twice = start;
    const double direct = once.After(p, draws, 1000, 300'000);
    const double halfway = twice.After(p, draws, 1000, 100'000);
    EXPECT_NEAR(twice.After(p, draws, halfway, 200'000), direct, 1e-3);
    EXPECT_GE(direct, 301'000);
    if (traits.availability == fleet::AvailabilityKind::kAlways) {
      EXPECT_EQ(direct, 301'000);
    }
    fleet::Availability on = start;
    const double next = on.NextOn(p, draws, 5 * 86400 + 1000);  // a Saturday
    if (traits.availability == fleet::AvailabilityKind::kDaily && !traits.weekends) {
      // Fridays may reach into Saturday; otherwise the host sleeps until Monday.
      EXPECT_TRUE(next >= 7 * 86400 + traits.day_start ||
                  traits.day_start + traits.day_length > 86400 + 1000);
    }
  }
  for (const int count : kinds) EXPECT_GT(count, 20);
}

// ---- Parts ---------------------------------------------------------------------------------------------

TEST(Fleet, AppointmentsComeInOrderWhateverTheOrderOfPutting) {
  const fleet::Draws draws(1);
  fleet::Timeline timeline;
  std::multiset<fleet::Appointment> expected;
  std::uint32_t puts = 0;
  const auto put = [&](std::uint32_t from) {
    const auto [u, v] = draws.Uniforms(fleet::Stream::kUser, puts, 0);
    // Near, far, and beyond the ring of three days.
    const double reach = puts % 3 == 0 ? 100 : puts % 3 == 1 ? 100'000 : 10'000'000;
    const fleet::Appointment appointment{from + static_cast<std::uint32_t>(u * reach),
                                         static_cast<std::uint32_t>(v * 5), puts};
    ++puts;
    timeline.Put(appointment);
    expected.insert(appointment);
  };
  for (int i = 0; i < 1000; ++i) put(0);
  fleet::Appointment next;
  std::size_t seen = 0;
  while (timeline.Next(&next)) {
    ++seen;
    ASSERT_EQ(next, *expected.begin());
    expected.erase(expected.begin());
    if (puts < 20'000) put(next.at);
    if (puts < 20'000 && seen % 7 == 0) put(next.at);
  }
  EXPECT_TRUE(expected.empty());
  EXPECT_EQ(seen, 20'000u);
}

TEST(Fleet, TheClientAsksWhoHasUsedLeastOfItsShare) {
  const fleet::ShareProportional policy;
  const fleet::Shortfall both{.seconds = {100, 50}, .speed = {1e9, 1e12}};
  fleet::AttachedProject a{.share = 1, .used_seconds = {10, 0}, .may_ask = {true, true}};
  fleet::AttachedProject b{.share = 3, .used_seconds = {20, 0}, .may_ask = {true, false}};
  const fleet::WorkRequest request = policy.Choose(std::array{a, b}, both);
  EXPECT_EQ(request.project, 1u);  // 20/3 < 10/1
  EXPECT_EQ(request.seconds[0], 100);
  EXPECT_EQ(request.seconds[1], 0);  // b has no GPU apps
  b.may_ask[0] = false;
  EXPECT_EQ(policy.Choose(std::array{a, b}, both).project, 0u);
  a.may_ask[0] = a.may_ask[1] = false;
  EXPECT_EQ(policy.Choose(std::array{a, b}, both).project, fleet::WorkRequest::kNobody);
  EXPECT_EQ(policy.Choose(std::array{b}, fleet::Shortfall{}).project, fleet::WorkRequest::kNobody);
}

// Another policy takes the place of the simulator's own.
TEST(Fleet, ClientsFollowTheWorkFetchPolicyThatTheyAreGiven) {
  class Idle final : public fleet::WorkFetch {
   public:
    [[nodiscard]] fleet::WorkRequest Choose(std::span<const fleet::AttachedProject>,
                                            const fleet::Shortfall&) const override {
      return {};
    }
  };
  const Idle idle;
  FleetOptions options;
  options.hosts = 20;
  options.work_fetch = &idle;
  const World run = RunOf(options);
  EXPECT_EQ(run.counts.dispatches, 0u);
  EXPECT_GT(run.counts.hosts, 0u);
}

// The clients of common/workfetch.
TEST(Fleet, ClientsWithAMemoryGiveTheSameBytesForTheSameOptions) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> hashes;
  for (const char* name : {"simple", "seed", "rec", "hybrid"}) {
    FleetOptions options = Busy(Preset::kEinstein);
    options.work_fetch = fleet::WorkFetchByName(name);
    const World run = RunOf(options);
    const stream::Hash128 hash = HashOf(run.events);
    EXPECT_EQ(hash, HashOf(RunOf(options).events)) << name;
    EXPECT_TRUE(hashes.emplace(hash.high, hash.low).second) << name;
    EXPECT_GT(run.counts.resends, 0u) << name;
    for (const std::string& bytes : run.events) ASSERT_FALSE(wire::CheckEvent(Parsed(bytes))) << name;
  }
  EXPECT_EQ(fleet::WorkFetchByName("debts"), nullptr);
}

TEST(Fleet, TwinsShareAllHonestEventsWhateverTheWorkFetch) {
  for (const char* name : {"seed", "rec", "hybrid"}) {
    FleetOptions options = Busy(Preset::kSeti);
    options.work_fetch = fleet::WorkFetchByName(name);
    options.attack = *fleet::AttackByName("inflate");
    const World attack = RunOf(options);
    options.attack = {};
    const World twin = RunOf(options);
    ASSERT_EQ(attack.events.size(), twin.events.size());
    for (std::size_t i = 0; i < twin.events.size(); ++i) {
      if (attack.events[i] != twin.events[i]) {
        ASSERT_GE(HostOf(Parsed(twin.events[i])), kFirstAttacker) << name;
      }
    }
  }
}

// Hosts without GPUs that are always on: every project supplies what a host has, so debts can make the shares equal.
TEST(Fleet, DebtsKeepTheSharesOfHostsWithTwoProjects) {
  FleetOptions options;
  options.hosts = 20;
  options.days = 40;
  options.parameters.gpu_hosts = 0;
  options.parameters.always_on = 1;
  options.parameters.random_on = 0;
  options.parameters.second_project = 1;
  options.parameters.third_project = 0;
  options.parameters.lifetime_scale = 10'000;
  options.parameters.reset_interval = 10'000;
  for (const char* name : {"seed", "hybrid"}) {
    options.work_fetch = fleet::WorkFetchByName(name);
    Fleet world(options, {});
    for (std::string_view event; world.Next(&event);) continue;
    EXPECT_LT(world.measures().share_violation, 0.1) << name;  // without debts 0.124
    EXPECT_LT(world.measures().idle[0], 0.05) << name;
  }
}

// The run times in the events are those in the measures; jobs in progress at the end are in the measures only.
TEST(Fleet, IdleTimeIsThatOfTheEvents) {
  FleetOptions options;
  options.like = Preset::kSeti;  // its longest jobs take a day and a half
  options.parameters = fleet::ParametersOf(options.like);
  options.hosts = 50;
  options.days = 30;
  options.projects = 1;
  options.parameters.always_on = 1;
  options.parameters.random_on = 0;
  options.parameters.lifetime_scale = 1e5;
  options.parameters.reset_interval = 1e5;
  Fleet world(options, {});
  double cores = 0;
  double gpus = 0;
  double ran[2] = {};
  std::map<std::uint64_t, bool> on_gpu;
  for (std::string_view bytes; world.Next(&bytes);) {
    const wire::Event event = Parsed(std::string(bytes));
    if (const auto* host = std::get_if<wire::HostMember>(&event.body)) {
      cores += host->cpus;
      gpus += host->gpus;
    }
    if (const auto* job = std::get_if<wire::Dispatch>(&event.body))
      on_gpu[job->facts.result.value] = job->usage[0].resource != credit::Resource::kCpu;
    if (const auto* done = std::get_if<wire::Completion>(&event.body))
      ran[on_gpu[done->facts.result.value] ? 1 : 0] += done->facts.elapsed_time;
  }
  ASSERT_EQ(world.counts().hosts, options.hosts);
  const double seconds = options.days * 86400;
  const double busy[2] = {ran[0] / (cores * seconds), ran[1] / (gpus * seconds)};
  for (const int r : {0, 1}) {
    EXPECT_GE(1 - world.measures().idle[r], busy[r] - 1e-6);
    // At most one job per instance runs at the end.
    EXPECT_LE(1 - world.measures().idle[r], busy[r] + 1.5 / options.days);
    EXPECT_GE(world.measures().idle[r], 0);
  }
  EXPECT_EQ(world.measures().share_violation, 0);  // no host has two projects
}

// One host with an idle GPU and an idle core.
TEST(Fleet, AClientRemembersItsBackoffsAndWhomItOwes) {
  const fleet::LibraryFetch fetch(workfetch::Variant::kHybrid);
  const std::array<fleet::AttachedProject, 2> projects;
  fleet::HostNow host{.now = 1000,
                      .projects = projects,
                      .instances = {1, 1},
                      .speed = {1e9, 2e9},
                      .buffer_min = 8640,
                      .buffer_extra = 43200};
  fleet::ClientState state;
  std::uint32_t asked = fleet::WorkRequest::kNobody;
  std::array<std::uint32_t, 2> reply{};
  const auto ask = [&](const fleet::WorkRequest& request) {
    asked = request.project;
    EXPECT_GT(request.seconds[1], 0);
    return reply;
  };
  fetch.Decide(host, ask, &state);
  EXPECT_EQ(asked, 0u);  // equal debts: the first
  EXPECT_EQ(state.projects[0].backoff[1], 60);
  EXPECT_EQ(state.projects[0].backoff_until[1], 1060u);
  reply = {0, 1};
  fetch.Decide(host, ask, &state);
  EXPECT_EQ(asked, 1u);  // the first is backed off
  EXPECT_EQ(state.projects[1].backoff[1], 0);
  // The first project has used the GPU for an hour.
  state.projects[0].used[1] = 3600;
  host.now = 10'000;
  fetch.Decide(host, ask, &state);
  EXPECT_EQ(asked, 1u);
  EXPECT_EQ(state.projects[1].debt[1], 0);
  EXPECT_EQ(state.projects[0].debt[1], -3600);
  EXPECT_EQ(state.projects[0].used[1], 0);
  // At the limit of jobs nobody is asked for a GPU job.
  host.at_limit[0] = host.at_limit[1] = true;
  asked = fleet::WorkRequest::kNobody;
  const std::array<fleet::QueuedJob, 2> jobs = {
      fleet::QueuedJob{.project = 0, .estimate = 500, .duration = 1000, .remaining = 1000, .end = 11'000},
      fleet::QueuedJob{.project = 1, .estimate = 500, .duration = 1000, .remaining = 1000, .end = 12'000}};
  host.jobs = jobs;
  EXPECT_EQ(fetch.Decide(host, ask, &state), 11'000);  // when the first job ends
  EXPECT_EQ(asked, fleet::WorkRequest::kNobody);
}

// Bytes per host: its slot, its jobs in progress with workunits and appointments. A million hosts must fit in 4 GB.
TEST(Fleet, AHostNeedsLessThanFourThousandBytes) {
  for (const Preset preset : {Preset::kEinstein, Preset::kSeti, Preset::kLhc}) {
    FleetOptions options;
    options.like = preset;
    options.work_fetch = fleet::WorkFetchByName("hybrid");
    options.parameters = fleet::ParametersOf(preset);
    options.hosts = 4000;
    options.days = 0.7;  // buffers fill within 0.6 days
    Fleet world(options, {});
    const std::size_t empty = fleet::Timeline().bytes();
    for (std::string_view event; world.Next(&event);) continue;
    EXPECT_LT(world.bytes() - empty, 4000 * options.hosts);
  }
}

// 500 results per host: what has ended needs no memory.
TEST(Fleet, MemoryDoesNotGrowWithTime) {
  FleetOptions options;
  options.like = Preset::kSeti;
  options.parameters = fleet::ParametersOf(options.like);
  options.hosts = 200;
  options.days = 10;
  Fleet world(options, {});
  for (std::string_view event; world.Next(&event);) continue;
  EXPECT_GT(world.counts().results, 400 * options.hosts);
  EXPECT_LT(world.bytes() - fleet::Timeline().bytes(), 4000 * options.hosts);
}

TEST(Fleet, ParametersAreSetByNameWithinTheirRange) {
  fleet::Parameters parameters = fleet::ParametersOf(Preset::kLhc);
  EXPECT_TRUE(fleet::SetParameter("gpu_hosts=0.25", &parameters).ok());
  EXPECT_EQ(parameters.gpu_hosts, 0.25);
  for (const char* bad : {"gpu_hosts=2", "gpu_hosts=", "gpu_hosts", "gpu_hosts=nan", "gpu_hosts=0.5x"})
    EXPECT_EQ(fleet::SetParameter(bad, &parameters).message(),
              std::string(bad) + ": gpu_hosts must be a number from 0 to 1");
  EXPECT_EQ(fleet::SetParameter("gpus=1", &parameters).message(),
            "unknown parameter 'gpus'; `cobblestone fleet parameters` lists them");
  EXPECT_EQ(parameters.gpu_hosts, 0.25);
}

TEST(Fleet, DefaultsOfEachPresetLieInTheRange) {
  for (const fleet::ParameterRow& row : fleet::ParameterRows()) {
    for (const double value : row.values) {
      EXPECT_GE(value, row.least) << row.name;
      EXPECT_LE(value, row.most) << row.name;
    }
  }
}

TEST(Fleet, TheGuideContainsTheTableOfParameters) {
  std::ifstream file(std::string(COBBLESTONE_SOURCE_DIR) + "/docs/fleet.md");
  const std::string guide{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(guide.find(fleet::ParameterTable()), std::string::npos)
      << "docs/fleet.md must contain the output of `cobblestone fleet parameters`";
}

}  // namespace
}  // namespace cobblestone
