// A day as people write it: "2026-12-01", in UTC.
#pragma once

#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cobblestone {

// The UNIX day of YYYY-MM-DD (Gregorian calendar), negative before 1970; nothing if the text is not exactly one day. Any thread.
inline std::optional<std::int64_t> ParseDay(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  unsigned year = 0;
  unsigned month = 0;
  unsigned day = 0;
  const auto read = [](std::string_view digits, unsigned* number) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *number);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  if (!read(text.substr(0, 4), &year) || !read(text.substr(5, 2), &month) || !read(text.substr(8, 2), &day))
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count();
}

}  // namespace cobblestone
