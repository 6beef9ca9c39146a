#include "common/credit/policies/policy.h"

#include <array>

#include "common/base/check.h"
#include "common/credit/policies/boinc.h"
#include "common/credit/policies/creditnew.h"
#include "common/credit/policies/creditnew_v2.h"
#include "common/credit/policies/robust.h"
#include "common/credit/policies/runtime_policy.h"
#include "common/credit/policies/simple_policies.h"

namespace cobblestone::credit {
namespace {

struct KindName {
  PolicyKind kind;
  std::string_view name;
};

constexpr std::array<KindName, 9> kPolicyNames = {{
    {PolicyKind::kNone, "none"},
    {PolicyKind::kBoinc, "boinc"},
    {PolicyKind::kCreditNew, "creditnew"},
    {PolicyKind::kCreditNewV2, "creditnew-v2"},
    {PolicyKind::kBenchmark, "benchmark"},
    {PolicyKind::kReportedFlops, "reported-flops"},
    {PolicyKind::kRuntime, "runtime"},
    {PolicyKind::kAssigned, "assigned"},
    {PolicyKind::kRobust, "robust"},
}};

// Indexed by the frozen numbers of Mode.
constexpr std::array<std::string_view, 11> kModeNames = {
    "normal",         "approximate", "workunit_estimate", "capped",      "none",     "benchmark",
    "reported_flops", "runtime",     "assigned",          "default_pfc", "probation"};

}  // namespace

const Policy& PolicyFor(PolicyKind kind) {
  switch (kind) {
    case PolicyKind::kNone: return NonePolicy();
    case PolicyKind::kBoinc: return BoincPolicy();
    case PolicyKind::kCreditNew: return CreditNewPolicy();
    case PolicyKind::kCreditNewV2: return CreditNewV2Policy();
    case PolicyKind::kBenchmark: return BenchmarkPolicy();
    case PolicyKind::kReportedFlops: return ReportedFlopsPolicy();
    case PolicyKind::kRuntime: return RuntimePolicy();
    case PolicyKind::kAssigned: return AssignedPolicy();
    case PolicyKind::kRobust: return RobustPolicy();
  }
  CheckFailed(__FILE__, __LINE__, "a policy for every kind", std::to_string(static_cast<int>(kind)));
}

Constants DefaultConstants(PolicyKind kind) {
  Constants constants;  // S000's
  switch (kind) {
    case PolicyKind::kBoinc:
    case PolicyKind::kRuntime:
      constants.host_average_samples = 20;  // golden README, item 8; version averages and limit: S000
      break;
    case PolicyKind::kCreditNewV2:
      constants.replication = Replication::kMin;  // S001, 'Replication and cheating'
      constants.gpu_only_factor = 1;              // docs/rules.md, section 9
      break;
    case PolicyKind::kRobust:
      constants.error_rate_keep = 0.98;  // docs/rules.md, section 54, as the next two
      constants.error_rate_add = 0.02;
      constants.version_median = true;
      break;
    default: break;
  }
  return constants;
}

std::optional<PolicyKind> PolicyKindByName(std::string_view name) {
  for (const KindName& entry : kPolicyNames) {
    if (entry.name == name) return entry.kind;
  }
  return std::nullopt;
}

std::string_view PolicyName(PolicyKind kind) {
  for (const KindName& entry : kPolicyNames) {
    if (entry.kind == kind) return entry.name;
  }
  return "unknown";
}

std::string_view ModeName(Mode mode) {
  const auto number = static_cast<std::size_t>(mode);
  return number < kModeNames.size() ? kModeNames[number] : "unknown";
}

}  // namespace cobblestone::credit
