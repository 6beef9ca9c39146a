// The generator gives the same bytes for the same options, and the requested shares of special events.
#include "services/traffic/generate.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "common/stream/hash128.h"
#include "common/wire/events/event_check.h"
#include "common/wire/events/event_codec.h"

namespace cobblestone {

using traffic::CheckGenerateOptions;
using traffic::GenerateOptions;
using traffic::Generator;

namespace {

std::vector<std::string> Generate(const GenerateOptions& options) {
  Generator generator(options);
  std::vector<std::string> events;
  for (std::string envelope; generator.Next(&envelope);) events.push_back(envelope);
  EXPECT_FALSE(generator.Next(&events.back()));  // the end is permanent
  return events;
}

// A chained hash over all bytes and the boundaries of events.
stream::Hash128 HashOf(const std::vector<std::string>& events) {
  stream::Hash128 hash;
  for (const std::string& event : events) hash = stream::HashBytes(event, hash.low ^ (hash.high * 3));
  return hash;
}

// Options without any disturbance.
GenerateOptions Quiet() {
  GenerateOptions options;
  options.hosts = 50;
  options.errors = options.timeouts = options.invalid = options.inconclusive = options.late = 0;
  options.duplicates = options.out_of_order = options.anonymous_hosts = 0;
  return options;
}

// The events of one result, in order of arrival.
struct Seen {
  int completions = 0;
  int validations = 0;
  bool validation_first = false;
  wire::HotEvent completion;
  wire::HotEvent validation;
};

std::map<std::uint64_t, Seen> ByResult(const std::vector<std::string>& events) {
  std::map<std::uint64_t, Seen> results;
  wire::HotEvent event;
  for (const std::string& bytes : events) {
    if (wire::DecodeHot(bytes, &event) != wire::HotDecode::kHot) continue;
    if (event.kind == wire::EventKind::kCompletion) {
      if (event.completion.outcome != credit::Outcome::kSuccess) continue;
      Seen& seen = results[event.completion.result.value];
      seen.validation_first = seen.completions == 0 && seen.validations > 0;
      ++seen.completions;
      seen.completion = event;
    } else if (event.validation.state != credit::ValidateState::kInconclusive) {
      Seen& seen = results[event.validation.result.value];
      ++seen.validations;
      seen.validation = event;
    }
  }
  return results;
}

TEST(Generate, TheSameOptionsGiveTheSameBytesAnotherSeedDoesNot) {
  GenerateOptions options;
  options.hosts = 100;
  options.results = 2000;
  options.bad_lines = 0.01;
  options.conflicts = 0.01;
  options.team_changes = 0.1;
  options.tick_period = 3600;
  options.dispatches = true;
  options.machines = 0.5;
  options.bad_reports = 0.2;
  const auto once = Generate(options);
  EXPECT_EQ(HashOf(once), HashOf(Generate(options)));
  options.seed = 2;
  EXPECT_NE(HashOf(once), HashOf(Generate(options)));
}

// The bytes are promised for every machine and every version: benchmarks and reports name a seed, not a file.
TEST(Generate, SeedOneAlwaysGivesTheSameBytes) {
  GenerateOptions options;
  options.hosts = 100;
  options.results = 2000;
  const auto events = Generate(options);
  const stream::Hash128 hash = HashOf(events);
  EXPECT_EQ(events.size(), 4345u);
  EXPECT_EQ(hash.low, 7115913423625407865u);
  EXPECT_EQ(hash.high, 12958242964612652205u);
}

TEST(Generate, MachinesAlwaysGiveTheSameBytes) {
  GenerateOptions options;
  options.hosts = 20;
  options.results = 100;
  options.machines = 0.7;
  options.reports = 30;
  options.bad_reports = 0.5;
  const auto events = Generate(options);
  const stream::Hash128 hash = HashOf(events);
  EXPECT_EQ(events.size(), 550u);
  EXPECT_EQ(hash.low, 1093180285166193677u);
  EXPECT_EQ(hash.high, 17476593613913044585u);
}

TEST(Generate, MembersComeFirstThenEveryResultOnceWithItsPartner) {
  GenerateOptions options = Quiet();
  options.results = 1001;  // rounded up to whole workunits
  options.apps = 3;
  const auto events = Generate(options);
  std::map<wire::EventKind, std::size_t> kinds;
  bool results_began = false;
  for (const std::string& event : events) {
    const auto kind = *wire::PeekKind(event);
    ++kinds[kind];
    const bool result = kind == wire::EventKind::kCompletion || kind == wire::EventKind::kValidation;
    EXPECT_FALSE(results_began && !result);
    results_began = results_began || result;
  }
  using Kind = wire::EventKind;
  EXPECT_EQ(kinds, (std::map<Kind, std::size_t>{{Kind::kCompletion, 1002},
                                                {Kind::kValidation, 1002},
                                                {Kind::kHost, 50},
                                                {Kind::kUser, 33},
                                                {Kind::kTeam, 3},
                                                {Kind::kApp, 3},
                                                {Kind::kAppVersion, 24}}));
  std::map<std::uint64_t, std::set<std::uint64_t>> hosts_of;
  for (const auto& [id, seen] : ByResult(events)) {
    ASSERT_EQ(seen.completions, 1);
    ASSERT_EQ(seen.validations, 1);
    const credit::CompletionFacts& done = seen.completion.completion;
    const credit::ValidationFacts& checked = seen.validation.validation;
    ASSERT_EQ(done.host, checked.host);
    ASSERT_EQ(done.workunit, checked.workunit);
    ASSERT_EQ(done.app, checked.app);
    ASSERT_EQ(checked.claims, 2u);
    ASSERT_GT(done.received_time, done.sent_time);
    ASSERT_GE(seen.validation.head.time, seen.completion.head.time);
    const double ratio = done.elapsed_time * done.peak_flops / checked.fpops_est;
    ASSERT_GT(ratio, 1);  // efficiency below 1
    ASSERT_LT(ratio, 25);
    hosts_of[done.workunit.value].insert(done.host.value);
  }
  ASSERT_EQ(hosts_of.size(), 501u);
  for (const auto& [workunit, hosts] : hosts_of) ASSERT_EQ(hosts.size(), 2u) << workunit;
}

TEST(Generate, EveryGoodEventIsWellFormed) {
  GenerateOptions options;
  options.hosts = 60;
  options.results = 2000;
  options.policies = {"benchmark", "reported-flops", "assigned", "runtime", "creditnew", "none"};
  options.apps = 6;
  options.errors = options.timeouts = options.late = options.inconclusive = 0.1;
  options.cheats = options.conflicts = options.lost = options.team_changes = 0.1;
  options.tick_period = 1000;
  options.dispatches = true;
  for (const std::string& bytes : Generate(options)) {
    const auto event = wire::ParseEvent(bytes);
    ASSERT_TRUE(event.ok());
    const auto refusal = wire::CheckEvent(*event);
    ASSERT_FALSE(refusal.has_value()) << refusal->detail << " in " << wire::EventKindName(event->kind());
  }
}

// The counters of each machine grow without restarts.
TEST(Generate, MachinesAreHostsAndTheirCountersGrow) {
  GenerateOptions options = Quiet();
  options.results = 1000;
  options.machines = 0.5;
  options.reports = 6;
  std::map<std::uint64_t, std::vector<wire::EstimatedCredit>> reports;
  std::set<std::uint64_t> machines;
  double last = 0;
  for (const std::string& bytes : Generate(options)) {
    const auto event = wire::ParseEvent(bytes);
    ASSERT_TRUE(event.ok());
    ASSERT_FALSE(wire::CheckEvent(*event).has_value());
    if (const auto* announced = std::get_if<wire::MachineHost>(&event->body)) {
      EXPECT_EQ(announced->host.value, announced->machine);
      EXPECT_TRUE(machines.insert(announced->machine).second);
    }
    const auto* report = std::get_if<wire::EstimatedCredit>(&event->body);
    if (report == nullptr) continue;
    EXPECT_TRUE(machines.contains(report->machine)) << "the machine is announced before its reports";
    EXPECT_GE(event->head.time, last);
    last = event->head.time;
    auto& before = reports[report->machine];
    for (std::size_t i = 0; i < report->counters.size(); ++i) {
      EXPECT_GT(report->counters[i].credit, before.empty() ? 0 : before.back().counters[i].credit);
      EXPECT_GT(report->counters[i].jobs, before.empty() ? 0 : before.back().counters[i].jobs);
      EXPECT_LE(report->counters[i].failed_run_time, report->counters[i].run_time);
    }
    before.push_back(*report);
  }
  EXPECT_GT(machines.size(), 15u);
  EXPECT_LT(machines.size(), 35u);
  EXPECT_EQ(reports.size(), machines.size());
  for (const auto& [machine, all] : reports) EXPECT_EQ(all.size(), 6u);
  EXPECT_GT(last, options.start_time + 0.8 * options.span);
  EXPECT_LT(last, options.start_time + options.span);
}

TEST(Generate, BadReportsHaveEveryKind) {
  GenerateOptions options = Quiet();
  options.machines = 1;
  options.reports = 40;
  options.bad_reports = 0.3;
  std::size_t repeated = 0;
  std::size_t late = 0;
  std::size_t restarted = 0;
  std::size_t greedy = 0;
  std::size_t wrong_host = 0;
  std::size_t negative = 0;
  std::set<std::string> seen;
  std::map<std::uint64_t, std::pair<double, wire::EstimatedCredit>> newest;
  for (const std::string& bytes : Generate(options)) {
    const auto event = wire::ParseEvent(bytes);
    ASSERT_TRUE(event.ok());
    const auto* report = std::get_if<wire::EstimatedCredit>(&event->body);
    if (report == nullptr) continue;
    if (wire::CheckEvent(*event)) {
      ++negative;
      continue;
    }
    if (!seen.insert(bytes).second) {
      ++repeated;
      continue;
    }
    wrong_host += report->host.value != report->machine ? 1 : 0;
    greedy += report->gpus > 1000 ? 1 : 0;
    auto& [time, before] = newest[report->machine];
    if (event->head.time < time) {
      ++late;
      continue;
    }
    if (!before.counters.empty() && report->counters[0].credit < before.counters[0].credit) ++restarted;
    time = event->head.time;
    before = *report;
  }
  // 50 machines x 40 reports x 0.3 / 7: about 86 of each.
  for (const std::size_t count : {repeated, late, restarted, greedy, wrong_host, negative}) {
    EXPECT_GT(count, 50u);
    EXPECT_LT(count, 125u);
  }
}

TEST(Generate, EveryBadLineIsRefusedForItsReason) {
  GenerateOptions options = Quiet();
  options.members = false;
  options.results = 4000;
  options.bad_lines = 0.1;
  std::map<std::string, int> reasons;
  for (const std::string& bytes : Generate(options)) {
    const auto event = wire::ParseEvent(bytes);
    if (!event.ok()) {
      ++reasons["UNDECODABLE"];
    } else if (const auto refusal = wire::CheckEvent(*event)) {
      ++reasons[std::string(wire::RefusalReasonName(refusal->reason))];
    } else if (const auto* completion = std::get_if<wire::Completion>(&event->body)) {
      if (completion->facts.app.value != 1) ++reasons["UNKNOWN_APP"];
    }
  }
  const std::set<std::string> wanted = {"UNDECODABLE",         "UNKNOWN_APP",   "NOT_FINITE",   "NEGATIVE",
                                        "UNKNOWN_APP_VERSION", "MISSING_FIELD", "NOT_SUPPORTED"};
  std::set<std::string> met;
  int sum = 0;
  for (const auto& [reason, count] : reasons) {
    met.insert(reason);
    sum += count;
  }
  EXPECT_EQ(met, wanted);
  EXPECT_NEAR(sum, 400, 80);
}

struct Share {
  const char* name;
  double GenerateOptions::*option;
  double (*measure)(const std::vector<std::string>& events);
};

double Fraction(const std::vector<std::string>& events, bool (*is)(const Seen&)) {
  double count = 0;
  double all = 0;
  for (const auto& [id, seen] : ByResult(events)) {
    ++all;
    count += is(seen) ? 1 : 0;
  }
  return count / all;
}

double FailureFraction(const std::vector<std::string>& events, bool timeouts) {
  double count = 0;
  wire::HotEvent event;
  for (const std::string& bytes : events) {
    if (wire::DecodeHot(bytes, &event) != wire::HotDecode::kHot || event.kind != wire::EventKind::kCompletion)
      continue;
    const credit::Outcome outcome = event.completion.outcome;
    if (outcome == credit::Outcome::kSuccess) continue;
    count += (outcome == credit::Outcome::kTimeout) == timeouts ? 1 : 0;
  }
  return count / 20000;
}

TEST(Generate, EachShareIsAsRequested) {
  const Share shares[] = {
      {"invalid", &GenerateOptions::invalid,
       [](const auto& e) {
         return Fraction(e, [](const Seen& s) {
           return s.validation.validation.state == credit::ValidateState::kInvalid;
         });
       }},
      {"out_of_order", &GenerateOptions::out_of_order,
       [](const auto& e) { return Fraction(e, [](const Seen& s) { return s.validation_first; }); }},
      {"duplicates", &GenerateOptions::duplicates,
       [](const auto& e) { return Fraction(e, [](const Seen& s) { return s.completions == 2; }); }},
      {"lost", &GenerateOptions::lost,
       [](const auto& e) { return Fraction(e, [](const Seen& s) { return s.completions == 0; }); }},
      {"anonymous_hosts", &GenerateOptions::anonymous_hosts,
       [](const auto& e) {
         return Fraction(e, [](const Seen& s) { return s.completion.completion.version.anonymous(); });
       }},
      {"errors", &GenerateOptions::errors, [](const auto& e) { return FailureFraction(e, false); }},
      {"timeouts", &GenerateOptions::timeouts, [](const auto& e) { return FailureFraction(e, true); }},
  };
  for (const Share& share : shares) {
    GenerateOptions options = Quiet();
    options.members = false;
    options.results = 20000;
    options.hosts = 2000;
    EXPECT_EQ(share.measure(Generate(options)), 0) << share.name;
    options.*share.option = 0.1;
    EXPECT_NEAR(share.measure(Generate(options)), 0.1, 0.015) << share.name;
  }
}

TEST(Generate, ALateResultFollowsTheDecisionOfItsWorkunit) {
  GenerateOptions options = Quiet();
  options.results = 4000;
  options.late = 0.1;
  std::map<std::uint64_t, double> decided;
  int late = 0;
  wire::HotEvent event;
  for (const std::string& bytes : Generate(options)) {
    if (wire::DecodeHot(bytes, &event) != wire::HotDecode::kHot || event.kind != wire::EventKind::kValidation)
      continue;
    const credit::ValidationFacts& facts = event.validation;
    if (!facts.late) {
      decided[facts.workunit.value] = event.head.time;
      continue;
    }
    ++late;
    EXPECT_EQ(facts.claims, 0u);
    ASSERT_TRUE(decided.contains(facts.workunit.value));
    EXPECT_LT(decided[facts.workunit.value], event.head.time);
  }
  EXPECT_NEAR(late, 200, 50);
}

TEST(Generate, TicksFollowTheirTimeAndOneComesAtTheEnd) {
  GenerateOptions options = Quiet();
  options.results = 1000;
  options.start_time = 1e9;
  options.span = 36000;
  options.tick_period = 3600;
  double last = 0;
  std::vector<double> ticks;
  for (const std::string& bytes : Generate(options)) {
    const auto event = wire::ParseEvent(bytes);
    if (const auto* tick = std::get_if<wire::Tick>(&event->body)) {
      EXPECT_EQ(tick->time, event->head.time);
      if (!ticks.empty()) {
        EXPECT_EQ(tick->time, ticks.back() + 3600);
      }
      ticks.push_back(tick->time);
    } else {
      last = std::max(last, event->head.time);
    }
  }
  ASSERT_GE(ticks.size(), 10u);
  EXPECT_GT(ticks.front(), 1e9);
  EXPECT_LE(ticks.front(), 1e9 + 3600);
  EXPECT_GT(ticks.back(), last);
}

TEST(Generate, LongTrafficNeedsNoMoreMemory) {
  // More results on the same hosts must not mean more events in progress. A test can observe only the progress.
  GenerateOptions options = Quiet();
  options.members = false;
  options.results = 2'000'000;
  Generator generator(options);
  std::string envelope;
  std::uint64_t events = 0;
  std::uint64_t ahead = 0;
  while (generator.Next(&envelope)) {
    ++events;
    ahead = std::max(ahead, generator.results_sent() - std::min(generator.results_sent(), events / 2));
  }
  EXPECT_EQ(events, 4'000'000u);
  EXPECT_LT(ahead, 3000u);  // a window of 1000 results, each of which waits for its partner
}

TEST(Generate, AnInvalidOptionIsNamed) {
  const auto message = [](auto change) {
    GenerateOptions options;
    change(options);
    return CheckGenerateOptions(options).message();
  };
  EXPECT_EQ(message([](GenerateOptions&) {}), "");
  EXPECT_NE(message([](GenerateOptions& o) { o.late = 1.5; }).find("late"), std::string::npos);
  EXPECT_NE(message([](GenerateOptions& o) { o.machines = -1; }).find("machines"), std::string::npos);
  EXPECT_NE(message([](GenerateOptions& o) { o.reports = 1001; }).find("reports"), std::string::npos);
  EXPECT_NE(message([](GenerateOptions& o) { o.hosts = 1; }).find("hosts"), std::string::npos);
  EXPECT_NE(message([](GenerateOptions& o) { o.policies = {"creditold"}; }).find("creditold"),
            std::string::npos);
  EXPECT_NE(message([](GenerateOptions& o) { o.span = 0.0 / 0.0; }).find("span"), std::string::npos);
}

}  // namespace
}  // namespace cobblestone
