// How values are written in BOINC's statistics files. Rules: tests/golden/export/README.md, 'General format' and 'Text'.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cobblestone::statistics {

constexpr std::size_t kColumnBytes = 255;   // all columns of text but
constexpr std::size_t kBlobBytes = 65'535;  // misc and description
constexpr std::size_t kEscapedLimit =
    65'528;  // what is escaped ends behind the first escape that goes beyond

// As much of a column as the exporting program keeps: to `limit` bytes (in the midst of a character, if it comes so), and to
// the first byte 0, with which texts end there.
std::string_view Cut(std::string_view text, std::size_t limit = kColumnBytes);

// The escapes of the export: byte by byte, so that a character of several bytes becomes several numbers.
void AppendEscaped(std::string_view text, std::string* out);

// Six digits behind the point, never an exponent, rounded from the exact binary value, half to even.
void AppendFixed(double value, std::string* out);
// The same without digits behind the point.
void AppendRounded(double value, std::string* out);
void AppendWhole(std::int64_t value, std::string* out);
// Ids are unsigned there: -1 is 18446744073709551615.
void AppendId(std::int64_t value, std::string* out);

// 32 lower-case hexadecimal digits of the MD5 of a, then b.
std::string Md5Hex(std::string_view a, std::string_view b);

}  // namespace cobblestone::statistics
