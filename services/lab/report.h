// The report of the laboratory: as a table, as JSON, and as a page that needs no other file and no network.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "services/lab/experiment.h"

namespace cobblestone::lab {

// A figure of Figures, with its name in JSON and its heading.
struct FigureColumn {
  const char* name;
  const char* heading;
  double Figures::*field;
};
std::span<const FigureColumn> FigureColumns();

Spread SpreadOf(const Measurement& measurement, double Figures::*field);

// "1.23", or "unbounded" if not finite.
std::string FigureText(double value);

std::string ReportTable(const std::vector<Measurement>& measurements);
// Numbers that are not finite are the text "unbounded".
nlohmann::json ReportJson(const LabOptions& options, const std::vector<Measurement>& measurements);
std::string ReportPage(const LabOptions& options, const std::vector<Measurement>& measurements);

}  // namespace cobblestone::lab
