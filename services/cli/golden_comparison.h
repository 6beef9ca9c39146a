// What BOINC's own server granted (the output of a golden scenario) against the ledger, bit for bit.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/credit/accounts/account.h"
#include "services/embedded/engine.h"

namespace cobblestone {

// By result: Cobblestones, as a double.
using ExpectedGrants = std::unordered_map<std::uint64_t, double>;

// `path`: golden output, flavour `exact` (tests/golden/data), plain or gzip. Valid results of the lines
// `wu` and `late`. InvalidArgument where it is no such file.
Result<ExpectedGrants> ReadExpectedGrants(const std::string& path);

struct GoldenComparison {
  std::uint64_t compared = 0;        // valid results of the golden output
  std::uint64_t different = 0;       // of these: other bits, or no grant; and grants to other results
  std::vector<std::string> first{};  // the first ten differences, in words
  credit::MicroTotal micro = 0;      // granted in all
  std::uint64_t example = 0;  // a result to explain: both scales in its claim, other replicas beside it
};

// All grants of the project. Also that each was rounded once: nearest micro-credit, ties to even.
Result<GoldenComparison> CompareWithGolden(Engine& engine, ProjectId project, const ExpectedGrants& expected);

}  // namespace cobblestone
