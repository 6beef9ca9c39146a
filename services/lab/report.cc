#include "services/lab/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace cobblestone::lab {
namespace {

constexpr FigureColumn kColumns[] = {
    {"gain", "gain", &Figures::gain},
    {"relative_gain", "relative", &Figures::relative_gain},
    {"worst_person", "person", &Figures::worst_person},
    {"worst_account", "account", &Figures::worst_account},
    {"income", "income", &Figures::income},
    {"honest_work", "work", &Figures::honest_work},
    {"collateral", "collateral", &Figures::collateral},
    {"worst_collateral", "worst host", &Figures::worst_collateral},
    {"cv_identical", "cv", &Figures::cv_identical},
    {"device_neutrality", "devices", &Figures::device_neutrality},
    {"convergence", "converged", &Figures::convergence},
    {"drift", "drift", &Figures::drift},
};

nlohmann::json Number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json("unbounded");
}

}  // namespace

std::span<const FigureColumn> FigureColumns() { return kColumns; }

Spread SpreadOf(const Measurement& measurement, double Figures::*field) {
  std::vector<double> values;
  for (const Figures& figures : measurement.seeds) values.push_back(figures.*field);
  return SpreadOf(values);
}

std::string FigureText(double value) {
  if (!std::isfinite(value)) return "unbounded";
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", std::abs(value) >= 100 ? 0 : 2, value);
  return text;
}

std::string ReportTable(const std::vector<Measurement>& measurements) {
  const auto cell = [](const std::string& text, std::size_t width) {
    return std::string(width > text.size() ? width - text.size() : 1, ' ') + text;
  };
  std::string table;
  std::string heading;
  for (const Measurement& measurement : measurements) {
    const std::string title = NameOf(measurement.condition) + "\n";
    if (title != heading) {
      table += (table.empty() ? "" : "\n") + title;
      table += "  " + std::string("attack") + std::string(34, ' ') + "    gain    +-95%   worst";
      for (const FigureColumn& column : FigureColumns().subspan(1)) table += cell(column.heading, 11);
      table += '\n';
      heading = title;
    }
    std::string name = measurement.id + " " + measurement.name;
    name.resize(std::max<std::size_t>(38, name.size()), ' ');
    const Spread gain = SpreadOf(measurement, &Figures::gain);
    table += "  " + name + cell(FigureText(gain.mean), 10) + cell(FigureText(gain.half_width), 9) +
             cell(FigureText(gain.greatest), 8);
    for (const FigureColumn& column : FigureColumns().subspan(1))
      table += cell(FigureText(SpreadOf(measurement, column.field).mean), 11);
    table += '\n';
  }
  return table;
}

nlohmann::json ReportJson(const LabOptions& options, const std::vector<Measurement>& measurements) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Measurement& measurement : measurements) {
    nlohmann::json figures;
    for (const FigureColumn& column : FigureColumns()) {
      const Spread spread = SpreadOf(measurement, column.field);
      nlohmann::json seeds = nlohmann::json::array();
      for (const Figures& one : measurement.seeds) seeds.push_back(Number(one.*column.field));
      figures[column.name] = {{"mean", Number(spread.mean)},
                              {"least", Number(spread.least)},
                              {"greatest", Number(spread.greatest)},
                              {"half_width_95", Number(spread.half_width)},
                              {"seeds", seeds}};
    }
    rows.push_back({{"attack", measurement.id},
                    {"name", measurement.name},
                    {"attackers", measurement.attackers},
                    {"policy", measurement.condition.policy},
                    {"replication", NameOf(measurement.condition.replication)},
                    {"sizes", NameOf(measurement.condition.sizes)},
                    {"world", NameOf(measurement.condition.world)},
                    {"figures", figures}});
  }
  return {{"hosts", options.hosts}, {"jobs", options.jobs}, {"seeds", options.seeds}, {"measurements", rows}};
}

}  // namespace cobblestone::lab
