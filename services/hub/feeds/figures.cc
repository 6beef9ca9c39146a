#include "services/hub/feeds/figures.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

namespace cobblestone::hub {
namespace {

constexpr std::size_t kMostDigits = 20;
constexpr std::size_t kDecimals = 6;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool StartsWithWord(std::string_view text, std::string_view word) {
  return text.size() >= word.size() && std::equal(word.begin(), word.end(), text.begin(), [](char a, char b) {
           return a == std::tolower(static_cast<unsigned char>(b));
         });
}

// Digits in groups of three with one kind of separator between them: 1,234,567.5 or 1 234 or 1.234.567.
bool HasThousands(std::string_view text) {
  for (const char separator : {',', ' ', '\'', '_', '.'}) {
    std::size_t groups = 0;
    std::size_t at = 0;
    while (at < text.size() && IsDigit(text[at])) ++at;
    if (at == 0 || at > 3) return false;
    while (at + 3 < text.size() && text[at] == separator && IsDigit(text[at + 1]) && IsDigit(text[at + 2]) &&
           IsDigit(text[at + 3])) {
      at += 4;
      ++groups;
    }
    if (groups >= (separator == '.' ? 2u : 1u) && (at == text.size() || !IsDigit(text[at]))) return true;
  }
  return false;
}

// The reason why a text is no plain decimal number.
FileProblem ProblemOfFigure(std::string_view text) {
  if (text.empty()) return FileProblem::kNoFigure;
  if (text.find_first_of("\r\n") != std::string_view::npos) {
    const bool hex_line = FindChunkHeader(text) != std::string_view::npos ||
                          text.find_first_not_of("0123456789abcdefABCDEF.\r\n") == std::string_view::npos;
    return hex_line ? FileProblem::kChunkHeader : FileProblem::kMalformed;
  }
  const std::string_view body = text.front() == '-' || text.front() == '+' ? text.substr(1) : text;
  if (StartsWithWord(body, "nan")) return FileProblem::kNotANumber;
  if (StartsWithWord(body, "inf")) return FileProblem::kInfinite;
  if (HasThousands(body)) return FileProblem::kThousands;
  const std::size_t e = body.find_first_of("eE");
  if (e != std::string_view::npos && e > 0 && IsDigit(body[0]) &&
      body.find_first_not_of("0123456789.eE+-") == std::string_view::npos)
    return FileProblem::kExponent;
  return FileProblem::kMalformed;
}

struct DecimalText {
  std::string_view whole;
  std::string_view fraction;
  bool negative = false;
};

// False: not digits with at most one point between them.
bool SplitDecimal(std::string_view text, DecimalText* out) {
  out->negative = !text.empty() && text.front() == '-';
  if (out->negative) text.remove_prefix(1);
  std::size_t at = 0;
  while (at < text.size() && IsDigit(text[at])) ++at;
  out->whole = text.substr(0, at);
  out->fraction = {};
  if (at == 0) return false;
  if (at == text.size()) return true;
  if (text[at] != '.') return false;
  out->fraction = text.substr(at + 1);
  return !out->fraction.empty() && std::all_of(out->fraction.begin(), out->fraction.end(), IsDigit);
}

// Whether the digits behind the sixth round the number up: more than half, or half of an odd number.
bool RoundsUp(std::string_view rest, bool odd) {
  if (rest.empty() || rest[0] < '5') return false;
  if (rest[0] > '5' || rest.find_first_not_of('0', 1) != std::string_view::npos) return true;
  return odd;
}

// Digits with at most one point between them whose number without the point is below 2^53: both it and the power of
// ten are doubles, so the quotient is the nearest double to the text. Absent: another form.
std::optional<double> PlainDecimal(std::string_view text) {
  static constexpr std::array<double, 16> kPowers = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                     1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  constexpr std::size_t kMostText = 17;
  if (text.empty() || text.size() > kMostText) return std::nullopt;
  std::uint64_t number = 0;
  std::size_t point = text.size();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.' && point == text.size() && i > 0 && i + 1 < text.size()) {
      point = i;
    } else if (IsDigit(text[i])) {
      number = number * 10 + static_cast<unsigned>(text[i] - '0');
    } else {
      return std::nullopt;
    }
  }
  const std::size_t decimals = point == text.size() ? 0 : text.size() - point - 1;
  if (number >= std::uint64_t{1} << 53 || decimals >= kPowers.size()) return std::nullopt;
  return static_cast<double>(number) / kPowers[decimals];
}

// The form of nearly all figures: up to 12 digits, a point, 6 digits. False: another form.
bool ParsePlainCredit(std::string_view text, CreditFigure* out) {
  constexpr std::size_t kMostWhole = 12;
  if (text.size() < kDecimals + 2 || text.size() > kMostWhole + 1 + kDecimals) return false;
  const std::size_t point = text.size() - kDecimals - 1;
  if (text[point] != '.') return false;
  std::uint64_t micro = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == point) continue;
    if (!IsDigit(text[i])) return false;
    micro = micro * 10 + static_cast<unsigned>(text[i] - '0');
  }
  *out = {.micro = static_cast<credit::MicroCredit>(micro), .decimals = kDecimals};
  return true;
}

}  // namespace

FileProblem ParseCredit(std::string_view text, Sign sign, CreditFigure* out) {
  if (ParsePlainCredit(text, out)) return FileProblem::kNone;
  DecimalText decimal;
  if (!SplitDecimal(text, &decimal)) return ProblemOfFigure(text);
  if (decimal.whole.size() + decimal.fraction.size() > kMostDigits) return FileProblem::kTooManyDigits;
  // At most 20 digits and 6 zeros: below 10^26.
  __extension__ unsigned __int128 micro = 0;
  for (const char c : decimal.whole) micro = micro * 10 + static_cast<unsigned>(c - '0');
  for (std::size_t i = 0; i < kDecimals; ++i)
    micro = micro * 10 + (i < decimal.fraction.size() ? static_cast<unsigned>(decimal.fraction[i] - '0') : 0);
  if (decimal.fraction.size() > kDecimals && RoundsUp(decimal.fraction.substr(kDecimals), (micro & 1) != 0))
    ++micro;
  if (decimal.negative && micro != 0 && sign == Sign::kNotNegative) return FileProblem::kNegative;
  if (micro > static_cast<std::uint64_t>(std::numeric_limits<credit::MicroCredit>::max()))
    return FileProblem::kOutOfRange;
  out->micro = static_cast<credit::MicroCredit>(micro);
  if (decimal.negative) out->micro = -out->micro;
  out->decimals = static_cast<std::uint8_t>(decimal.fraction.size());
  return FileProblem::kNone;
}

FileProblem ParseWhole(std::string_view text, std::uint64_t* out) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) return FileProblem::kOutOfRange;
  if (error != std::errc() || end != text.data() + text.size()) {
    DecimalText decimal;
    if (SplitDecimal(text, &decimal))
      return decimal.negative ? FileProblem::kNegative : FileProblem::kMalformed;
    return ProblemOfFigure(text);
  }
  *out = value;
  return FileProblem::kNone;
}

FileProblem ParseTime(std::string_view text, double* out) {
  std::optional<double> seconds = PlainDecimal(text);
  if (!seconds) {
    DecimalText decimal;
    if (!SplitDecimal(text, &decimal)) return ProblemOfFigure(text);
    seconds = ParseMeasure(text);
  }
  if (!seconds || *seconds > kLastTime) return FileProblem::kOutOfRange;
  *out = std::max(*seconds, 0.0);
  return FileProblem::kNone;
}

std::optional<double> ParseMeasure(std::string_view text) {
  if (const std::optional<double> plain = PlainDecimal(text)) return plain;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::size_t FindChunkHeader(std::string_view bytes) {
  for (std::size_t at = bytes.find("\r\n"); at != std::string_view::npos; at = bytes.find("\r\n", at + 1)) {
    std::size_t end = at + 2;
    while (end < bytes.size() && std::isxdigit(static_cast<unsigned char>(bytes[end])) != 0) ++end;
    if (end == at + 2 || end - at > 18) continue;
    if (end < bytes.size() && bytes[end] == ';') end = std::min(bytes.find('\r', end), bytes.size());
    if (bytes.substr(end).starts_with("\r\n")) return at;
  }
  return std::string_view::npos;
}

}  // namespace cobblestone::hub
