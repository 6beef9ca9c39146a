// Formats values as in BOINC's statistics files. Rules: tests/golden/export/README.md,
// 'General format' and 'Text'.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cobblestone::exports {

constexpr std::size_t kColumnBytes = 255;   // all text columns except
constexpr std::size_t kBlobBytes = 65'535;  // misc and description
// Escaped text ends after the first escape that exceeds this length.
constexpr std::size_t kEscapedLimit = 65'528;

// The part of a column that the exporting program keeps: up to `limit` bytes (even in the middle of a
// character), and up to the first byte 0, which ends a text there.
std::string_view Cut(std::string_view text, std::size_t limit = kColumnBytes);

// Escapes byte by byte, as upstream: a character of several bytes becomes several numeric escapes.
void AppendEscaped(std::string_view text, std::string* out);

// Six decimals, never an exponent, rounded from the exact binary value, half to even.
void AppendFixed(double value, std::string* out);
// The same without decimals.
void AppendRounded(double value, std::string* out);
void AppendWhole(std::int64_t value, std::string* out);
// Ids are unsigned upstream: -1 is written as 18446744073709551615.
void AppendId(std::int64_t value, std::string* out);

// 32 lower-case hexadecimal digits of the MD5 of a, then b.
std::string Md5Hex(std::string_view a, std::string_view b);

}  // namespace cobblestone::exports
