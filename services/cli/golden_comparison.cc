#include "services/cli/golden_comparison.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/wire/control/topics.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/boinc/line_file.h"

namespace cobblestone::cli {

using embedded::Engine;

namespace {

constexpr std::size_t kMaxListed = 10;
constexpr int kValid = 1;  // validate_state of the golden data

// Non-finite numbers are text in the golden data.
std::optional<double> Number(const nlohmann::json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

bool SameBits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

std::string Digits(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

void Differs(GoldenComparison& comparison, std::uint64_t result, const std::string& how) {
  ++comparison.different;
  if (comparison.first.size() < kMaxListed)
    comparison.first.push_back("result " + std::to_string(result) + ": " + how);
}

}  // namespace

Result<ExpectedGrants> ReadExpectedGrants(const std::string& path) {
  auto file = boinc::LineFile::Open(path);
  if (!file.ok()) return file.status();
  ExpectedGrants expected;
  std::string line;
  for (std::uint64_t number = 1;; ++number) {
    bool more = false;
    if (Status status = file->Next(&line, &more); !status.ok()) return status;
    if (!more) break;
    const auto bad = [&] {
      return Status::InvalidArgument(
          path + " line " + std::to_string(number) +
          " is not output of a golden scenario; use the .exact.jsonl.gz of the input");
    };
    const nlohmann::json outcome = nlohmann::json::parse(line, nullptr, false);
    if (!outcome.is_object()) return bad();
    const std::string event = outcome.value("ev", "");
    if (event != "wu" && event != "late") continue;
    const auto results = outcome.find("results");
    if (results == outcome.end() || !results->is_array()) return bad();
    for (const nlohmann::json& result : *results) {
      if (!result.is_object() || !result.contains("id") || !result.contains("granted_credit")) return bad();
      if (result.value("validate_state", 0) != kValid) continue;
      const auto credit = Number(result["granted_credit"]);
      if (!credit || !result["id"].is_number_unsigned()) return bad();
      expected[result["id"].get<std::uint64_t>()] = *credit;
    }
  }
  return expected;
}

Result<GoldenComparison> CompareWithGolden(Engine& engine, ProjectId project,
                                           const ExpectedGrants& expected) {
  GoldenComparison comparison{.compared = expected.size()};
  ExpectedGrants missing = expected;
  Status bad;
  for (std::uint32_t partition = 0; partition < engine.pipeline().partitions; ++partition) {
    const Status read = engine.ForEachRecord({wire::kGrants, partition}, [&](std::uint64_t offset,
                                                                             std::string_view record) {
      wire::Grant grant;
      if (!wire::DecodeGrant(record, &grant)) {
        bad = Status::Corrupted("grant " + std::to_string(offset) + " of partition " +
                                std::to_string(partition) + " cannot be decoded");
        return false;
      }
      if (grant.head.project != project || grant.head.kind != wire::GrantKind::kFinal) return true;
      const std::uint64_t result = grant.head.result.value;
      comparison.micro += grant.head.credit_micro;
      const auto found = expected.find(result);
      if (found == expected.end()) {
        Differs(comparison, result, "granted " + Digits(grant.detail.credit) + ", BOINC grants nothing");
      } else if (missing.erase(result) == 0) {
        Differs(comparison, result, "was granted twice");
      } else if (!SameBits(found->second, grant.detail.credit)) {
        Differs(comparison, result,
                "granted " + Digits(grant.detail.credit) + ", BOINC grants " + Digits(found->second));
      } else if (credit::RoundToMicro(grant.detail.credit) != grant.head.credit_micro) {
        Differs(comparison, result,
                Digits(grant.detail.credit) + " was rounded to " + std::to_string(grant.head.credit_micro));
      }
      if (grant.claim && grant.claim->mode == credit::Mode::kNormal && !grant.others.empty())
        comparison.example = result;
      return true;
    });
    if (!read.ok()) return read;
    if (!bad.ok()) return bad;
  }
  for (const auto& [result, credit] : missing)
    Differs(comparison, result, "was not granted, BOINC grants " + Digits(credit));
  if (comparison.example == 0 && !expected.empty()) comparison.example = expected.begin()->first;
  return comparison;
}

}  // namespace cobblestone::cli
