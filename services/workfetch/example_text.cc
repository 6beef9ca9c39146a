#include "services/workfetch/example_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace cobblestone::workfetch {
namespace {

constexpr std::size_t kFirstColumn = 34;
constexpr std::size_t kColumn = 10;

std::string Fixed(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string Padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

double ShareOf(const Outcome& outcome, const Goal& goal) {
  return outcome.Share(goal.project, goal.resource, goal.from, goal.to);
}

bool Met(const Outcome& outcome, const Goal& goal) {
  return std::abs(ShareOf(outcome, goal) - goal.share) <= goal.tolerance;
}

struct Figure {
  const char* text;
  const char* key;
  double Metrics::*value;
};

constexpr std::array<Figure, 5> kFigures = {
    {{"wasted (deadline missed)", "wasted", &Metrics::wasted},
     {"idle", "idle", &Metrics::idle},
     {"share violation", "share_violation", &Metrics::share_violation},
     {"monotony", "monotony", &Metrics::monotony},
     {"RPCs per job", "rpcs_per_job", &Metrics::rpcs_per_job}}};

std::string WithoutTrailingBlanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

const Example* FindExample(std::string_view id) {
  for (const Example& example : Examples())
    if (example.id == id) return &example;
  return nullptr;
}

std::vector<VariantOutcome> RunExample(const Example& example, const std::vector<Variant>& variants) {
  std::vector<VariantOutcome> outcomes;
  for (const Variant variant : variants) outcomes.push_back({variant, Simulate(example.scenario, variant)});
  return outcomes;
}

std::string ExampleText(const Example& example, const std::vector<VariantOutcome>& outcomes) {
  std::string text = "Example " + example.id + ": " + example.title + "\nGoal: " + example.goal + "\n\n";
  std::string line = Padded("", kFirstColumn) + Padded("goal", kColumn);
  for (const VariantOutcome& o : outcomes) line += Padded(std::string(NameOf(o.variant)), kColumn);
  text += WithoutTrailingBlanks(line);
  for (const Goal& goal : example.goals) {
    line = Padded(example.scenario.projects[goal.project].name + " of the " +
                      example.scenario.resources[goal.resource].name + ", " + goal.when,
                  kFirstColumn) +
           Padded(Fixed(goal.share, 2), kColumn);
    for (const VariantOutcome& o : outcomes)
      line += Padded(Fixed(ShareOf(o.outcome, goal), 3) + (Met(o.outcome, goal) ? "" : " *"), kColumn);
    text += WithoutTrailingBlanks(line);
  }
  for (const Figure& figure : kFigures) {
    line = Padded(figure.text, kFirstColumn + kColumn);
    for (const VariantOutcome& o : outcomes)
      line += Padded(Fixed(o.outcome.metrics.*figure.value, 3), kColumn);
    text += WithoutTrailingBlanks(line);
  }
  return text;
}

nlohmann::json ExampleJson(const Example& example, const std::vector<VariantOutcome>& outcomes) {
  nlohmann::json json = {{"example", example.id},
                         {"title", example.title},
                         {"goal", example.goal},
                         {"days", example.scenario.duration / kDay}};
  for (const VariantOutcome& o : outcomes) {
    nlohmann::json variant = {{"requests", o.outcome.requests.size()}};
    variant["requests_without_jobs"] =
        std::count_if(o.outcome.requests.begin(), o.outcome.requests.end(), [](const RequestRecord& record) {
          return std::all_of(record.jobs.begin(), record.jobs.end(), [](std::size_t n) { return n == 0; });
        });
    for (const Figure& figure : kFigures) variant["metrics"][figure.key] = o.outcome.metrics.*figure.value;
    variant["goals"] = nlohmann::json::array();
    for (const Goal& goal : example.goals)
      variant["goals"].push_back({{"project", example.scenario.projects[goal.project].name},
                                  {"resource", example.scenario.resources[goal.resource].name},
                                  {"from_day", goal.from / kDay},
                                  {"to_day", goal.to / kDay},
                                  {"goal", goal.share},
                                  {"share", ShareOf(o.outcome, goal)},
                                  {"met", Met(o.outcome, goal)}});
    json["variants"][std::string(NameOf(o.variant))] = std::move(variant);
  }
  return json;
}

}  // namespace cobblestone::workfetch
