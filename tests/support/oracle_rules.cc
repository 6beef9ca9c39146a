#include "tests/support/oracle_rules.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/support/oracle_corrections.h"
#include "tests/support/oracle_estimates.h"
#include "tests/support/oracle_trickles.h"

namespace cobblestone::testing {
namespace {

double Or(bool has, double value, double otherwise) { return has ? value : otherwise; }

constexpr double kYear10000 = 253402300800.0;

// ---- Well-formed ---------------------------------------------------------------------------------------

const char* Finite(std::initializer_list<double> values) {
  for (const double v : values) {
    if (!std::isfinite(v)) return "NOT_FINITE";
  }
  return nullptr;
}

const char* NotNegative(std::initializer_list<double> values) {
  for (const double v : values) {
    if (!std::isfinite(v)) return "NOT_FINITE";
    if (v < 0) return "NEGATIVE";
  }
  return nullptr;
}

const char* Times(std::initializer_list<double> values) {
  for (const double v : values) {
    if (const char* bad = NotNegative({v})) return bad;
    if (v >= kYear10000) return "OUT_OF_RANGE";
  }
  return nullptr;
}

bool VersionExists(std::int64_t version) { return version >= 0 || (version <= -2 && version >= -6); }

const char* BadCompletion(const v1::Completion& c) {
  if (c.outcome() == v1::OUTCOME_UNKNOWN) return "MISSING_FIELD";
  if (c.outcome() < 0 || c.outcome() > v1::OUTCOME_TIMEOUT) return "OUT_OF_RANGE";
  if (c.host() == 0 || c.app() == 0) return "MISSING_FIELD";
  if (c.result() == 0 && c.outcome() != v1::OUTCOME_CLIENT_ERROR && c.outcome() != v1::OUTCOME_TIMEOUT) {
    return "MISSING_FIELD";
  }
  if (c.result() != 0 && c.workunit() == 0) return "MISSING_FIELD";
  if (!VersionExists(c.app_version())) return "UNKNOWN_APP_VERSION";
  if (const char* bad = Finite({c.elapsed_time(), c.cpu_time(), c.peak_flops()})) return bad;
  if (const char* bad = Times({c.sent_time(), c.received_time()})) return bad;
  if (const char* bad = NotNegative({c.delay_bound()})) return bad;
  if (c.has_reported_flops()) {
    if (const char* bad = NotNegative({c.reported_flops()})) return bad;
  }
  if (c.has_reported_credit()) {
    if (const char* bad = NotNegative({c.reported_credit()})) return bad;
  }
  for (const v1::DeviceUsage& usage : c.usage()) {
    if (const char* bad = NotNegative({usage.count(), usage.count() * usage.peak_flops()})) return bad;
  }
  return nullptr;
}

const char* BadValidation(const v1::Validation& v) {
  if (v.state() == v1::VALIDATE_STATE_UNKNOWN) return "MISSING_FIELD";
  if (v.state() < 0 || v.state() > v1::VALIDATE_STATE_INCONCLUSIVE) return "OUT_OF_RANGE";
  if (v.result() == 0 || v.host() == 0 || v.workunit() == 0 || v.app() == 0) return "MISSING_FIELD";
  if (v.state() == v1::VALIDATE_STATE_VALID && !v.late() && v.claims() == 0) return "MISSING_FIELD";
  if (v.claims() > 10000) return "OUT_OF_RANGE";
  if (const char* bad = NotNegative({v.fpops_est(), v.fpops_bound()})) return bad;
  return v.has_assigned_credit() ? NotNegative({v.assigned_credit()}) : nullptr;
}

const char* BadDispatch(const v1::Dispatch& d) {
  if (d.result() == 0 || d.host() == 0 || d.workunit() == 0 || d.app() == 0) return "MISSING_FIELD";
  if (!VersionExists(d.app_version())) return "UNKNOWN_APP_VERSION";
  if (const char* bad = Finite({d.peak_flops()})) return bad;
  if (const char* bad = Times({d.sent_time()})) return bad;
  return NotNegative({d.delay_bound()});
}

const char* BadApp(const v1::App& a) {
  static const std::set<std::string> kPolicies = {"benchmark", "reported-flops", "creditnew-v2",
                                                  "creditnew", "boinc",          "runtime",
                                                  "assigned",  "none",           "robust"};
  if (a.app() == 0) return "MISSING_FIELD";
  if (!a.policy().empty() && kPolicies.count(a.policy()) == 0) return "UNKNOWN_POLICY";
  if (a.policy().empty() && a.has_constants()) return "MISSING_FIELD";
  if (a.has_min_avg_pfc()) {
    if (const char* bad = NotNegative({a.min_avg_pfc()})) return bad;
  }
  return NotNegative({a.delay_bound(), a.result_window()});
}

}  // namespace

const char* IllFormed(const v1::Envelope& e) {
  if (e.id() == 0 || (e.project() == 0 && !e.has_tick())) return "MISSING_FIELD";
  if (const char* bad = Times({e.time()})) return bad;
  switch (e.event_case()) {
    case v1::Envelope::kCompletion: return BadCompletion(e.completion());
    case v1::Envelope::kValidation: return BadValidation(e.validation());
    case v1::Envelope::kDispatch: return BadDispatch(e.dispatch());
    case v1::Envelope::kTrickle: return BadTrickle(e.trickle());
    case v1::Envelope::kApp: return BadApp(e.app());
    case v1::Envelope::kAppVersion:
      if (e.app_version().app_version() == 0) return "MISSING_FIELD";
      if (!e.app_version().deleted() && e.app_version().app() == 0) return "MISSING_FIELD";
      return e.app_version().resource() > v1::RESOURCE_APPLE_GPU ? "OUT_OF_RANGE" : nullptr;
    case v1::Envelope::kHost:
      if (e.host().host() == 0) return "MISSING_FIELD";
      if (const char* bad = Finite({e.host().whetstone(), e.host().dhrystone()})) return bad;
      return Times({e.host().create_time()});
    case v1::Envelope::kHostMerge:
      if (e.host_merge().host() == 0 || e.host_merge().into() == 0) return "MISSING_FIELD";
      return e.host_merge().host() == e.host_merge().into() ? "OUT_OF_RANGE" : nullptr;
    case v1::Envelope::kHostAsked:
      return e.host_asked().host() == 0 || e.host_asked().user() == 0 ? "MISSING_FIELD" : nullptr;
    case v1::Envelope::kHeldResult:
      return e.held_result().host() == 0 || e.held_result().result() == 0 || e.held_result().holder() == 0
                 ? "MISSING_FIELD"
                 : nullptr;
    case v1::Envelope::kHandedEvent:
      return e.handed_event().host() == 0 || e.handed_event().named() == 0 || e.handed_event().event().empty()
                 ? "MISSING_FIELD"
                 : nullptr;
    case v1::Envelope::kDecidedResult:
      return e.decided_result().host() == 0 || e.decided_result().result() == 0 ||
                     e.decided_result().named() == 0
                 ? "MISSING_FIELD"
                 : nullptr;
    case v1::Envelope::kUser: return e.user().user() == 0 ? "MISSING_FIELD" : Times({e.user().create_time()});
    case v1::Envelope::kTeam: return e.team().team() == 0 ? "MISSING_FIELD" : Times({e.team().create_time()});
    case v1::Envelope::kSettings:
      if (e.settings().has_max_granted_credit())
        if (const char* bad = NotNegative({e.settings().max_granted_credit()})) return bad;
      return BadEstimateLimits(e.settings().estimates());
    case v1::Envelope::kEstimatedCredit: return BadEstimate(e.estimated_credit());
    case v1::Envelope::kMachineHost: return BadMachineHost(e.machine_host());
    case v1::Envelope::kTick: return Times({e.tick().time()});
    case v1::Envelope::kOpeningTotal:
      if (e.opening_total().kind() == v1::ACCOUNT_KIND_UNKNOWN || e.opening_total().account() == 0)
        return "MISSING_FIELD";
      if (e.opening_total().total_micro() < 0) return "NEGATIVE";
      if (const char* bad = NotNegative({e.opening_total().total()})) return bad;
      return Times({e.opening_total().rac_time()});
    case v1::Envelope::kReversal:
    case v1::Envelope::kRepricing: return BadCorrection(e);
    case v1::Envelope::kJobReversal: return BadJobReversal(e.job_reversal());
    case v1::Envelope::kJobRepricing: return BadJobRepricing(e.job_repricing());
    default: return nullptr;
  }
}

// ---- Credit --------------------------------------------------------------------------------------------

OraclePolicy::OraclePolicy(std::string name, v1::PolicyConstants constants)
    : name_(std::move(name)), constants_(std::move(constants)) {}

bool OraclePolicy::priced() const {
  return name_ != "creditnew" && name_ != "creditnew-v2" && name_ != "boinc" && name_ != "robust";
}

// A day of 1 GFLOPS is worth 200 Cobblestones.
double OraclePolicy::CreditOf(double flops) const {
  return flops *
         Or(constants_.has_cobblestones_per_gflops_day(), constants_.cobblestones_per_gflops_day(), 200) /
         (86400 * 1e9);
}

std::optional<double> OraclePolicy::BenchmarkFlops(const v1::Completion& c, const OracleHost& host) const {
  double speed = constants_.benchmark() == "mean" ? (host.whetstone + host.dhrystone) / 2 : host.whetstone;
  const bool benchmarked = speed > 0;
  if (constants_.max_peak_flops_cpu() > 0) speed = std::min(speed, constants_.max_peak_flops_cpu());
  double seconds = c.cpu_time();
  if (c.sent_time() > 0 && c.received_time() > 0 && host.cpus > 0) {
    const double wall = c.received_time() - c.sent_time();
    seconds = std::min(seconds, (wall > 0 ? wall : 0) * host.cpus);
  }
  if (!benchmarked) return std::nullopt;
  return seconds * speed;
}

void OraclePolicy::Price(const v1::Completion& completion, const v1::Validation& validation,
                         const OracleHost& host, OracleClaim* claim) const {
  const double multiplier = Or(constants_.has_multiplier(), constants_.multiplier(), 1);
  const auto take = [claim](double credit) {
    claim->has_credit = std::isfinite(credit) && credit >= 0;
    claim->credit = claim->has_credit ? credit : 0;
  };
  if (name_ == "runtime") {
    // A scheduler reports exactly 1e9 if it does not know the speed.
    double flops =
        completion.elapsed_time() * (completion.peak_flops() == 1e9 ? 4.3e9 : completion.peak_flops());
    if (flops > 2 * validation.fpops_bound()) flops = validation.fpops_bound();
    claim->has_credit = true;
    claim->credit = CreditOf(flops);
    return;
  }
  if (name_ == "assigned") {
    double limit = constants_.max_credit_per_job() > 0 ? constants_.max_credit_per_job() : HUGE_VAL;
    if (validation.has_assigned_credit()) {
      take(validation.assigned_credit());
    } else if (completion.has_reported_credit()) {
      take(completion.reported_credit());
      claim->by_app = true;
      if (constants_.reported_credit_limit() > 0) {
        const double by_benchmark =
            CreditOf(BenchmarkFlops(completion, host).value_or(0) * constants_.reported_credit_limit());
        limit = std::min(limit, by_benchmark >= 0 && std::isfinite(by_benchmark) ? by_benchmark : 0);
      }
    }
    claim->credit = std::min(claim->credit, limit);
    return;
  }
  if (name_ == "reported-flops" && completion.has_reported_flops()) {
    take(CreditOf(std::min(completion.reported_flops(), validation.fpops_bound()) * multiplier));
    return;
  }
  if (name_ == "benchmark" || name_ == "reported-flops") {
    const auto flops = BenchmarkFlops(completion, host);
    if (flops) take(CreditOf(*flops * multiplier));
  }
}

double OraclePolicy::SettleReplicas(const std::vector<OracleClaim>& claims, double cap) const {
  std::vector<double> counted;
  bool capped = false;
  for (const OracleClaim& claim : claims) {
    if (!claim.valid || !claim.has_credit) continue;
    if (cap > 0 && claim.credit > cap) {
      capped = true;
    } else {
      counted.push_back(claim.credit);
    }
  }
  if (counted.empty()) return capped ? cap : 0;
  std::sort(counted.begin(), counted.end());
  const std::size_t n = counted.size();
  if (constants_.replication() == "min") return counted[0];
  if (constants_.replication() == "median") {
    return n % 2 == 1 ? counted[n / 2] : counted[n / 2 - 1] / 2 + counted[n / 2] / 2;
  }
  double sum = 0;
  for (const double credit : counted) sum += credit;
  const double mean = sum / static_cast<double>(n);
  return std::min(std::max(mean, counted[0]),
                  counted[n - 1]);  // rounding does not carry a mean past its values
}

double OraclePolicy::Settle(const std::vector<OracleClaim>& claims, double cap) const {
  if (name_ == "runtime") {
    // Each value is weighted by the sum of the others.
    std::vector<double> values;
    for (const OracleClaim& claim : claims) {
      if (claim.credit > 0 && (cap == 0 || claim.credit <= cap)) values.push_back(claim.credit);
    }
    if (values.empty()) return 0;
    double credit = values[0];
    if (values.size() > 1) {
      double sum = 0;
      for (const double v : values) sum += v;
      double weighted = 0;
      for (const double v : values) weighted += v * (sum - v);
      credit = weighted / (static_cast<double>(values.size() - 1) * sum);
    }
    return cap != 0 && credit > cap ? cap : credit;
  }
  if (name_ == "assigned") {
    const OracleClaim* named = nullptr;
    std::set<double> amounts;
    for (const OracleClaim& claim : claims) {
      if (!claim.valid || !claim.has_credit || claim.by_app) continue;
      amounts.insert(claim.credit);
      if (named == nullptr || claim.result == claim.canonical) named = &claim;
    }
    if (named != nullptr && (amounts.size() == 1 || named->result == named->canonical)) {
      return cap > 0 ? std::min(named->credit, cap) : named->credit;
    }
  }
  return SettleReplicas(claims, cap);
}

std::optional<std::int64_t> ToMicro(double credit) {
  if (!(std::fabs(credit) < 9.2e12)) return std::nullopt;
  // The exact product is high + low. Below 2^52 `low` only decides on which side of a half the product is. From 2^52
  // on `high` is an integer, and only `low` is rounded.
  const double high = credit * 1e6;
  const double low = std::fma(credit, 1e6, -high);
  const double whole = std::floor(high);
  double fraction = high - whole;
  auto micro = static_cast<std::int64_t>(whole);
  double beyond = low;
  if (fraction == 0) {
    const double whole_low = std::floor(low);
    micro += static_cast<std::int64_t>(whole_low);
    fraction = low - whole_low;
    beyond = 0;
  }
  const bool up = fraction > 0.5 || (fraction == 0.5 && beyond > 0);
  const bool tie = fraction == 0.5 && beyond == 0;
  return up || (tie && micro % 2 != 0) ? micro + 1 : micro;
}

}  // namespace cobblestone::testing
