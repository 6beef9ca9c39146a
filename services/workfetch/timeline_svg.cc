#include "services/workfetch/timeline_svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace cobblestone::workfetch {
namespace {

// All lengths in pixels.
constexpr double kWidth = 960;
constexpr double kLeft = 110;  // of the plots
constexpr double kRight = 880;
constexpr double kRowHeight = 26;
constexpr double kRowGap = 8;
constexpr double kPanelGap = 72;
constexpr double kTop = 140;
constexpr std::size_t kColumns = 120;
constexpr std::size_t kTicks = 10;

// Distinguishable with the common forms of colour blindness (Okabe and Ito).
constexpr std::array<const char*, 6> kColours = {"#0072b2", "#e69f00", "#009e73",
                                                 "#cc79a7", "#56b4e9", "#d55e00"};

std::string Pixels(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  std::string result = text.data();
  if (result.ends_with(".0")) result.resize(result.size() - 2);
  return result;
}

std::string Escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else {
      result += c;
    }
  }
  return result;
}

std::string Text(double x, double y, const std::string& text, const std::string& attributes = "") {
  return "<text x=\"" + Pixels(x) + "\" y=\"" + Pixels(y) + "\"" +
         (attributes.empty() ? "" : " " + attributes) + ">" + Escaped(text) + "</text>\n";
}

std::string Rectangle(double x, double y, double width, double height, const std::string& fill) {
  return "<rect x=\"" + Pixels(x) + "\" y=\"" + Pixels(y) + "\" width=\"" + Pixels(width) + "\" height=\"" +
         Pixels(height) + "\" fill=\"" + fill + "\"/>\n";
}

const char* Meaning(Variant variant) {
  switch (variant) {
    case Variant::kSeed: return "seed: debts as S004 describes them";
    case Variant::kRec: return "rec: recent estimated credit, half-life 10 days";
    case Variant::kHybrid: break;
  }
  return "hybrid: debts, rule H and the probe rule";
}

struct Row {
  std::size_t project;
  std::size_t resource;
};

class Picture {
 public:
  Picture(const Example& example, const std::vector<VariantOutcome>& outcomes)
      : example_(example), outcomes_(outcomes), duration_(example.scenario.duration) {
    for (std::size_t r = 0; r < example.scenario.resources.size(); ++r)
      for (std::size_t p = 0; p < example.scenario.projects.size(); ++p)
        if (std::any_of(outcomes.begin(), outcomes.end(),
                        [&](const VariantOutcome& o) { return o.outcome.Used(p, r, 0, duration_) > 0; }))
          rows_.push_back({p, r});
  }

  std::string Svg() {
    const double panel = static_cast<double>(rows_.size()) * (kRowHeight + kRowGap);
    const double height = kTop + static_cast<double>(outcomes_.size()) * (panel + kPanelGap) + 4;
    std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + Pixels(kWidth) + " " +
                      Pixels(height) + "\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n";
    svg += "<title>" + Escaped("Example " + example_.id + ": " + example_.title) + "</title>\n";
    svg += Rectangle(0, 0, kWidth, height, "#fff");
    svg += Text(16, 26, "Example " + example_.id + ": " + example_.title,
                "font-size=\"17\" font-weight=\"bold\"");
    svg += Text(16, 46, "Goal: " + example_.goal);
    svg += Text(16, 88, "Height of a bar: part of the resource that the project uses, of all instances.");
    svg += Legend();
    double y = kTop;
    for (const VariantOutcome& o : outcomes_) {
      svg += Panel(o, y, panel);
      y += panel + kPanelGap;
    }
    return svg + "</svg>\n";
  }

 private:
  double X(double at) const { return kLeft + (kRight - kLeft) * at / duration_; }

  const char* ColourOf(std::size_t project) const { return kColours[project % kColours.size()]; }

  std::string Legend() const {
    std::string svg;
    double x = 16;
    for (std::size_t p = 0; p < example_.scenario.projects.size(); ++p) {
      svg += Rectangle(x, 58, 12, 12, ColourOf(p));
      svg += Text(x + 17, 68, "project " + example_.scenario.projects[p].name);
      x += 90;
    }
    svg += Rectangle(x, 66, 12, 4, "#b00020");
    svg += Text(x + 17, 68, "requests that brought no job of the type");
    return svg;
  }

  std::string Panel(const VariantOutcome& o, double top, double height) const {
    std::string svg = Text(16, top - 22, Meaning(o.variant), "font-weight=\"bold\"");
    svg += Text(kRight + 8, top - 6, "mean use", "font-size=\"11\"");
    svg += Axis(top, top + height - kRowGap / 2);
    double y = top;
    for (const Row& row : rows_) {
      svg += Strip(o.outcome, row, y);
      y += kRowHeight + kRowGap;
    }
    return svg + Marks(top, top + height - kRowGap / 2);
  }

  std::string Axis(double top, double bottom) const {
    // 1, 2 or 5 times a power of ten days, at most kTicks of them.
    double step = 1;
    for (std::size_t i = 0; duration_ / kDay / step > kTicks; ++i) step *= i % 3 == 1 ? 2.5 : 2;
    std::string svg;
    for (double day = 0; day <= duration_ / kDay; day += step) {
      const std::string x = Pixels(X(day * kDay));
      svg += "<path d=\"M" + x + " " + Pixels(top) + "V" + Pixels(bottom + 4) + "\" stroke=\"#ddd\"/>\n";
      svg += Text(X(day * kDay), bottom + 17, Pixels(day), "text-anchor=\"middle\" font-size=\"11\"");
    }
    return svg + Text(kRight + 24, bottom + 17, "days", "font-size=\"11\"");
  }

  std::string Strip(const Outcome& outcome, const Row& row, double top) const {
    const double bottom = top + kRowHeight;
    const double instances = example_.scenario.resources[row.resource].instances;
    std::string svg = Text(
        16, bottom - 8,
        example_.scenario.resources[row.resource].name + ", " + example_.scenario.projects[row.project].name);
    std::string path = "M" + Pixels(kLeft) + " " + Pixels(bottom);
    std::string level;
    const std::size_t bins = outcome.used.size();
    for (std::size_t c = 0; c < kColumns; ++c) {
      const std::size_t first = bins * c / kColumns;
      const std::size_t last = std::max(first + 1, bins * (c + 1) / kColumns);
      double used = 0;
      for (std::size_t i = first; i < last; ++i) used += outcome.used[i][row.project][row.resource];
      const double part = std::min(1.0, used / (static_cast<double>(last - first) * outcome.bin * instances));
      const std::string y = Pixels(bottom - part * kRowHeight);
      if (y != level) path += "H" + Pixels(X(static_cast<double>(first) * outcome.bin)) + "V" + y;
      level = y;
    }
    path += "H" + Pixels(kRight) + "V" + Pixels(bottom) + "Z";
    svg += "<path d=\"" + path + "\" fill=\"" + ColourOf(row.project) + "\"/>\n";
    svg += "<path d=\"M" + Pixels(kLeft) + " " + Pixels(bottom) + "H" + Pixels(kRight) +
           "\" stroke=\"#888\"/>\n";
    svg += Fruitless(outcome, row, bottom);
    const double mean = outcome.Used(row.project, row.resource, 0, duration_) / (duration_ * instances);
    return svg + Text(kRight + 8, bottom - 8, Pixels(100 * mean) + " %");
  }

  // One dash per column, below the strip.
  std::string Fruitless(const Outcome& outcome, const Row& row, double bottom) const {
    std::array<bool, kColumns> columns{};
    for (const RequestRecord& record : outcome.requests) {
      if (record.request.project != row.project || !record.request.Wants(row.resource) ||
          record.jobs[row.resource] > 0)
        continue;
      columns[std::min(kColumns - 1, static_cast<std::size_t>(record.at / duration_ * kColumns))] = true;
    }
    const double width = (kRight - kLeft) / kColumns;
    std::string path;
    for (std::size_t c = 0; c < kColumns; ++c) {
      if (!columns[c]) continue;
      if (c == 0 || !columns[c - 1])
        path += "M" + Pixels(kLeft + width * static_cast<double>(c)) + " " + Pixels(bottom + 3);
      if (c + 1 == kColumns || !columns[c + 1])
        path += "H" + Pixels(kLeft + width * static_cast<double>(c + 1));
    }
    return path.empty() ? "" : "<path d=\"" + path + "\" stroke=\"#b00020\" stroke-width=\"3\"/>\n";
  }

  std::string Marks(double top, double bottom) const {
    std::string svg;
    for (const Mark& mark : example_.marks) {
      svg += "<path d=\"M" + Pixels(X(mark.at)) + " " + Pixels(top - 3) + "V" + Pixels(bottom) +
             "\" stroke=\"#222\" stroke-dasharray=\"4 3\"/>\n";
      svg += Text(X(mark.at) + 3, top - 6, mark.text, "font-size=\"11\"");
    }
    return svg;
  }

  const Example& example_;
  const std::vector<VariantOutcome>& outcomes_;
  double duration_;
  std::vector<Row> rows_;
};

}  // namespace

std::string TimelineSvg(const Example& example, const std::vector<VariantOutcome>& outcomes) {
  return Picture(example, outcomes).Svg();
}

}  // namespace cobblestone::workfetch
