#include "common/credit/accounts/reprice.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/credit/policies/policy.h"
#include "common/credit/trickles/partial_settlement.h"

namespace cobblestone::credit {

namespace {

// These three policies record the host's benchmark, even if the price does not use it.
bool HasBenchmark(PolicyKind kind) {
  return kind == PolicyKind::kBenchmark || kind == PolicyKind::kReportedFlops ||
         kind == PolicyKind::kAssigned;
}

bool LooksAtBenchmark(const Claim& claim, const PolicyVersion& version) {
  const bool reported = (claim.flags & kClaimReported) != 0;
  switch (version.kind) {
    case PolicyKind::kBenchmark: return true;
    case PolicyKind::kReportedFlops: return !reported;
    case PolicyKind::kAssigned: return reported && version.constants.reported_credit_limit > 0;
    default: return false;
  }
}

// ---- Trickles ----------------------------------------------------------------------------------------------

constexpr const char* kSpeedUnknown =
    "that version limits the speed of hosts differently, and the ledger records only the limited speed";
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

double AsLimit(double credit) { return credit > 0 ? credit : kNoLimit; }

const TrickleRule* FindRule(const PolicyVersion& version, const std::string& variety) {
  const auto rule = std::find_if(version.trickles.begin(), version.trickles.end(),
                                 [&](const TrickleRule& one) { return one.variety == variety; });
  return rule == version.trickles.end() ? nullptr : &*rule;
}

bool SameMicro(double a, double b) {
  bool a_ok = false;
  bool b_ok = false;
  return RoundToMicro(a, &a_ok) == RoundToMicro(b, &b_ok) && a_ok && b_ok;
}

// The reason why a mark under one rule has another meaning under the other rule; none if both rules count alike.
std::optional<std::string> CannotCount(const TrickleRule& was, const PolicyVersion& then,
                                       const TrickleRule& is, const PolicyVersion& version) {
  if (was.kind != is.kind || was.measure != is.measure || was.incremental != is.incremental ||
      was.max_increment != is.max_increment || was.min_step_seconds != is.min_step_seconds)
    return "that version counts trickles of variety '" + is.variety + "' differently";
  const Constants& a = then.constants;
  const Constants& b = version.constants;
  if (is.kind == TrickleKind::kElapsed &&
      (a.max_peak_flops_cpu != b.max_peak_flops_cpu || a.max_peak_flops_gpu != b.max_peak_flops_gpu ||
       a.max_devices != b.max_devices || a.host_scale_limit != b.host_scale_limit ||
       a.host_scale_min_samples != b.host_scale_min_samples))
    return "that version limits speeds or scales differently, and the ledger records only the limited values";
  return std::nullopt;
}

// The speed that prices a host's run time under the new rule; none if the ledger has only a limited speed.
std::optional<double> RepricedSpeed(const TricklePrice& price, const TypicalSpeeds& was,
                                    const TypicalSpeeds& is) {
  if (was == is) return price.rate;
  const bool held_back = (price.bounds & kTrickleSpeed) != 0;
  if (held_back && is.percentile_95 > was.percentile_95) return std::nullopt;
  // A host with a benchmark below 0 counts at the median.
  if (was.median != is.median && price.rate == LimitedSpeed(was.median, was)) return std::nullopt;
  return std::min(price.rate, is.percentile_95);
}

// The frozen price with another rule's constants. `max_credit` does not change.
TricklePrice WithRule(TricklePrice price, const TrickleRule& rule, double speed,
                      const PolicyVersion& version) {
  price.rule_version = version.version;
  price.factor = rule.model_factor * rule.multiplier;
  price.credit_per_day = rule.credit_per_day;
  price.phases = rule.phases;
  price.rate = speed;
  const double was = price.cobblestones_per_gflops_day;
  const double is = std::max(version.constants.cobblestones_per_gflops_day, 0.0);
  if (was == is) return price;
  price.cobblestones_per_gflops_day = is;
  for (double* limit : {&price.bound_credit, &price.estimate_credit})
    if (std::isfinite(*limit)) *limit *= is / was;
  return price;
}

// The range of the project's original limit, as far as the frozen price shows.
struct ProjectLimit {
  double least = kNoLimit;
  double most = kNoLimit;
};
ProjectLimit ProjectLimitOf(const TricklePrice& price, const TrickleRule& was) {
  const bool of_the_rule = price.max_credit == AsLimit(was.max_credit);
  return {.least = price.max_credit, .most = of_the_rule ? kNoLimit : price.max_credit};
}

// The highest mark that is worth the same as `high_water_mark`.
double UnseenHighWaterMark(const TricklePrice& price, double high_water_mark) {
  const double credit = CreditOfHighWaterMark(price, high_water_mark);
  const double end = price.kind == TrickleKind::kFraction ? 1 : kNoLimit;
  if (SameMicro(CreditOfHighWaterMark(price, end), credit)) return std::max(high_water_mark, end);
  if (price.kind != TrickleKind::kSteps) return high_water_mark;
  for (const TricklePhase& phase : price.phases)
    if (phase.last_step > high_water_mark && SameMicro(CreditOfHighWaterMark(price, phase.last_step), credit))
      high_water_mark = phase.last_step;
  return high_water_mark;
}

// The greatest ratio of new to old credit of a mark, without limits of credit; infinite: unknown.
double Dearer(const TrickleRule& was, const PolicyVersion& then, const TrickleRule& is,
              const PolicyVersion& version) {
  const auto ratio = [](double to, double from) { return to == from ? 1 : from > 0 ? to / from : kNoLimit; };
  if (CannotCount(was, then, is, version)) return kNoLimit;
  const double constant =
      ratio(version.constants.cobblestones_per_gflops_day, then.constants.cobblestones_per_gflops_day);
  switch (is.kind) {
    case TrickleKind::kSteps: {
      if (was.phases.size() != is.phases.size()) return kNoLimit;
      double most = 0;
      for (std::size_t i = 0; i < is.phases.size(); ++i) {
        if (was.phases[i].last_step != is.phases[i].last_step) return kNoLimit;
        most = std::max(most, ratio(is.phases[i].credit_per_step, was.phases[i].credit_per_step));
      }
      return std::max(most * ratio(is.model_factor * is.multiplier, was.model_factor * was.multiplier),
                      constant);
    }
    case TrickleKind::kDay: return std::max(ratio(is.credit_per_day, was.credit_per_day), constant);
    case TrickleKind::kRunTime:
      if (is.typical.median != was.typical.median || is.typical.percentile_95 > was.typical.percentile_95)
        return kNoLimit;
      return constant;
    case TrickleKind::kElapsed:
    case TrickleKind::kFraction:
    case TrickleKind::kNone: break;
  }
  return constant;
}

// Marks of other varieties may have paid nothing because each was worth at most `paid`, the worth of `best`.
// True if no such mark can be worth more than `now`.
bool OthersAreWorthLess(const RecordedHighWaterMark& best, MicroCredit paid, MicroCredit now,
                        const PolicyVersion& then, const PolicyVersion& version) {
  return std::all_of(version.trickles.begin(), version.trickles.end(), [&](const TrickleRule& is) {
    const TrickleRule* was = is.variety == best.variety ? nullptr : FindRule(then, is.variety);
    if (was == nullptr) return true;
    const double dearer = Dearer(*was, then, is, version);
    const auto amount = static_cast<double>(paid);
    double most = amount * dearer;
    if (AsLimit(was->max_credit) * 1e6 <= amount) most = kNoLimit;
    // The project's original limit, which still applies, may have limited such marks.
    if (best.price.max_credit * 1e6 <= amount) most = std::max(most, amount);
    most = std::min(most, AsLimit(is.max_credit) * 1e6);
    return most <= static_cast<double>(now) + 1 + std::min(dearer, 1e6);  // each amount was rounded
  });
}

}  // namespace

// A claim records only the inputs of its own policy: a benchmark, averages of the host's version, or an amount.
std::optional<std::string> CannotReprice(const RecordedClaim& recorded, const PolicyVersion& version) {
  const Claim& claim = recorded.claim;
  if (claim.policy == version.kind && claim.policy_version == version.version) return std::nullopt;
  const bool can = claim.policy == version.kind || version.kind == PolicyKind::kNone ||
                   (version.kind == PolicyKind::kBenchmark && HasBenchmark(claim.policy));
  if (!can)
    return "the ledger records the inputs of policy " + std::string(PolicyName(claim.policy)) +
           ", but not those of policy " + std::string(PolicyName(version.kind));
  if (LooksAtBenchmark(claim, version) && recorded.benchmark != version.constants.benchmark)
    return "that version uses another benchmark of the host than the ledger records";
  if (!recorded.whole)
    return "replica " + std::to_string(claim.result.value) +
           " was granted nothing, so the ledger does not record the inputs of its claim";
  return std::nullopt;
}

Repriced Reprice(std::span<const RecordedClaim> claims, double cap, const PolicyVersion& version) {
  Repriced repriced;
  const Policy& policy = PolicyFor(version.kind);
  std::vector<Claim> priced;
  for (const RecordedClaim& recorded : claims) {
    Claim& claim = priced.emplace_back(recorded.claim);
    if (const auto why = CannotReprice(recorded, version)) {
      repriced.problem = *why;
      return repriced;
    }
    claim.policy = version.kind;
    claim.policy_version = version.version;
    if (recorded.whole) policy.Price(claim, version.constants);
  }
  repriced.credit = policy.Settle(priced, cap, version.constants).credit;
  bool ok = true;
  repriced.micro = RoundToMicro(repriced.credit, &ok);
  if (!ok) repriced.problem = "the price is not a valid amount of credit";
  return repriced;
}

Repriced RepriceTrickles(std::span<const RecordedHighWaterMark> high_water_marks, const PolicyVersion& then,
                         const PolicyVersion& version) {
  Repriced repriced;
  const auto cannot = [](std::string why) { return Repriced{.problem = std::move(why)}; };
  if (high_water_marks.empty()) return repriced;
  const auto paid_for = [](const RecordedHighWaterMark& one) {
    return CreditOfHighWaterMark(one.price, one.high_water_mark);
  };
  const RecordedHighWaterMark& best =
      *std::max_element(high_water_marks.begin(), high_water_marks.end(),
                        [&](const auto& a, const auto& b) { return paid_for(a) < paid_for(b); });
  double unlimited = 0;  // with the highest possible limit of the project
  double unseen = 0;     // also with the highest mark that `best` can have had
  for (const RecordedHighWaterMark& one : high_water_marks) {
    const TrickleRule* was = FindRule(then, one.variety);
    const TrickleRule* is = FindRule(version, one.variety);
    if (was == nullptr) return cannot("the rule that priced the trickles is not in the log");
    if (is == nullptr) return cannot("that version does not pay trickles of variety '" + one.variety + "'");
    if (auto why = CannotCount(*was, then, *is, version)) return cannot(*why);
    std::optional<double> speed = one.price.rate;
    if (is->kind == TrickleKind::kRunTime) speed = RepricedSpeed(one.price, was->typical, is->typical);
    if (!speed) return cannot(kSpeedUnknown);
    TricklePrice price = WithRule(one.price, *is, *speed, version);
    const ProjectLimit project = ProjectLimitOf(one.price, *was);
    price.max_credit = std::min(AsLimit(is->max_credit), project.most);
    unlimited = std::max(unlimited, CreditOfHighWaterMark(price, one.high_water_mark));
    price.max_credit = std::min(AsLimit(is->max_credit), project.least);
    repriced.credit = std::max(repriced.credit, CreditOfHighWaterMark(price, one.high_water_mark));
    price.max_credit = std::min(AsLimit(is->max_credit), project.most);
    const double high_water_mark =
        &one == &best ? UnseenHighWaterMark(one.price, one.high_water_mark) : one.high_water_mark;
    unseen = std::max(unseen, CreditOfHighWaterMark(price, high_water_mark));
  }
  bool ok = true;
  repriced.micro = RoundToMicro(repriced.credit, &ok);
  if (!ok) return cannot("the worth of the trickles is not a valid amount of credit");
  if (!SameMicro(unseen, unlimited))
    return cannot(
        "the trickles had reached the limit of their payment, and the ledger does not record the progress "
        "beyond the limit");
  if (!SameMicro(unlimited, repriced.credit))
    return cannot(
        "the trickles are worth more than the limit at that time, and the ledger does not record whether "
        "the project allowed more");
  if (!OthersAreWorthLess(best, RoundToMicro(paid_for(best)), repriced.micro, then, version))
    return cannot(
        "the app pays for several varieties of trickles, and the ledger records only the varieties that "
        "paid most");
  return repriced;
}

RefrozenPrice Refreeze(const std::string& variety, const TricklePrice& frozen, double max_granted_credit,
                       const PolicyVersion& then, const PolicyVersion& version) {
  if (frozen.rule_version == version.version) return {.price = frozen};
  const auto cannot = [](std::string why) { return RefrozenPrice{.problem = std::move(why)}; };
  const TrickleRule* was = FindRule(then, variety);
  const TrickleRule* is = FindRule(version, variety);
  if (was == nullptr) return cannot("the rule that priced the trickles is not in the log");
  if (is == nullptr) return cannot("that version does not pay trickles of variety '" + variety + "'");
  if (auto why = CannotCount(*was, then, *is, version)) return cannot(*why);
  std::optional<double> speed = frozen.rate;
  if (is->kind == TrickleKind::kRunTime) speed = RepricedSpeed(frozen, was->typical, is->typical);
  if (!speed) return cannot(kSpeedUnknown);
  RefrozenPrice repriced{.price = WithRule(frozen, *is, *speed, version)};
  const ProjectLimit project = ProjectLimitOf(frozen, *was);
  const double limit = std::isfinite(project.most) ? project.most : AsLimit(max_granted_credit);
  repriced.price.max_credit = std::min(AsLimit(is->max_credit), limit);
  return repriced;
}

std::optional<std::string> CannotContinue(const PolicyVersion& then, const PolicyVersion& version) {
  for (const TrickleRule& was : then.trickles) {
    const TrickleRule* is = FindRule(version, was.variety);
    if (is == nullptr) return "that version does not pay trickles of variety '" + was.variety + "'";
    if (auto why = CannotCount(was, then, *is, version)) return why;
    // Without min_step_seconds in the rule, the least time of a step depends on the last step.
    if (was.kind == TrickleKind::kSteps && was.phases.back().last_step != is->phases.back().last_step)
      return "that version ends the model of variety '" + was.variety + "' at another step";
  }
  for (const TrickleRule& is : version.trickles)
    if (FindRule(then, is.variety) == nullptr)
      return "that version pays for trickles of variety '" + is.variety +
             "', but the job got no price for this variety at its dispatch";
  return std::nullopt;
}

MicroCredit CreditTo(UserId user, const Claim& claim, MicroCredit worth) {
  const PartialSettlement settled = SettlePartials(claim.paid, worth, claim.settlement, claim.time);
  MicroCredit brought = user == claim.user ? settled.final_micro : 0;
  for (std::size_t i = 0; i < settled.parts.size(); ++i)
    if (settled.parts[i].user == user) brought += claim.paid[i].micro - settled.parts[i].taken;
  return brought;
}

}  // namespace cobblestone::credit
