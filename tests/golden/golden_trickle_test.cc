// Credit by trickle messages (golden README, item 29): speeds, percentiles, invalid run times.

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/credit/trickles/trickle_credit.h"
#include "common/credit/trickles/trickle_policy.h"
#include "tests/golden/comparison.h"
#include "tests/golden/core_world.h"
#include "tests/golden/golden_file.h"

namespace cobblestone::golden {
namespace {

using nlohmann::json;

const std::string kData = std::string(COBBLESTONE_SOURCE_DIR) + "/tests/golden/data/";
constexpr int kBadRunTime = -112;
constexpr int kNoSuchHost = -136;

struct Handler {
  double max_run_time = 0;
  credit::TypicalSpeeds typical;
};

void CompareAccount(Comparison& compare, const DoubleAccount& account, const json& expected) {
  compare.Value("total_credit", account.total, expected.at(0));
  compare.Value("expavg_credit", account.recent.value, expected.at(1), Kind::kThroughExp);
  compare.Value("expavg_time", account.recent.time, expected.at(2));
}

void Init(Comparison& compare, const World& world, const Event& event, const json& expected,
          Handler& handler) {
  std::vector<credit::HostSpeed> hosts;
  for (const auto& [id, account] : world.hosts) {
    hosts.push_back({.speed = world.speeds.at(id), .recent_average = account.recent.value});
  }
  handler.max_run_time = event.max_run_time;
  handler.typical = credit::TypicalSpeedsOf(hosts).value();
  compare.Value("flops_50", handler.typical.median, expected.at("flops_50"));
  compare.Value("flops_95", handler.typical.percentile_95, expected.at("flops_95"));
}

// The worth of a message in Cobblestones; unset if the message is refused.
using Worth = std::optional<double> (*)(const Handler& handler, const Event& event, double run_time,
                                        const World& world);

std::optional<double> WorthByHandler(const Handler& handler, const Event& event, double run_time,
                                     const World& world) {
  const credit::TrickleFacts facts{.run_time = run_time,
                                   .max_run_time = handler.max_run_time,
                                   .host_speed = world.speeds.at(event.host.value),
                                   .typical = handler.typical};
  return credit::TrickleCredit(facts, credit::Constants{});
}

// The worth by the rule `runtime`. BOINC's messages name no result, so each message is the first of a result that
// was sent the maximum run time earlier.
std::optional<double> WorthByRule(const Handler& handler, const Event& event, double run_time,
                                  const World& world) {
  const credit::TrickleRule rule{.kind = credit::TrickleKind::kRunTime,
                                 .measure = credit::TrickleMeasure::kRuntimeIncrement,
                                 .incremental = true,
                                 .max_increment = handler.max_run_time,
                                 .typical = handler.typical};
  credit::CompletionFacts dispatch;
  dispatch.app = AppId(1);
  dispatch.sent_time = event.now - handler.max_run_time;
  credit::HostRecord host;
  host.whetstone = world.speeds.at(event.host.value);
  const credit::ScaleTable scales;
  const credit::TricklePrice price =
      credit::PriceOf(rule, {.dispatch = dispatch, .host = host}, {ProjectId(1), world.catalogue(), scales});
  const credit::TrickleDecision decision =
      credit::Decide(price, {}, 0, {.event_time = event.now, .sequence = 1, .runtime_increment = run_time});
  if (decision.refused()) return std::nullopt;
  EXPECT_EQ(decision.partial, credit::RoundToMicro(decision.credit));
  return decision.credit;
}

int Handle(Worth worth, const Handler& handler, const Event& event, World& world) {
  const auto run_time = credit::ParseRunTime(event.run_time_text);
  if (!run_time.has_value()) return kBadRunTime;
  if (!world.hosts.contains(event.host.value)) return kNoSuchHost;
  const auto credit = worth(handler, event, *run_time, world);
  if (credit) world.GrantTrickle(event.host, event.now, event.now - credit::kTrickleWorkSpan, *credit);
  return 0;
}

void CompareTrickle(Comparison& compare, const World& world, const Event& event, int rc,
                    const json& expected) {
  compare.Value("rc", rc, expected.at("rc"));
  const auto host = world.hosts.find(event.host.value);
  compare.Null("host", host == world.hosts.end(), expected.at("host"));
  if (host == world.hosts.end()) return;
  CompareAccount(compare, host->second, expected.at("host"));
  compare.Value("host.avg_turnaround", world.records.at(host->first).avg_turnaround,
                expected.at("host").at(3));
  const auto user = world.users.find(world.user_of_host.at(host->first));
  compare.Null("user", user == world.users.end(), expected.at("user"));
  if (user != world.users.end()) CompareAccount(compare, user->second, expected.at("user"));
}

void Play(Worth worth) {
  const std::vector<json> input = ReadLines(kData + "s13_trickle_credit.in.jsonl");
  const std::vector<json> output = ReadLines(kData + "s13_trickle_credit.exact.jsonl.gz");
  ASSERT_EQ(input.size(), output.size());
  World world(ReadStart(input.at(0)));
  Handler handler;
  Comparison compare;
  for (std::size_t k = 1; k < input.size(); ++k) {
    const Event event = ReadEvent(input[k], world.catalogue());
    const json& expected = output[k];
    compare.At(event.line, event.kind.c_str());
    if (event.kind == "trickle_init") {
      Init(compare, world, event, expected, handler);
    } else if (event.kind == "trickle") {
      const int rc = Handle(worth, handler, event, world);
      CompareTrickle(compare, world, event, rc, expected);
    } else if (event.kind == "end") {
      for (const char* kind : {"hosts", "users", "teams"}) {
        const auto& accounts = *kind == 'h' ? world.hosts : *kind == 'u' ? world.users : world.teams;
        compare.True("number of accounts", accounts.size() == expected.at(kind).size());
        for (const json& a : expected.at(kind)) {
          CompareAccount(compare, accounts.at(a.at("id").get<std::uint64_t>()),
                         json::array({a.at("total_credit"), a.at("expavg_credit"), a.at("expavg_time")}));
        }
      }
    } else {
      ADD_FAILURE() << "unexpected event in this scenario: " << event.kind;
    }
  }
  std::printf("%-26s values %9llu  different %llu  through exp %llu\n", "s13_trickle_credit",
              static_cast<unsigned long long>(compare.compared()),
              static_cast<unsigned long long>(compare.different()),
              static_cast<unsigned long long>(compare.different_through_exp()));
  for (const std::string& difference : compare.first_differences()) ADD_FAILURE() << difference;
  EXPECT_EQ(compare.different(), 0U);
  EXPECT_EQ(compare.compared(), 3324U);
  EXPECT_EQ(compare.different_through_exp(), 0U);
}

TEST(GoldenTrickle, GivesTheNumbersOfBoincsHandler) { Play(WorthByHandler); }
TEST(GoldenTrickle, RuleRunTimeGivesTheSameNumbers) { Play(WorthByRule); }

}  // namespace
}  // namespace cobblestone::golden
