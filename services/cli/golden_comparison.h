// Compares the grants of BOINC's own server (the output of a golden scenario) with the ledger, bit for bit.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/credit/accounts/account.h"
#include "services/embedded/engine.h"

namespace cobblestone::cli {

// By result: Cobblestones as a double.
using ExpectedGrants = std::unordered_map<std::uint64_t, double>;

// `path`: golden output, flavour `exact` (tests/golden/data), plain or gzip. Returns the valid results of the lines
// `wu` and `late`. InvalidArgument: the file has another format.
Result<ExpectedGrants> ReadExpectedGrants(const std::string& path);

struct GoldenComparison {
  std::uint64_t compared = 0;  // valid results of the golden output
  // Compared results with other bits or without a grant, plus grants to other results.
  std::uint64_t different = 0;
  std::vector<std::string> first{};  // the first ten differences, as text
  credit::MicroTotal micro = 0;      // sum of all grants
  // A result that is worth explaining: both scales in its claim, and other replicas.
  std::uint64_t example = 0;
};

// Compares all grants of the project. Also checks that each was rounded once: to the nearest micro-credit, ties to
// even.
Result<GoldenComparison> CompareWithGolden(embedded::Engine& engine, ProjectId project,
                                           const ExpectedGrants& expected);

}  // namespace cobblestone::cli
