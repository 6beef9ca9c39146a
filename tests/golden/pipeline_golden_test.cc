// Compares the whole pipeline with the results of BOINC's server: every golden scenario by replay in lockstep,
// with 1, 3 and 8 partitions. Every granted credit must be equal bit for bit before rounding. Every total must be
// the exact sum of the rounded amounts. Every host/version, version and app row must be equal bit for bit. Values
// that pass through exp() (recent averages) may differ in their last bits, because BOINC's numbers carry the
// rounding of one glibc: the limit is 1e-6, and the test prints the differences.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "common/credit/accounts/account.h"
#include "services/replay/replay.h"
#include "tests/golden/golden_file.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::golden {

using replay::Replay;
using replay::ReplayOptions;

namespace {

using nlohmann::json;

const std::string kData = std::string(COBBLESTONE_SOURCE_DIR) + "/tests/golden/data/";

struct Counts {
  std::uint64_t compared = 0;
  std::uint64_t different = 0;
  std::uint64_t averages = 0;  // through exp()
  std::uint64_t averages_different = 0;
  double worst = 0;
  std::vector<std::string> first;

  void Exact(const std::string& where, double got, double expected) {
    ++compared;
    if (Same(got, expected)) return;
    Differ(where, got, expected);
  }
  void ThroughExp(const std::string& where, double got, double expected) {
    ++averages;
    if (Same(got, expected)) return;
    ++averages_different;
    const double relative = std::abs(got - expected) / std::max(std::abs(expected), 1e-300);
    worst = std::max(worst, relative);
    if (!(relative <= 1e-6)) Differ(where, got, expected);
  }
  void Differ(const std::string& where, double got, double expected) {
    ++different;
    if (first.size() < 10) {
      char text[200];
      std::snprintf(text, sizeof text, ": got %.17g, expected %.17g", got, expected);
      first.push_back(where + text);
    }
  }
};

std::vector<json> ReadPlain(const std::string& path) {
  std::vector<json> rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) rows.push_back(json::parse(line));
  return rows;
}

// BOINC numbers rows of anonymous versions app * 1000000 + n (golden README, item 18).
std::pair<std::uint64_t, std::int64_t> AppAndVersion(std::uint64_t row,
                                                     const std::map<std::uint64_t, std::uint64_t>& app_of) {
  if (row >= 1000000) return {row / 1000000, -static_cast<std::int64_t>(row % 1000000)};
  const auto app = app_of.find(row);
  return {app == app_of.end() ? 0 : app->second, static_cast<std::int64_t>(row)};
}

void CompareAverages(Counts& counts, const std::string& where, const json& got, const json& expected) {
  counts.Exact(where + ".n", Number(got.at("n")), Number(expected.at(0)));
  counts.Exact(where + ".avg", Number(got.at("avg")), Number(expected.at(1)));
  if (expected.size() < 4) return;
  counts.Exact(where + ".var", Number(got.at("var")), Number(expected.at(2)));
  counts.Exact(where + ".q", Number(got.at("q")), Number(expected.at(3)));
}

Counts Compare(const std::string& scenario, std::uint32_t partitions) {
  Counts counts;
  cobblestone::testing::TempDir dir;
  ReplayOptions options;
  options.file = kData + scenario + ".in.jsonl.gz";
  options.partitions = partitions;
  options.grants_out = dir.path() + "/grants.jsonl";
  options.state_out = dir.path() + "/state.jsonl";
  const auto summary = Replay(options);
  EXPECT_TRUE(summary.ok()) << summary.status().message();
  if (!summary.ok()) return counts;

  const std::vector<json> input = ReadLines(options.file);
  const std::vector<json> output = ReadLines(kData + scenario + ".exact.jsonl.gz");
  const json& catalogue = input.at(0);
  std::map<std::uint64_t, std::uint64_t> user_of;
  std::map<std::uint64_t, std::uint64_t> team_of;
  std::map<std::uint64_t, std::uint64_t> app_of;
  for (const json& host : catalogue.at("hosts")) user_of[host.at("id")] = host.at("userid");
  for (const json& user : catalogue.at("users")) team_of[user.at("id")] = user.at("teamid");
  for (const json& version : catalogue.at("app_versions")) app_of[version.at("id")] = version.at("appid");
  for (const json& event : input)
    if (event.at("ev") == "add_app_version")
      app_of[event.at("app_version").at("id")] = event.at("app_version").at("appid");

  // The granted credit by line and result, and the sums of the rounded amounts.
  std::map<std::pair<std::uint64_t, std::uint64_t>, double> expected;
  std::map<std::string, std::map<std::uint64_t, credit::MicroTotal>> totals;
  for (const json& host : catalogue.at("hosts"))
    totals["host"][host.at("id")] = credit::RoundToMicro(Number(host, "total_credit"));
  for (const json& user : catalogue.at("users")) totals["user"][user.at("id")] = 0;
  for (const json& team : catalogue.at("teams")) totals["team"][team.at("id")] = 0;
  std::map<std::uint64_t, std::uint64_t> host_of;
  for (std::size_t k = 1; k < input.size(); ++k) {
    const std::string ev = input[k].at("ev");
    if (ev == "wu")
      for (const json& result : input[k].at("results")) host_of[result.at("id")] = result.at("hostid");
    if (ev == "late") host_of[input[k].at("result").at("id")] = input[k].at("result").at("hostid");
    if (ev != "wu" && ev != "late") continue;
    if (Number(output[k].at("rc")) != 0) continue;
    for (const json& result : output[k].at("results")) {
      if (result.at("validate_state") != 1) continue;
      const double credit = Number(result.at("granted_credit"));
      expected[{k, result.at("id")}] = credit;
      const credit::MicroCredit micro = credit::RoundToMicro(credit);
      const std::uint64_t host = host_of.at(result.at("id"));
      totals["host"][host] += micro;
      const std::uint64_t user = user_of.at(host);
      if (!team_of.contains(user)) continue;
      totals["user"][user] += micro;
      if (team_of[user] != 0) totals["team"][team_of[user]] += micro;
    }
  }
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (const json& row : ReadPlain(options.grants_out)) {
    const std::pair<std::uint64_t, std::uint64_t> key{row.at("event"), row.at("result")};
    const std::string where = "line " + std::to_string(key.first) + " result " + std::to_string(key.second);
    EXPECT_TRUE(seen.insert(key).second) << where << " is granted twice";
    const auto it = expected.find(key);
    if (it == expected.end()) {
      ADD_FAILURE() << scenario << " " << where << ": granted, but BOINC granted nothing";
      continue;
    }
    counts.Exact(where + " credit", Number(row.at("credit")), it->second);
    counts.Exact(where + " credit_micro", static_cast<double>(row.at("credit_micro").get<std::int64_t>()),
                 static_cast<double>(credit::RoundToMicro(it->second)));
  }
  for (const auto& [key, credit] : expected)
    if (!seen.contains(key))
      counts.Differ(
          "line " + std::to_string(key.first) + " result " + std::to_string(key.second) + " not granted", 0,
          credit);

  const json& end = output.back();
  std::map<std::string, std::map<std::string, json>> rows;  // by kind and key
  for (const json& row : ReadPlain(options.state_out)) {
    const std::string kind = row.at("kind");
    const std::string key =
        kind == "host_version" ? std::to_string(row.at("host").get<std::uint64_t>()) + "/" +
                                     std::to_string(row.at("app").get<std::uint64_t>()) + "/" +
                                     std::to_string(row.at("app_version").get<std::int64_t>())
        : kind == "app_version" ? std::to_string(row.at("app_version").get<std::uint64_t>())
        : kind == "app"         ? std::to_string(row.at("app").get<std::uint64_t>())
                                : std::to_string(row.at("id").get<std::uint64_t>());
    rows[kind][key] = row;
  }
  for (const auto& [kind, list] :
       std::map<std::string, std::string>{{"host", "hosts"}, {"user", "users"}, {"team", "teams"}}) {
    for (const json& account : end.at(list)) {
      const auto id = account.at("id").get<std::uint64_t>();
      const std::string where = kind + " " + std::to_string(id);
      const auto row = rows[kind].find(std::to_string(id));
      if (row == rows[kind].end()) {
        ADD_FAILURE() << scenario << " " << where << " has no row";
        continue;
      }
      ++counts.compared;
      if (row->second.at("total_micro").get<std::int64_t>() != static_cast<std::int64_t>(totals[kind][id]))
        counts.Differ(where + " total_micro", row->second.at("total_micro").get<double>(),
                      static_cast<double>(totals[kind][id]));
      counts.ThroughExp(where + " rac", Number(row->second.at("rac")), Number(account.at("expavg_credit")));
      counts.Exact(where + " rac_time", Number(row->second.at("rac_time")),
                   Number(account.at("expavg_time")));
    }
  }
  for (const json& hav : end.at("havs")) {
    const auto [app, version] = AppAndVersion(hav.at("app_version_id"), app_of);
    const std::string key = std::to_string(hav.at("host_id").get<std::uint64_t>()) + "/" +
                            std::to_string(app) + "/" + std::to_string(version);
    const auto row = rows["host_version"].find(key);
    if (row == rows["host_version"].end()) {
      ADD_FAILURE() << scenario << " host_version " << key << " has no row";
      continue;
    }
    CompareAverages(counts, "host_version " + key + " pfc", row->second.at("pfc"), hav.at("pfc"));
    CompareAverages(counts, "host_version " + key + " et", row->second.at("et"), hav.at("et"));
    CompareAverages(counts, "host_version " + key + " turnaround", row->second.at("turnaround"),
                    hav.at("turnaround"));
    for (const char* field : {"consecutive_valid", "max_jobs_per_day"})
      counts.Exact("host_version " + key + " " + field, Number(row->second.at(field)), Number(hav.at(field)));
  }
  EXPECT_EQ(rows["host_version"].size(), end.at("havs").size());
  for (const json& version : end.at("app_versions")) {
    const std::string key = std::to_string(version.at("id").get<std::uint64_t>());
    EXPECT_TRUE(rows["app_version"].contains(key));
    if (::testing::Test::HasFailure()) return counts;
    const json& row = rows["app_version"].at(key);
    CompareAverages(counts, "app_version " + key + " pfc", row.at("pfc"), version.at("pfc"));
    counts.Exact("app_version " + key + " pfc_scale", Number(row.at("pfc_scale")),
                 Number(version.at("pfc_scale")));
    counts.ThroughExp("app_version " + key + " expavg_credit", Number(row.at("expavg_credit")),
                      Number(version.at("expavg_credit")));
    counts.Exact("app_version " + key + " expavg_time", Number(row.at("expavg_time")),
                 Number(version.at("expavg_time")));
  }
  for (const json& app : end.at("apps")) {
    const std::string key = std::to_string(app.at("id").get<std::uint64_t>());
    EXPECT_TRUE(rows["app"].contains(key));
    if (::testing::Test::HasFailure()) return counts;
    counts.Exact("app " + key, Number(rows["app"].at(key).at("min_avg_pfc")), Number(app.at("min_avg_pfc")));
  }
  return counts;
}

struct Scenario {
  const char* name;
  std::uint64_t at_least;  // values that must be compared at least
};

class GoldenPipeline : public ::testing::TestWithParam<Scenario> {};

TEST_P(GoldenPipeline, GrantsEqualBoincWithAnyNumberOfPartitions) {
  for (const std::uint32_t partitions : {1u, 3u, 8u}) {
    const Counts counts = Compare(GetParam().name, partitions);
    std::printf(
        "%s, %u partitions: %llu values compared, %llu different; %llu recent averages, %llu not bit-equal, "
        "largest relative difference %.2g\n",
        GetParam().name, partitions, static_cast<unsigned long long>(counts.compared),
        static_cast<unsigned long long>(counts.different), static_cast<unsigned long long>(counts.averages),
        static_cast<unsigned long long>(counts.averages_different), counts.worst);
    EXPECT_EQ(counts.different, 0u);
    for (const std::string& one : counts.first) ADD_FAILURE() << GetParam().name << " " << one;
    EXPECT_GE(counts.compared, GetParam().at_least) << "the harness compared too few values";
  }
}

INSTANTIATE_TEST_SUITE_P(Scenarios, GoldenPipeline,
                         ::testing::Values(Scenario{"s01_cpu_single", 1389}, Scenario{"s02_cpu_two", 2197},
                                           Scenario{"s03_cpu_gpu", 3917}, Scenario{"s04_gpu_only", 2325},
                                           Scenario{"s05_anonymous", 6812}, Scenario{"s06_sanity", 1833},
                                           Scenario{"s06b_overflow", 981},
                                           Scenario{"s07_host_scale_check", 3449},
                                           Scenario{"s08_outliers", 5849}, Scenario{"s09_caps", 3211},
                                           Scenario{"s10_mixed_large", 82155},
                                           Scenario{"s12b_credit_from_runtime", 1435}),
                         [](const auto& scenario) { return std::string(scenario.param.name); });

}  // namespace
}  // namespace cobblestone::golden
