// The alerts, their tests and the runbook in deploy/monitoring are consistent.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace cobblestone {
namespace {

std::vector<std::string> LinesOf(const std::string& name) {
  std::ifstream file(COBBLESTONE_SOURCE_DIR "/deploy/monitoring/" + name);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  EXPECT_FALSE(lines.empty()) << name;
  return lines;
}

// The first group of the expression, for each line that the expression matches.
std::vector<std::string> Matches(const std::vector<std::string>& lines, const std::string& expression) {
  const std::regex pattern(expression);
  std::vector<std::string> found;
  std::smatch match;
  for (const std::string& line : lines)
    if (std::regex_search(line, match, pattern)) found.push_back(match[1]);
  return found;
}

std::vector<std::string> Alerts() { return Matches(LinesOf("alerts.yml"), "- alert: (\\w+)"); }

TEST(Monitoring, EachAlertHasASeverityASummaryAndARunbookLink) {
  const auto lines = LinesOf("alerts.yml");
  const auto alerts = Alerts();
  ASSERT_GE(alerts.size(), 20u);
  EXPECT_EQ(std::set<std::string>(alerts.begin(), alerts.end()).size(), alerts.size())
      << "an alert occurs twice";
  std::vector<std::string> anchors;
  for (std::string name : alerts) {
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    anchors.push_back(name);
  }
  EXPECT_EQ(Matches(lines, "runbook: RUNBOOK\\.md#(\\w+)$"), anchors) << "in the order of the alerts";
  EXPECT_EQ(Matches(lines, "severity: (critical|warning)\\}").size(), alerts.size());
  EXPECT_EQ(Matches(lines, "(summary): ").size(), alerts.size());
}

TEST(Monitoring, TheRunbookHasACompleteEntryForEachAlert) {
  const auto lines = LinesOf("RUNBOOK.md");
  std::map<std::string, std::string> entries;
  std::string* entry = nullptr;
  for (const std::string& line : lines) {
    if (line.starts_with("## ")) entry = &entries[line.substr(3)];
    if (entry != nullptr) *entry += line + "\n";
  }
  const auto alerts = Alerts();
  for (const std::string& alert : alerts) {
    ASSERT_TRUE(entries.contains(alert)) << alert << " has no entry";
    for (const char* part : {"\n- **Means**: ", "\n- **Look**: ", "\n- **Do**: "})
      EXPECT_NE(entries[alert].find(part), std::string::npos) << alert << " lacks" << part;
  }
  for (const auto& [name, text] : entries)
    EXPECT_NE(std::find(alerts.begin(), alerts.end(), name), alerts.end())
        << name << " is no longer an alert";
}

TEST(Monitoring, TestsShowThatEachAlertFiresAndCanBeSilent) {
  std::map<std::string, std::pair<int, int>>
      shown;  // tests in which the alert fires and in which it does not
  std::string alert;
  std::smatch match;
  std::vector<std::string> lines = LinesOf("alerts_test.yml");
  for (std::string& line : LinesOf("alerts_days_test.yml")) lines.push_back(std::move(line));
  for (const std::string& line : lines) {
    if (std::regex_search(line, match, std::regex("alertname: (\\w+)"))) alert = match[1];
    if (line.find("exp_alerts: []") != line.npos) {
      ++shown[alert].second;
    } else if (line.find("exp_labels:") != line.npos) {
      ++shown[alert].first;
    }
  }
  for (const std::string& one : Alerts()) {
    EXPECT_GE(shown[one].first, 1) << one << ": no test shows that the alert fires";
    EXPECT_GE(shown[one].second, 1) << one << ": no test shows that the alert can be silent";
  }
}

}  // namespace
}  // namespace cobblestone
