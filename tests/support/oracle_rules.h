// The oracle's own copy of the rules: when an event is well-formed, the credit of a claim, the credit of a workunit,
// and the rounding to micro-credits. Inside tests/support only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/events.pb.h"

namespace cobblestone::testing {

struct OracleClaim {
  std::uint64_t result = 0;
  std::uint64_t workunit = 0;
  std::uint64_t host = 0;
  std::uint64_t user = 0;
  std::uint64_t app = 0;
  std::uint64_t canonical = 0;
  std::uint32_t policy_version = 0;
  std::uint32_t pass = 0;  // the pass of the workunit that it belongs to
  std::uint32_t awaited = 0;
  double time = 0;
  double sent = 0;
  double received = 0;
  bool valid = false;
  bool late = false;
  bool expired = false;
  bool host_deleted = false;
  bool has_credit = false;  // a claim could be formed
  bool by_app = false;      // policy assigned: reported by the app
  double credit = 0;        // Cobblestones
};

struct OracleHost {
  double whetstone = 0;
  double dhrystone = 0;
  double cpus = 0;
};

// A policy with its constants.
class OraclePolicy {
 public:
  OraclePolicy() = default;
  OraclePolicy(std::string name, v1::PolicyConstants constants);

  // The amounts do not depend on other results, so the oracle computes them.
  [[nodiscard]] bool priced() const;
  // Claims of invalid results are awaited, too.
  [[nodiscard]] bool counts_invalid() const { return name_ == "runtime"; }
  // The user's team at the time of the grant counts, not at the time of the report.
  [[nodiscard]] bool team_at_grant() const { return name_ == "runtime" || name_ == "boinc"; }

  // Sets has_credit, by_app and credit.
  void Price(const v1::Completion& completion, const v1::Validation& validation, const OracleHost& host,
             OracleClaim* claim) const;
  // Cobblestones of each result. Claims in ascending order of result, none of them expired. `cap` 0: none.
  [[nodiscard]] double Settle(const std::vector<OracleClaim>& claims, double cap) const;

  friend bool operator==(const OraclePolicy& a, const OraclePolicy& b) {
    return a.name_ == b.name_ && a.constants_.SerializeAsString() == b.constants_.SerializeAsString();
  }

 private:
  [[nodiscard]] double CreditOf(double flops) const;
  [[nodiscard]] std::optional<double> BenchmarkFlops(const v1::Completion& completion,
                                                     const OracleHost& host) const;
  [[nodiscard]] double SettleReplicas(const std::vector<OracleClaim>& claims, double cap) const;

  std::string name_ = "creditnew";
  v1::PolicyConstants constants_;
};

// The reason for which an event is refused before any look-up; null: well-formed.
const char* IllFormed(const v1::Envelope& e);

// Nearest micro-credit, ties to even; absent: not representable in 64 bits.
std::optional<std::int64_t> ToMicro(double credit);

}  // namespace cobblestone::testing
