#include <algorithm>
#include <cmath>
#include <cstdio>

#include "services/lab/report.h"

namespace cobblestone::lab {
namespace {

// All lengths in pixels.
constexpr double kPlotLeft = 300;
constexpr double kPlotWidth = 560;
constexpr double kPlotRow = 24;
constexpr double kPlotHead = 30;

constexpr const char* kStyle =
    "body{font:15px/1.45 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}"
    "table{border-collapse:collapse;font-size:13px}td,th{padding:3px 9px;text-align:right;border-bottom:1px solid "
    "#ddd}td:first-child,th:first-child{text-align:left}.high{color:#b33a00;font-weight:600}svg{max-width:100%}";

std::string HtmlText(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

std::string Length(double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string SvgText(double x, double y, const char* anchor, const std::string& text) {
  return "<text x=\"" + Length(x) + "\" y=\"" + Length(y) + "\" text-anchor=\"" + anchor + "\">" +
         HtmlText(text) + "</text>\n";
}

std::string SvgLine(double x1, double y1, double x2, double y2, const char* style) {
  return "<line x1=\"" + Length(x1) + "\" y1=\"" + Length(y1) + "\" x2=\"" + Length(x2) + "\" y2=\"" +
         Length(y2) + "\" " + style + "/>\n";
}

// Gains of one condition on a logarithmic axis: a dot for each seed, the mean, and its 95 % interval.
std::string GainPlot(const std::vector<const Measurement*>& rows) {
  constexpr double kTicks[] = {0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000};
  double greatest = 2;
  double least = 0.5;
  for (const Measurement* row : rows) {
    for (const Figures& figures : row->seeds) {
      if (!std::isfinite(figures.gain)) continue;
      greatest = std::max(greatest, figures.gain * 1.1);
      if (figures.gain > 0) least = std::min(least, figures.gain / 1.1);
    }
  }
  least = std::max(least, 0.01);
  const auto at = [&](double gain) {
    const double bounded = std::clamp(std::isfinite(gain) ? gain : greatest, least, greatest);
    return kPlotLeft + kPlotWidth * std::log(bounded / least) / std::log(greatest / least);
  };
  const double height = kPlotHead + kPlotRow * static_cast<double>(rows.size()) + 10;
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 900 " + Length(height) +
                    "\" width=\"900\" font-size=\"12\" role=\"img\" aria-label=\"Gain of each attack\">\n";
  for (const double tick : kTicks) {
    if (tick < least || tick > greatest) continue;
    char label[16];
    std::snprintf(label, sizeof label, "%g", tick);
    svg += SvgText(at(tick), 14, "middle", label);
    svg += SvgLine(at(tick), 20, at(tick), height - 4, tick == 1 ? "stroke=\"#555\"" : "stroke=\"#ddd\"");
  }
  double y = kPlotHead + kPlotRow / 2;
  for (const Measurement* row : rows) {
    const Spread gain = SpreadOf(*row, &Figures::gain);
    svg += SvgText(kPlotLeft - 14, y + 4, "end", row->id + " " + row->name);
    svg += SvgLine(at(gain.mean - gain.half_width), y, at(gain.mean + gain.half_width), y,
                   "stroke=\"#0072b2\" stroke-width=\"3\"");
    for (const Figures& figures : row->seeds)
      svg += "<circle cx=\"" + Length(at(figures.gain)) + "\" cy=\"" + Length(y) +
             "\" r=\"3\" fill=\"#56b4e9\" fill-opacity=\".7\"/>\n";
    svg += "<circle cx=\"" + Length(at(gain.mean)) + "\" cy=\"" + Length(y) +
           "\" r=\"4.5\" fill=\"#0072b2\"><title>" + FigureText(gain.mean) + "</title></circle>\n";
    y += kPlotRow;
  }
  return svg + "</svg>\n";
}

std::string FigureTable(const std::vector<const Measurement*>& rows) {
  constexpr double kBound = 1.1;
  std::string table =
      "<table><tr><th>attack</th><th>attackers</th><th>gain</th><th>&plusmn; 95 %</th><th>worst seed</th>";
  for (const FigureColumn& column : FigureColumns().subspan(1))
    table += std::string("<th>") + column.heading + "</th>";
  table += "</tr>\n";
  for (const Measurement* row : rows) {
    const Spread gain = SpreadOf(*row, &Figures::gain);
    table += "<tr><td>" + HtmlText(row->id + " " + row->name) + "</td><td>" + std::to_string(row->attackers) +
             "</td><td" + (gain.mean > kBound ? " class=\"high\"" : "") + ">" + FigureText(gain.mean) +
             "</td><td>" + FigureText(gain.half_width) + "</td><td>" + FigureText(gain.greatest) + "</td>";
    for (const FigureColumn& column : FigureColumns().subspan(1))
      table += "<td>" + FigureText(SpreadOf(*row, column.field).mean) + "</td>";
    table += "</tr>\n";
  }
  return table + "</table>\n";
}

}  // namespace

std::string ReportPage(const LabOptions& options, const std::vector<Measurement>& measurements) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width\"><title>Fairness laboratory</title><style>" +
      std::string(kStyle) + "</style></head><body>\n<h1>Fairness laboratory</h1>\n<p>" +
      std::to_string(options.hosts) + " honest hosts, the first " + std::to_string(options.jobs) +
      " granted results of each attacker, " + std::to_string(options.seeds) +
      " seeds. Gain: granted/deserved credit of the attackers, divided by that of the same machines in a "
      "world without the attack. 1 means that the attack pays nothing; above 1.10 is marked.</p>\n";
  for (std::size_t i = 0; i < measurements.size();) {
    std::vector<const Measurement*> rows;
    const std::string title = NameOf(measurements[i].condition);
    for (; i < measurements.size() && NameOf(measurements[i].condition) == title; ++i)
      rows.push_back(&measurements[i]);
    page += "<h2>" + HtmlText(title) + "</h2>\n" + GainPlot(rows) + FigureTable(rows);
  }
  return page + "</body></html>\n";
}

}  // namespace cobblestone::lab
