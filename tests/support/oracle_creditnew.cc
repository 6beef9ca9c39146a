// The part of the oracle that checks grants of policy creditnew against the inputs that the ledger recorded.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "schemas/internal.pb.h"
#include "tests/support/oracle.h"
#include "tests/support/oracle_rules.h"

namespace cobblestone::testing {
namespace {

// Numbers of the schema: credit::PolicyKind and ClaimFlag, as records contain them.
constexpr std::uint32_t kCreditNew = 2;
enum Flag : std::uint32_t {
  kValid = 1u << 0,
  kLate = 1u << 2,
  kOutlier = 1u << 4,
  kAnonymous = 1u << 6,
  kOnProbation = 1u << 7,
  kMinAvgDefined = 1u << 14,
  kNoClaim = 1u << 16,
};
constexpr std::uint32_t kGrantLate = 1u << 0;

// S000's defaults.
constexpr double kStraightSamples = 10;
constexpr double kWeight = 0.01;
constexpr double kSampleLimit = 10;
constexpr double kHostSamplesForScale = 10;
constexpr double kHostScaleLimit = 10;
constexpr double kCreditPerFlop[] = {200, 86400 * 1e9};

double CreditOf(double flops) { return flops * kCreditPerFlop[0] / kCreditPerFlop[1]; }

std::string Exact(double v) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", v);
  return text;
}

class Checker {
 public:
  std::string Check(std::span<const std::string> grants, std::size_t* checked) {
    for (const std::string& bytes : grants) {
      v1::Grant grant;
      if (!grant.ParseFromString(bytes)) {
        AddLine("a record is not a grant");
        continue;
      }
      if (grant.kind() != v1::GRANT_KIND_FINAL || grant.claim().policy() != kCreditNew) continue;
      ++*checked;
      CheckClaim(grant);
      CheckScales(grant);
      const v1::Claim& claim = grant.claim();
      workunits_[{grant.project(), claim.workunit()}].push_back(grant);
      if ((claim.flags() & kAnonymous) == 0) {
        chains_[{grant.project(), claim.host(), claim.app(), claim.app_version()}].push_back(claim);
      }
    }
    for (const auto& [key, of_workunit] : workunits_) CheckWorkunit(of_workunit);
    for (auto& [key, chain] : chains_) CheckChain(&chain);
    return text_;
  }

 private:
  struct Measure {
    double pfc = 0;
    double ratio = 0;
    bool sane = false;
  };

  void AddLine(const std::string& line) {
    constexpr int kLimit = 10;
    if (lines_++ < kLimit) text_ += line + "\n";
  }
  void Differ(const v1::Claim& claim, const char* what, double expected, double actual) {
    AddLine("project " + std::to_string(claim.project()) + " result " + std::to_string(claim.result()) +
            ": " + what + ": expected " + Exact(expected) + ", recorded " + Exact(actual));
  }

  static Measure MeasureOf(const v1::Claim& claim) {
    const double reported = claim.elapsed_time() == 0 ? claim.cpu_time() : claim.elapsed_time();
    double elapsed = reported;
    if (claim.sent_time() > 0 && claim.received_time() > 0) {
      elapsed = std::min(elapsed, std::max(0.0, claim.received_time() - claim.sent_time()));
    }
    Measure m;
    m.pfc = elapsed * claim.benchmark();
    m.ratio = m.pfc / claim.fpops_est();
    m.sane = std::isfinite(reported * claim.peak_flops()) && m.pfc >= 0 && m.pfc <= claim.fpops_bound();
    return m;
  }

  static double DefaultPfc(const v1::Claim& claim) {
    return (claim.flags() & kMinAvgDefined) != 0 ? claim.min_avg_pfc() * claim.fpops_est()
                                                 : claim.fpops_est();
  }

  void CheckClaim(const v1::Grant& grant) {
    const v1::Claim& claim = grant.claim();
    const Measure m = MeasureOf(claim);
    double pfc = DefaultPfc(claim);
    if ((claim.flags() & kAnonymous) == 0 && m.sane) {
      pfc = m.pfc;
      if (claim.version_scale() > 0) pfc *= claim.version_scale();
      double scale = 0;
      if (claim.host_pfc_n() >= kHostSamplesForScale && claim.host_pfc_mean() > 0 &&
          claim.version_pfc_mean() > 0) {
        scale = std::min(claim.version_pfc_mean() / claim.host_pfc_mean(), kHostScaleLimit);
      }
      if (claim.time() < claim.host_scale_time()) {
        scale = 0;
      } else if ((claim.flags() & kOnProbation) != 0) {
        scale = std::min(scale, 1.0);
      }
      if (scale > 0) pfc *= scale;
    }
    if (pfc != claim.pfc()) Differ(claim, "claimed peak FLOP count", pfc, claim.pfc());
    if (CreditOf(pfc) != claim.claimed()) Differ(claim, "claimed credit", CreditOf(pfc), claim.claimed());
    if (ToMicro(grant.credit()) != grant.credit_micro()) {
      Differ(claim, "micro-credits", static_cast<double>(ToMicro(grant.credit()).value_or(-1)),
             static_cast<double>(grant.credit_micro()));
    }
  }

  // One epoch has one table of scales.
  void CheckScales(const v1::Grant& grant) {
    const v1::Claim& claim = grant.claim();
    if ((claim.flags() & kAnonymous) != 0) return;
    const std::vector<double> now = {claim.version_pfc_n(), claim.version_pfc_mean(), claim.version_scale(),
                                     claim.min_avg_pfc()};
    const auto [it, is_new] =
        epochs_.emplace(std::tuple{grant.project(), claim.epoch(), claim.app_version()}, now);
    if (!is_new && it->second != now) {
      Differ(claim, "version average in its epoch", it->second[1], claim.version_pfc_mean());
    }
  }

  void CheckWorkunit(const std::vector<v1::Grant>& grants) {
    std::vector<const v1::Grant*> in_time;
    for (const v1::Grant& grant : grants) {
      if ((grant.flags() & kGrantLate) == 0) in_time.push_back(&grant);
    }
    if (in_time.empty()) return;
    std::sort(in_time.begin(), in_time.end(),
              [](const v1::Grant* a, const v1::Grant* b) { return a->result() < b->result(); });
    const v1::Grant& first = *in_time.front();
    const double cap = first.max_granted_credit();
    const bool single = in_time.size() == 1 && first.claim().awaited() <= 1;
    std::vector<double> counted;
    const v1::Claim* newest = nullptr;
    for (const v1::Grant* grant : in_time) {
      const v1::Claim& claim = grant->claim();
      if (newest == nullptr || claim.epoch() > newest->epoch()) newest = &claim;
      if (!single && (claim.flags() & (kAnonymous | kOnProbation)) != 0) continue;
      if ((claim.flags() & kNoClaim) != 0 || (cap > 0 && claim.claimed() > cap)) continue;
      counted.push_back(claim.claimed());
    }
    double credit = CreditOf(DefaultPfc(*newest));
    if (cap > 0) credit = std::min(credit, cap);
    if (!counted.empty()) {
      std::sort(counted.begin(), counted.end());
      double sum = 0;
      for (const double v : counted) sum += v;
      credit = std::clamp(sum / static_cast<double>(counted.size()), counted.front(), counted.back());
    }
    for (const v1::Grant& grant : grants) {
      if (grant.credit() != credit) Differ(grant.claim(), "credit of its workunit", credit, grant.credit());
    }
  }

  // Claims of one host and version, in order of the average before each claim: it must equal the average after the
  // previous claim.
  void CheckChain(std::vector<v1::Claim>* chain) {
    // A claim that adds no sample sees the same average as the next claim that adds one.
    std::stable_sort(chain->begin(), chain->end(), [](const v1::Claim& a, const v1::Claim& b) {
      const auto key = [](const v1::Claim& c) { return std::pair{c.host_pfc_n(), Counts(c)}; };
      return key(a) < key(b);
    });
    double n = 0;
    double mean = 0;
    for (const v1::Claim& claim : *chain) {
      if (claim.host_pfc_n() != n) Differ(claim, "samples of its host's average", n, claim.host_pfc_n());
      if (claim.host_pfc_mean() != mean) Differ(claim, "its host's average", mean, claim.host_pfc_mean());
      if (!Counts(claim)) continue;
      double sample = MeasureOf(claim).ratio;
      if (n > 0 && mean != 0) sample = std::min(sample, kSampleLimit * mean);
      n += 1;
      const double delta = sample - mean;
      mean += n <= kStraightSamples ? delta / n : kWeight * delta;
    }
  }

  static bool Counts(const v1::Claim& claim) {
    return (claim.flags() & (kOutlier | kAnonymous)) == 0 && MeasureOf(claim).sane;
  }

  int lines_ = 0;
  std::string text_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<v1::Grant>> workunits_;
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, std::int64_t>, std::vector<v1::Claim>>
      chains_;
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::int64_t>, std::vector<double>> epochs_;
};

}  // namespace

std::string CheckCreditNewLedger(std::span<const std::string> grants, std::size_t* checked) {
  *checked = 0;
  return Checker().Check(grants, checked);
}

}  // namespace cobblestone::testing
