#include "services/export/php_number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace cobblestone::exports {
namespace {

constexpr int kDigits = 14;
constexpr double kFirstWithExponentInSql =
    1e15;  // from here on the database's text has an exponent, which PHP reads as a double

}  // namespace

void PhpNumber::Add(double value) {
  if (value == std::floor(value) && std::abs(value) < kFirstWithExponentInSql)
    return AddWhole(static_cast<std::int64_t>(value));
  number_ = (is_whole_ ? static_cast<double>(whole_) : number_) + value;
  is_whole_ = false;
}

void PhpNumber::AddWhole(std::int64_t value) {
  std::int64_t sum = 0;
  if (is_whole_ && !__builtin_add_overflow(whole_, value, &sum)) {
    whole_ = sum;
    return;
  }
  number_ = (is_whole_ ? static_cast<double>(whole_) : number_) + static_cast<double>(value);
  is_whole_ = false;
}

std::string PhpNumber::Text() const {
  if (is_whole_) return std::to_string(whole_);
  if (number_ == 0) return std::signbit(number_) ? "-0" : "0";
  // d.ddddddddddddde+xx, correctly rounded; the rest only moves the decimal point.
  std::array<char, 40> scientific;
  const auto end = std::to_chars(scientific.data(), scientific.data() + scientific.size(), std::abs(number_),
                                 std::chars_format::scientific, kDigits - 1);
  const std::string text(scientific.data(), end.ptr);
  const std::size_t e = text.find('e');
  const int exponent = std::atoi(text.c_str() + e + 1);
  std::string digits = text.substr(0, 1) + text.substr(2, e - 2);
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  const std::string sign = std::signbit(number_) ? "-" : "";
  if (exponent < -4 || exponent >= kDigits) {
    return sign + digits[0] + "." + (digits.size() > 1 ? digits.substr(1) : "0") + "E" +
           (exponent < 0 ? "-" : "+") + std::to_string(std::abs(exponent));
  }
  if (exponent < 0) return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0');
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

}  // namespace cobblestone::exports
