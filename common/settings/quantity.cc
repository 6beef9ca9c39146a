#include "common/settings/quantity.h"

#include <limits>
#include <span>

namespace cobblestone::settings {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
  bool shown = true;  // false: parsed, never written
};

constexpr Unit kByteUnits[] = {{"B", 1},
                               {"KiB", std::int64_t{1} << 10},
                               {"MiB", std::int64_t{1} << 20},
                               {"GiB", std::int64_t{1} << 30},
                               {"TiB", std::int64_t{1} << 40}};
constexpr Unit kTimeUnits[] = {{"us", 1},
                               {"ms", 1000},
                               {"s", 1000000},
                               {"min", std::int64_t{60} * 1000000},
                               {"h", std::int64_t{3600} * 1000000},
                               {"days", std::int64_t{86400} * 1000000},
                               {"day", std::int64_t{86400} * 1000000, false},
                               {"d", std::int64_t{86400} * 1000000, false}};

std::span<const Unit> UnitTable(Quantity quantity) {
  switch (quantity) {
    case Quantity::kBytes: return kByteUnits;
    case Quantity::kDuration: return kTimeUnits;
    case Quantity::kCount: break;
  }
  return {};
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

Status Wrong(std::string what) { return Status::InvalidArgument(std::move(what)); }

}  // namespace

Result<std::int64_t> ParseQuantity(Quantity quantity, std::string_view text) {
  // value = digits / 10^decimals, kept exact. 18 digits fit in 63 bits; no sensible setting needs more.
  constexpr int kMaxDigits = 18;
  std::int64_t digits = 0;
  std::int64_t divisor = 1;
  int seen = 0;
  bool point = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !point && seen > 0 && at + 1 < text.size() && IsDigit(text[at + 1])) {
      point = true;
    } else if (IsDigit(c)) {
      if (++seen > kMaxDigits) return Wrong("has too many digits");
      digits = digits * 10 + (c - '0');
      if (point) divisor *= 10;
    } else {
      break;
    }
  }
  if (!text.empty() && text.front() == '-') return Wrong("is negative");
  if (seen == 0) return Wrong("is not a number");
  std::string_view unit = text.substr(at);
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);

  std::int64_t factor = 0;
  if (quantity == Quantity::kCount) {
    if (!unit.empty()) return Wrong("is not a plain number");
    factor = 1;
  } else if (unit.empty()) {
    if (digits == 0) return 0;
    return Wrong("has no unit");
  } else {
    for (const Unit& known : UnitTable(quantity)) {
      if (known.name == unit) factor = known.factor;
    }
    if (factor == 0) return Wrong("has an unknown unit");
  }
  __extension__ using Wide = __int128;
  const Wide scaled = static_cast<Wide>(digits) * factor;
  if (scaled % divisor != 0) return Wrong("is too fine");
  const Wide value = scaled / divisor;
  if (value > std::numeric_limits<std::int64_t>::max()) return Wrong("is too large");
  return static_cast<std::int64_t>(value);
}

std::string FormatQuantity(Quantity quantity, std::int64_t value) {
  const Unit* best = nullptr;
  for (const Unit& unit : UnitTable(quantity)) {
    if (unit.shown && value % unit.factor == 0 && (value != 0 || best == nullptr)) best = &unit;
  }
  if (best == nullptr) return std::to_string(value);
  const std::int64_t count = value / best->factor;
  const std::string_view name = count == 1 && best->name == "days" ? "day" : best->name;
  return std::to_string(count) + " " + std::string(name);
}

std::string UnitsOf(Quantity quantity) {
  std::string out;
  for (const Unit& unit : UnitTable(quantity)) {
    if (!unit.shown) continue;
    if (!out.empty()) out += ", ";
    out += unit.name;
  }
  return out;
}

}  // namespace cobblestone::settings
