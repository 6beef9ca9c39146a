#include "services/cli/format.h"
#include "services/cli/terminal_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "services/cli/progress.h"

namespace cobblestone {

using cli::AccountText;
using cli::AuditText;
using cli::ExplainText;
using cli::FixedText;
using cli::HostVersionText;
using cli::NumberText;
using cli::Progress;
using cli::ProgressJson;
using cli::ProgressText;
using cli::RefusedListText;
using cli::RefusedText;
using cli::ScalesText;
using cli::TasksText;
using cli::TerminalLines;
using cli::TerminalText;
using cli::UtcText;

namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Format, NumbersAreGroupedAndRoundedToTenDigits) {
  EXPECT_EQ(NumberText(1234567u), "1,234,567");
  EXPECT_EQ(NumberText(-1234), "-1,234");
  EXPECT_EQ(NumberText(999), "999");
  EXPECT_EQ(NumberText(26812.26), "26,812.26");
  EXPECT_EQ(NumberText(-1234567.5), "-1,234,567.5");
  EXPECT_EQ(NumberText(1512.0), "1512");
  EXPECT_EQ(NumberText(4.2e12), "4.2e+12");
  EXPECT_EQ(NumberText(0.1 + 0.2), "0.3");
  EXPECT_EQ(NumberText("inf"), "inf") << "JSON has no infinity";
  EXPECT_EQ(NumberText(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Format, TimesAreInUtc) {
  EXPECT_EQ(UtcText(0), "1970-01-01 00:00:00 UTC");
  EXPECT_EQ(UtcText(1750005239.67), "2025-06-15 16:33:59 UTC");
  EXPECT_EQ(UtcText(1e300), "1e+300") << "beyond the calendar";
}

// 26,000 s at 3e9 FLOP/s: 7.8e13 operations of an estimated 3e13. Two replicas claim 180.5 and 200.25.
json Explained() {
  return json::parse(R"({"result": 4711, "project": 1, "grants": [{
      "kind": "final", "project": 1, "result": 4711, "user": 5, "host": 17, "app": 2,
      "granted_at": 1750005239.67, "late": false, "credit": "190.375000", "credit_micro": 190375000,
      "credit_before_rounding": "190.37500000000003", "counted_as": "normal", "max_granted_credit": 0,
      "canonical_result": 4711, "ledger": {"partition": 3, "offset": 1234},
      "postings": [{"account": "host", "id": 17}, {"account": "user", "id": 5, "name": "Ada"},
                   {"account": "team", "id": 2}],
      "claim": {
        "result": 4711, "workunit": 99, "host": 17, "user": 5, "app": 2, "app_version": 8, "pass": 1,
        "policy": "boinc", "policy_version": 3, "epoch": 12,
        "facts": {"elapsed_time_s": 26000, "cpu_time_s": 25000, "peak_flops": 3e9, "fpops_est": 3e13,
                  "fpops_bound": 3e15, "sent_time": 1750001649, "received_time": 1750005232,
                  "reported": 0, "benchmark": 0},
        "raw_pfc": 7.8e13, "sample": 2.6, "version_average": {"n": 230, "mean": 2.5}, "version_scale": 0.96,
        "min_avg_pfc": 2.4, "host_average_before": {"n": 23, "mean": 2.0}, "host_scale": 1.25,
        "consecutive_valid": 14, "host_scale_time": 0, "flags": ["valid", "host_scale_check"],
        "mode": "normal", "pfc": 7.8e13, "claimed": 180.5},
      "other_claims": [{"result": 4712, "host": 18, "mode": "approximate", "flags": ["valid", "late"],
                        "pfc": 8.6e13, "claimed": 200.25}]}]})");
}

TEST(Format, AGrantIsExplainedStepByStep) {
  const std::string text = ExplainText(Explained());
  for (const char* part : {"Result 4711 of project 1",
                           "190.375000 Cobblestones",
                           "host 17, user 5 (Ada), team 2",
                           "26,000 s",
                           "7.8e+13 FLOPs = elapsed time x peak speed",
                           "2.6 = raw PFC / size estimate",
                           "scale epoch 12",
                           "2.5 over 230 samples",
                           "0.96",
                           "2 over 23 samples",
                           "1.25 = version average / host average",
                           "policy boinc version 3",
                           "normal (both scales applied)",
                           "180.5 Cobblestones",
                           "4712",
                           "200.25",
                           "approximate",
                           "late",
                           "190.37500000000003 -> 190375000 micro-credits (nearest, ties to even)",
                           "partition 3, offset 1234",
                           "2025-06-15 16:33:59 UTC"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, Not(HasSubstr("benchmark"))) << "zero: not part of this policy";
}

// A result of policy `robust`: 1,000 s at 1e10 FLOP/s for a job of 2e13 FLOPs; the app's mean is 0.5, the host's 0.4.
json RobustExplained(const json& changes) {
  json answer = Explained();
  json& grant = answer["grants"][0];
  grant["claim"] = json::parse(R"({
      "result": 4711, "workunit": 99, "host": 17, "user": 5, "app": 2, "app_version": 8, "pass": 1,
      "policy": "robust", "policy_version": 1, "epoch": 12,
      "facts": {"elapsed_time_s": 1000, "cpu_time_s": 990, "peak_flops": 1e10, "fpops_est": 2e13,
                "fpops_bound": 3e15, "sent_time": 1750001649, "received_time": 1750005232,
                "reported": 0, "benchmark": 1e10},
      "raw_pfc": 1e13, "sample": 0.5, "version_average": {"n": 230, "mean": 2.5}, "version_scale": 0.96,
      "min_avg_pfc": 0.5, "host_average_before": {"n": 23, "mean": 0.4}, "host_scale": 1.25,
      "consecutive_valid": 0, "host_scale_time": 0, "flags": ["valid", "host_scale_applied"],
      "failure_rate": 0.08125, "reliability": 0.9, "budget": 5e13,
      "mode": "normal", "pfc": 1.125e13, "claimed": 26.041666666})");
  grant["claim"].merge_patch(changes);
  return answer;
}

TEST(Format, AClaimOfRobustIsAProductOfItsFactors) {
  const std::string text = ExplainText(RobustExplained(json::object()));
  for (const char* part :
       {"0.4 over 23 samples", "compared with        0.4, the host's average",
        "8.13 % of the host's recent jobs", "0.9, from the failure rate", "5e+13 FLOPs left for this claim",
        "normal (from what the job measured)", "1e+13 FLOPs = elapsed time x peak speed\n",
        "x scale        1.25 = app's mean / the host's average",
        "x reliability  0.9, for a failure rate of 8.13 %", "1.125e+13 FLOPs",
        "low average of the claims from measurements"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  for (const char* part : {"version average", "both scales", "probation", "this host is new",
                           "ten average jobs", "may add up to", "rising"}) {
    EXPECT_THAT(text, Not(HasSubstr(part)));
  }
}

TEST(Format, AClaimOfRobustShowsTheLimitsThatCutIt) {
  // Ten times the host's average: 2e13 x 0.4 x 10 = 8e13 FLOPs; x 1.25 x 0.9 = 9e13.
  const json cut = {{"facts", {{"elapsed_time_s", 3e5}, {"benchmark", 8e9}}},
                    {"flags", {"valid", "clamped", "one_time_cheat", "host_scale_applied"}},
                    {"pfc", 9e13}};
  const std::string limited = ExplainText(RobustExplained(cut));
  EXPECT_THAT(limited,
              HasSubstr("2.8664e+13 FLOPs = time between sending and return x peak speed, limited to "
                        "8,000,000,000 FLOP/s"));
  EXPECT_THAT(limited, HasSubstr("to 10 x the host's average x size estimate = 8e+13 FLOPs"));
  json over = cut;
  over["flags"].push_back("over_budget");
  over["pfc"] = over["budget"] = 4e12;
  const std::string text = ExplainText(RobustExplained(over));
  EXPECT_THAT(text, HasSubstr("to the limit of the policy"));
  EXPECT_THAT(text, HasSubstr("left 4e+12 FLOPs: the claims of a host in an app may add up to"));
  over["flags"] = {"valid", "host_scale_applied", "over_budget"};
  over["facts"] = {{"elapsed_time_s", 1000}, {"benchmark", 1e10}};
  EXPECT_THAT(ExplainText(RobustExplained(over)), HasSubstr("product        1.125e+13 FLOPs\n"));
}

TEST(Format, ANewHostsClaimOfRobustIsItsEstimate) {
  const json changes = {{"flags", {"valid", "uncalibrated", "rising"}},
                        {"mode", "approximate"},
                        {"host_average_before", {{"n", 3}}},
                        {"host_scale", nullptr},
                        {"pfc", 9e12}};
  const std::string text = ExplainText(RobustExplained(changes));
  for (const char* part :
       {"size estimate  2e+13 FLOPs", "x app's mean   0.5", "no average",
        "approximate (the host is new to the app version)", "3 of its results have been averaged",
        "a result with nothing to compare it with earns the estimate\n",
        "keep rising; that does not change this claim"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  json insane = changes;
  insane["flags"] = {"valid", "sanity_check_failed", "uncalibrated"};
  insane["mode"] = "default_pfc";
  insane["min_avg_pfc"] = 0;
  const std::string failed = ExplainText(RobustExplained(insane));
  EXPECT_THAT(failed, HasSubstr("not defined yet: counts as 1"));
  EXPECT_THAT(failed, HasSubstr("the size estimate takes its place"));
  EXPECT_THAT(failed, Not(HasSubstr("this host is new")));
}

TEST(Format, ASingleJobOfAHostThatIsNewToAVersionOnlyIsMeasured) {
  const json changes = {{"flags", {"valid", "version_scale_applied"}},
                        {"mode", "approximate"},
                        {"host_average_before", {{"n", 0}}},
                        {"host_scale", nullptr}};
  const std::string text = ExplainText(RobustExplained(changes));
  for (
      const char* part :
      {"2.5, the version's average", "approximate (the host is new to the app version)",
       "0 of its results have been averaged, and by default ten are needed. It has them with another version of "
       "the app"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(Format, ANewHostsClaimOfRobustForAReplicatedJobIsMeasured) {
  const json changes = {{"flags", {"valid", "uncalibrated", "version_scale_applied"}},
                        {"mode", "approximate"},
                        {"awaited_claims", 2},
                        {"host_average_before", {{"n", 3}, {"mean", 0.3}}},
                        {"host_scale", nullptr},
                        {"reliability", 0.7},
                        {"pfc", 2.5e12}};  // 1e13 x 0.5/2: the policy counts 0.882 results of the version
  const std::string text = ExplainText(RobustExplained(changes));
  for (const char* part : {"1e+13 FLOPs = elapsed time x peak speed\n", "2.5 over 230 samples",
                           "0.7, from the failure rate; by default 1 at 3 %. Not a factor, because",
                           "x reliability  1: the failure rate does not count",
                           "x scale        0.25 = app's mean / the average of host and version\n",
                           "3 of its results have been averaged",
                           "5e+13 FLOPs left; not applied, because the result is replicated\n",
                           "Other hosts compute this job, too, so its size is measured\n"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  json first = changes;
  first["min_avg_pfc"] = 0;
  first["facts"] = {{"elapsed_time_s", 3000}};
  EXPECT_THAT(
      ExplainText(RobustExplained(first)),
      HasSubstr("to the size estimate 2e+13 FLOPs: neither the host nor the app has an average yet\n"));
  first["facts"] = {{"elapsed_time_s", 1000}};
  EXPECT_THAT(ExplainText(RobustExplained(first)), Not(HasSubstr("cut")));
}

// The award of hosts that are all new or fail often depends on the reliability of each of them.
TEST(Format, TheClaimsOfRobustShowTheReliabilityOfHostsThatFailOften) {
  json answer =
      RobustExplained({{"flags", {"valid", "host_scale_applied", "unreliable"}}, {"reliability", 0.25}});
  answer["grants"][0]["other_claims"] = json::parse(R"([
      {"result": 4712, "host": 18, "mode": "normal", "flags": ["valid", "unreliable"], "pfc": 1e13, "claimed": 23,
       "reliability": 0.125},
      {"result": 4713, "host": 19, "mode": "normal", "flags": ["valid"], "pfc": 1e13, "claimed": 23,
       "reliability": 1.01},
      {"result": 4714, "host": 20, "mode": "normal", "flags": ["valid"], "pfc": 1e13, "claimed": 23,
       "reliability": 0.875}])");
  const std::string text = ExplainText(answer);
  EXPECT_THAT(text, HasSubstr("this result, unreliable (reliability 0.25)"));
  EXPECT_THAT(text, HasSubstr("unreliable (reliability 0.125)"));
  EXPECT_THAT(text, HasSubstr("(reliability 0.875)"));  // a new host
  EXPECT_THAT(text, Not(HasSubstr("1.01")));
  EXPECT_THAT(text, HasSubstr("multiplied by the square of the reliability of each of them"));
}

TEST(Format, AClaimOfRobustForAReplicatedJobIsComparedWithAnAverageOfHostAndVersion) {
  // The version's average counts as 0.8, twice the host's: (23 x 0.4 + 10 x 0.8) / 33 = 0.521
  const json changes = {{"flags", {"valid", "host_scale_applied", "version_scale_applied"}},
                        {"awaited_claims", 2},
                        {"host_scale", nullptr},
                        {"reliability", 0.7},
                        {"pfc", 1e13 * 0.5 / ((23 * 0.4 + 10 * 0.8) / 33)}};
  const std::string text = ExplainText(RobustExplained(changes));
  for (
      const char* part :
      {"0.4 over 23 samples", "2.5 over 230 samples", "0.5212121212, the average of host and version\n",
       "x scale        0.9593023256 = app's mean / the average of host and version\n",
       "several hosts do this job, so the version's average counts beside the host's, by default like ten"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  // A cut job does not tell the average; by default ten results of the version count.
  json cut = changes;
  cut["flags"].push_back("one_time_cheat");
  cut["facts"] = {{"elapsed_time_s", 3e5}, {"received_time", 1760005232}};
  cut["pfc"] = 1e14;
  EXPECT_THAT(ExplainText(RobustExplained(cut)),
              HasSubstr("to 10 x the average of host and version x size estimate = 1.042424242e+14 FLOPs"));
  json fresh = changes;
  fresh["host_average_before"] = {{"n", 0}, {"mean", 0}};
  fresh["pfc"] = 2e12;
  EXPECT_THAT(ExplainText(RobustExplained(fresh)), HasSubstr("2.5, the version's average\n"));
}

TEST(Format, AHostsReplicationAdviceIsShown) {
  json row = {{"host", 17},
              {"app", 2},
              {"app_version", 8},
              {"project", 1},
              {"failure_rate", 0.0625},
              {"results_that_vouch", 5},
              {"replication_probability", 0.6666666667},
              {"standing", 3}};
  const std::string text = HostVersionText({{"rows", {row}}});
  EXPECT_THAT(text, HasSubstr("failure rate in the app        0.0625\n"));
  EXPECT_THAT(text,
              HasSubstr("results that vouch in the app  5 replicated, valid, and claimed like the others' "
                        "results of their jobs\n"));
  EXPECT_THAT(text,
              HasSubstr("replication probability        0.6666666667 advised for its next job of the app\n"));
  EXPECT_THAT(
      text,
      HasSubstr("standing                       3 of 4; one result of a replicated workunit should come "
                "from a host of high standing\n"));
  row.erase("replication_probability");
  EXPECT_THAT(HostVersionText({{"rows", {row}}}), Not(HasSubstr("probability")));
}

TEST(Format, AbsentFieldsAreLeftOut) {
  json answer = Explained();
  answer["grants"][0].erase("claim");
  answer["grants"][0].erase("postings");
  EXPECT_THAT(ExplainText(answer), HasSubstr("190.375000 Cobblestones"));
  json bare = RobustExplained({{"facts", nullptr}, {"host_average_before", nullptr}, {"flags", nullptr}});
  EXPECT_NO_THROW((void)ExplainText(bare));
  // An answer with any missing field becomes text without an exception.
  for (const json& odd : {json::object(), json(nullptr), json::array(), json({{"grants", {{{"x", 1}}}}})}) {
    EXPECT_NO_THROW({
      (void)ExplainText(odd);
      (void)AccountText(odd);
      (void)HostVersionText(odd);
      (void)ScalesText(odd);
      (void)TasksText(odd);
      (void)AuditText(odd);
      (void)RefusedListText(odd);
      (void)RefusedText(odd);
    }) << odd;
  }
}

TEST(Format, ATrickleCountedByTheDayShowsDays) {
  json partial = {{"measure", "none"},
                  {"asked", 5},
                  {"mark_before", 0},
                  {"mark_after", 5},
                  {"bounded_by", json::array()}};
  json answer = {{"result", 7},
                 {"project", 1},
                 {"partials", {partial}},
                 {"grants", json::array()},
                 {"reversals", json::array()}};
  EXPECT_THAT(ExplainText(answer), ContainsRegex("mark before +days +mark after"));
  answer["partials"][0]["measure"] = "cpu_time";
  EXPECT_THAT(ExplainText(answer), ContainsRegex("mark before +cpu time +mark after"));
}

TEST(Format, OtherElementsOfATrickleHaveTheirOwnLine) {
  const json partial = {{"measure", "steps"}, {"asked", 5}, {"time", 1.7e9}};
  json answer = {{"result", 7}, {"project", 1}, {"partials", {partial, partial}}, {"grants", json::array()}};
  EXPECT_THAT(ExplainText(answer), Not(HasSubstr("other elements")));
  answer["partials"][1]["others"] = {{{"name", "data"}, {"text", "287\n1234"}},
                                     {{"name", "ncf"}, {"text", ""}}};
  EXPECT_THAT(ExplainText(answer), ContainsRegex(R"(other elements
 +2023-11-14 22:13:20 UTC  data: 287\\x0a1234, ncf:
)"));
  answer["partials"][1]["others_left_out"] = {{"elements", 2}, {"bytes", 2004}};
  EXPECT_THAT(ExplainText(answer), HasSubstr(", ncf: , and 2 more elements, 2,004 bytes, not stored"));
}

TEST(Format, AWaitingResultIsShownAsWaiting) {
  const json answer = {{"result", 7},
                       {"project", 1},
                       {"grants", json::array()},
                       {"pending", {{"host", 3}, {"waits_for", "its completion"}}}};
  EXPECT_THAT(ExplainText(answer), HasSubstr("waits for its completion (host 3)"));
}

TEST(Format, ADecayedAverageIsShownAsZero) {
  const auto account = [](double rac) {
    return AccountText({{"kind", "user"}, {"id", 5}, {"project", 1}, {"rac_now", rac}});
  };
  EXPECT_THAT(account(3.8e-30), HasSubstr("recent average now  0 Cobblestones/day"));
  EXPECT_THAT(account(0.25), HasSubstr("recent average now  0.25 Cobblestones/day"));
}

TEST(Format, ARecentAverageIsShownWithTheTimeOfItsDecay) {
  EXPECT_THAT(
      AccountText(
          {{"kind", "user"}, {"id", 5}, {"project", 1}, {"rac_now", 0.25}, {"rac_now_time", 1700000000}}),
      HasSubstr("recent average now  0.25 Cobblestones/day at 2023-11-14 22:13:20"));
}

TEST(Format, ANewFieldIsShownUnderItsOwnName) {
  EXPECT_THAT(AccountText({{"kind", "user"}, {"id", 5}, {"project", 1}, {"golden_stars", 12345}}),
              HasSubstr("golden stars  12,345"));
}

TEST(Format, AnAuditListsItsProblemsOrReportsNone) {
  EXPECT_THAT(
      AuditText(
          {{"grants", 5}, {"since", {{"at", 1700000000}, {"grants", 36628}}}, {"problems", json::array()}}),
      AllOf(HasSubstr("Continues the clean audit of 2023-11-14"), HasSubstr("the 36,628 grants up to there"),
            Not(HasSubstr("since"))));
  EXPECT_THAT(AuditText({{"grants_checked", 36628}, {"problems", json::array()}}),
              ::testing::AllOf(HasSubstr("grants checked  36,628"), HasSubstr("No problems found")));
  EXPECT_THAT(AuditText({{"problems", {"user 5: total 7, grants sum to 8"}}}),
              ::testing::AllOf(HasSubstr("1 problem:"), HasSubstr("user 5: total 7, grants sum to 8"),
                               Not(HasSubstr("No problem"))));
}

TEST(Format, RefusalsAreATableWithTheirOrigin) {
  const json answer = {
      {"all", 2},
      {"refused",
       {{{"number", 0}, {"reason", "UNDECODABLE"}, {"detail", "no JSON"}, {"source", "a.jsonl"}, {"line", 3}},
        {{"number", 1},
         {"reason", "UNKNOWN_APP"},
         {"detail", "app 9"},
         {"topic", "validations"},
         {"partition", 4},
         {"offset", 17}}}}};
  const std::string text = RefusedListText(answer);
  EXPECT_THAT(text, HasSubstr("0  UNDECODABLE  a.jsonl line 3    no JSON"));
  EXPECT_THAT(text, HasSubstr("1  UNKNOWN_APP  validations/4/17  app 9"));
}

TEST(Progress, ShowsShareSpeedAndRemainingTime) {
  // Half of the events took 65 s, so 65 s remain.
  EXPECT_EQ(ProgressText({.done = 500, .all = 1000, .counted = 1300000}, 65, "events", 10),
            "1,300,000 events  [#####.....]   50 %  20,000/s  1:05 left");
  EXPECT_EQ(ProgressText({.done = 1000, .all = 1000, .counted = 20}, 2, "events", 0),
            "20 events  100 %  10/s");
  EXPECT_EQ(ProgressText({.done = 0, .all = 0, .counted = 30}, 10, "events", 10), "30 events  3/s")
      << "a pipe has no known length";
  EXPECT_EQ(ProgressText({.done = 1, .all = 7201, .counted = 1}, 1, "records", 0),
            "1 records    0 %  1/s  2:00:00 left");
}

TEST(Progress, ShowsBytesAndRefusals) {
  EXPECT_EQ(
      ProgressText({.done = 256000000, .all = 512000000, .counted = 650, .bytes = true, .refused = 1200}, 65,
                   "events", 0),
      "650 events   50 % of 512.0 MB  10/s  1,200 refused  1:05 left");
  EXPECT_EQ(ProgressText({.done = 1250000, .counted = 30, .bytes = true}, 10, "events", 10),
            "30 events  1.2 MB  3/s")
      << "a pipe";
}

TEST(Progress, IsALineOfJsonForPrograms) {
  EXPECT_EQ(
      ProgressJson({.done = 256, .all = 512, .counted = 650, .bytes = true, .refused = 2}, 65, "events"),
      R"({"events":650,"bytes":256,"bytes_all":512,"refused":2,"seconds":65.0,"seconds_left":65.0})");
  EXPECT_EQ(ProgressJson({.done = 256, .counted = 650, .bytes = true}, 1.26, "events"),
            R"({"events":650,"bytes":256,"bytes_all":null,"refused":0,"seconds":1.3,"seconds_left":null})");
}

// A name is untrusted text. Control characters in a name could set the title of a terminal, write to the
// clipboard, forge a line, or reverse its direction.
TEST(Format, ControlCharactersInNamesDoNotReachTheTerminal) {
  const std::string hostile =
      "\x1b]52;c;cHdu\x07\x1b[2J\r\n2026 FORGED\b\x7f\xc2\x9b"
      "5m\xe2\x80\xaegnp.exe\xe2\x81\xa9 caf\xc3\xa9 \xff";
  EXPECT_EQ(
      TerminalText(hostile),
      "\\x1b]52;c;cHdu\\x07\\x1b[2J\\x0d\\x0a2026 FORGED\\x08\\x7f\\u{9b}5m\\u{202e}gnp.exe\\u{2069} caf\xc3\xa9 \\xff");
  EXPECT_EQ(TerminalLines("a\nb\x1b"), "a\nb\\x1b");
  const nlohmann::json answer{{"kind", "user"},     {"id", 7},   {"project", 1},
                              {"name", hostile},    {"team", 3}, {"team_name", hostile},
                              {"total", "1.000000"}};
  const std::string text = AccountText(answer);
  for (const char c : text)
    EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n') << static_cast<int>(c) << " in " << text;
  EXPECT_EQ(text.find("\n2026 FORGED"), std::string::npos);
  EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos);
}

TEST(Format, AValueThatRoundsToZeroHasNoSign) {
  EXPECT_EQ(FixedText(-0.0), "0.000000");
  EXPECT_EQ(FixedText(-1e-9), "0.000000");
  EXPECT_EQ(FixedText(-1e-6), "-0.000001");
  EXPECT_EQ(NumberText(nlohmann::json(-0.0)), "0");
}

}  // namespace
}  // namespace cobblestone
