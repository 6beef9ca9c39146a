#include "services/cli/correction_plan_text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "common/credit/accounts/account.h"
#include "services/cli/format.h"
#include "services/cli/progress.h"
#include "services/cli/terminal_text.h"
#include "services/view/json.h"

namespace cobblestone::cli {

using nlohmann::json;

namespace {

constexpr std::size_t kRowsShown = 20;
constexpr std::size_t kProblemsShown = 20;

struct Loss {
  credit::MicroTotal micro = 0;  // negative: a gain
  std::uint64_t results = 0;
  double recent = 0;

  [[nodiscard]] credit::MicroTotal size() const { return micro < 0 ? -micro : micro; }
  void Add(const Loss& one) {
    micro += one.micro;
    results += one.results;
    recent += one.recent;
  }
};

Loss LossOf(const json& row) {
  const json& recent = row.at("recent_average_off");
  return {.micro = row.at("before_micro").get<credit::MicroCredit>() -
                   row.at("after_micro").get<credit::MicroCredit>(),
          .results = 1,
          .recent = recent.is_number() ? recent.get<double>() : 0};
}

constexpr std::array kOwners = {"user", "host", "team"};

std::map<std::uint64_t, Loss> LossesBy(const char* owner, const json& plan) {
  std::map<std::uint64_t, Loss> losses;
  for (const json& row : plan.at("corrections"))
    if (const auto id = row.at(owner).get<std::uint64_t>(); id != 0) losses[id].Add(LossOf(row));
  return losses;
}

// user         corrections       credit       recent average: a row for each owner, the largest change first, and their
// sum.
std::string LossesTable(const char* owner, const json& plan) {
  const auto row = [](const std::string& name, const std::string& count, const std::string& credit,
                      const std::string& recent) {
    char line[160];
    std::snprintf(line, sizeof line, "  %-20s %12s %24s %24s\n", name.c_str(), count.c_str(), credit.c_str(),
                  recent.c_str());
    return std::string(line);
  };
  const auto row_of = [&row](const std::string& name, const Loss& loss) {
    return row(name, WithCommas(loss.results), view::MicroText(-loss.micro), FixedText(0 - loss.recent));
  };
  const auto losses = LossesBy(owner, plan);
  std::vector<std::pair<std::uint64_t, Loss>> sorted(losses.begin(), losses.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  std::string text = row(owner, "corrections", "credit", "recent average");
  Loss sum;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    sum.Add(sorted[i].second);
    if (i < kRowsShown) text += row_of(std::to_string(sorted[i].first), sorted[i].second);
  }
  if (sorted.size() > kRowsShown) text += "  ... and " + WithCommas(sorted.size() - kRowsShown) + " more\n";
  return text + row_of("all", sum);
}

std::string CountText(const json& corrections, const char* field) {
  const auto count = std::count_if(corrections.begin(), corrections.end(),
                                   [field](const json& row) { return row.at(field) == true; });
  return count > 0 ? WithCommas(static_cast<std::uint64_t>(count)) : std::string();
}

}  // namespace

json CorrectionLosses(const json& plan) {
  json all = json::object();
  for (const char* owner : kOwners) {
    json list = json::array();
    for (const auto& [id, loss] : LossesBy(owner, plan))
      list.push_back({{"id", id},
                      {"credit", view::MicroText(-loss.micro)},
                      {"corrections", loss.results},
                      {"recent_average", view::Number(0 - loss.recent)}});
    all[owner] = std::move(list);
  }
  return all;
}

std::string CorrectionPlanText(const json& plan, const CorrectionWords& words) {
  const json& corrections = plan.at("corrections");
  std::string text = WithCommas(plan.at("results").get<std::uint64_t>()) + " results, " +
                     WithCommas(corrections.size()) + " corrections: " + words.verb + "\n";
  for (const json& host : plan.at("hosts_joined"))
    text += "including grants of host " + std::to_string(host.get<std::uint64_t>()) +
            ", which was merged into host " + std::to_string(words.host) + "\n";
  if (const std::string running = CountText(corrections, "running"); !running.empty())
    text += running + " of the corrections are for running jobs: " +
            (words.reprices ? "past payments are repriced, and later payments use this version\n"
                            : "they cover past payments only, not later ones\n");
  if (const std::string judged = CountText(corrections, "judged_invalid"); !judged.empty())
    text +=
        judged +
        " of the corrections are for results judged invalid: each result receives the credit of a valid "
        "result;\n"
        "the credit goes to the team of the user at the time of the report, which only the pipeline knows\n";
  if (!corrections.empty())
    for (const char* owner : kOwners) text += LossesTable(owner, plan);
  const json& problems = plan.at("problems");
  for (std::size_t i = 0; i < std::min(problems.size(), kProblemsShown); ++i)
    text += "unchanged: result " + std::to_string(problems[i].at("result").get<std::uint64_t>()) + ": " +
            TerminalText(problems[i].at("why").get_ref<const std::string&>()) + "\n";
  if (problems.size() > kProblemsShown)
    text += "... and " + WithCommas(problems.size() - kProblemsShown) + " more\n";
  return text;
}

}  // namespace cobblestone::cli
