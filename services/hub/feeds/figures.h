// Numbers of statistics files, from their decimal text. Nothing here passes through a double where the hub adds
// up, so that sums are those of the file's digits. Pure functions, for any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/credit/accounts/account.h"
#include "services/hub/feeds/file_problem.h"

namespace cobblestone::hub {

// An amount of credit as the file has it.
struct CreditFigure {
  credit::MicroCredit micro = 0;
  // Digits behind the point. Up to 6, `micro` is exactly the number of the file; with more it is rounded to the
  // nearest micro-credit, ties to even. BOINC's exporter writes 6.
  std::uint8_t decimals = 0;

  friend bool operator==(const CreditFigure&, const CreditFigure&) = default;
};

// Totals are never negative in a statistics file, since the exporter writes records with total_credit > 0 only.
// A recent average can be, in projects that corrected credit by hand.
enum class Sign : std::uint8_t { kNotNegative, kAny };

// kNone and *out, or the problem, with *out unchanged. The whole text must be the number: no blank, no plus. At most
// 20 digits, as in the largest figures that any statistics site accepts. "-0.000000" is zero.
FileProblem ParseCredit(std::string_view text, Sign sign, CreditFigure* out);

// Ids and counts: digits only, at most 2^64 - 1.
FileProblem ParseWhole(std::string_view text, std::uint64_t* out);

// UNIX s of the year 5138; every time in a file is before.
inline constexpr double kLastTime = 1e11;

// UNIX seconds, with or without decimals. Times before 1970 (BOINC writes -1 and 0 for "never") become 0. Beyond the
// year 5138 (10^11): kOutOfRange.
FileProblem ParseTime(std::string_view text, double* out);

// A measured value of a machine, such as its memory. Absent if the text is no finite decimal number: such a value
// refuses no file, because nothing is added up from it.
std::optional<double> ParseMeasure(std::string_view text);

// Where `bytes` contain CR LF, hexadecimal digits (and an extension after `;`), CR LF; npos: nowhere. No statistics file
// has such a line: each of its lines has a tag.
std::size_t FindChunkHeader(std::string_view bytes);

}  // namespace cobblestone::hub
