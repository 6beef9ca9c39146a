#include "common/wire/control/catalogue_codec.h"

#include <string>
#include <utility>
#include <variant>

#include "common/credit/policies/policy.h"
#include "common/credit/trickles/partial_settlement.h"
#include "common/credit/trickles/trickle_policy.h"
#include "common/wire/events/constant_fields.h"

namespace cobblestone::wire {
namespace {

credit::TrickleRule RuleFrom(const TrickleRuleChange& change) {
  return {.variety = change.variety,
          .kind = credit::TrickleKindByName(change.kind).value_or(credit::TrickleKind::kNone),
          .measure = credit::TrickleMeasureByName(change.measure).value_or(credit::TrickleMeasure::kNone),
          .incremental = change.incremental,
          .max_increment = change.max_increment,
          .phases = change.phases,
          .model_factor = change.model_factor.value_or(1),
          .multiplier = change.multiplier.value_or(1),
          .min_step_seconds = change.min_step_seconds,
          .typical = {.median = change.median_speed, .percentile_95 = change.speed_limit},
          .credit_per_day = change.credit_per_day,
          .max_credit = change.max_credit};
}

std::optional<Refusal> Apply(const AppChange& change, credit::Catalogue& catalogue) {
  const auto found = catalogue.apps.find(change.app.value);
  const credit::AppRow* old = found == catalogue.apps.end() ? nullptr : &found->second;

  credit::PolicyVersion policy;
  if (!change.policy.empty()) {
    const auto kind = credit::PolicyKindByName(change.policy);
    if (!kind) return Refusal{RefusalReason::kUnknownPolicy, "policy: " + change.policy};
    policy.kind = *kind;
    policy.constants = ConstantsFrom(*kind, change.constants.value_or(ConstantChanges{}));
  } else if (old != nullptr) {
    policy = old->policy;
  } else {
    policy.constants = ConstantsFrom(policy.kind, {});
  }
  if (!change.policy.empty() || !change.trickles.empty()) {
    policy.trickles.clear();
    for (const TrickleRuleChange& rule : change.trickles) {
      policy.trickles.push_back(RuleFrom(rule));
      if (const auto problem = credit::ProblemOf(policy.trickles.back()))
        return Refusal{RefusalReason::kOutOfRange, "trickles: " + rule.variety + ": " + *problem};
    }
  }
  // Messages of a job believe the client, so policy `robust` keeps no payment that the result is not worth.
  if (!change.policy.empty() || !change.trickle_settlement.empty())
    policy.settlement =
        credit::TrickleSettlementByName(change.trickle_settlement)
            .value_or(policy.kind == credit::PolicyKind::kRobust ? credit::TrickleSettlement::kSettle
                                                                 : credit::TrickleSettlement::kKeep);

  if (old == nullptr) {
    policy.version = change.policy_version != 0 ? change.policy_version : 1;
  } else {
    const std::uint32_t last = old->policy.version;
    const bool same = old->policy.SameRules(policy);
    const std::uint32_t next = change.policy_version != 0 ? change.policy_version : (same ? last : last + 1);
    if (next < last) {
      return Refusal{RefusalReason::kOutOfRange,
                     "policy_version: " + std::to_string(next) + " after " + std::to_string(last)};
    }
    if (next == last && !same) {
      return Refusal{RefusalReason::kDuplicateWithOtherContents,
                     "policy_version: " + std::to_string(next) +
                         " is in use with another policy, other constants or other trickles"};
    }
    policy.version = next;
  }

  credit::AppRow row;
  row.id = change.app;
  row.name = change.name;
  row.policy = policy;
  row.target_nresults = change.target_nresults != 0 ? change.target_nresults : 1;
  row.min_avg_pfc = change.min_avg_pfc;
  row.host_scale_check = change.host_scale_check;
  row.delay_bound = change.delay_bound;
  row.result_window = change.result_window;
  row.deleted = change.deleted;
  catalogue.apps[change.app.value] = std::move(row);
  return std::nullopt;
}

std::optional<Refusal> Apply(const AppVersionChange& change, credit::Catalogue& catalogue) {
  if (change.row.deleted) {
    if (catalogue.versions.erase(change.row.id) == 0) {
      return Refusal{RefusalReason::kUnknownAppVersion, "app_version: " + std::to_string(change.row.id) +
                                                            " does not exist and cannot be deleted"};
    }
    return std::nullopt;
  }
  if (!catalogue.apps.contains(change.row.app.value)) {
    return Refusal{RefusalReason::kUnknownApp, "app: " + std::to_string(change.row.app.value)};
  }
  catalogue.versions[change.row.id] = change.row;
  return std::nullopt;
}

std::optional<Refusal> Apply(const SettingsChange& change, credit::Catalogue& catalogue) {
  credit::ProjectSettings& settings = catalogue.settings;
  settings.max_granted_credit = change.max_granted_credit.value_or(settings.max_granted_credit);
  settings.daily_result_quota = change.daily_result_quota.value_or(settings.daily_result_quota);
  settings.scale_period = change.scale_period.value_or(settings.scale_period);
  return std::nullopt;
}

std::optional<Refusal> Apply(const PlanClassFactor& change, credit::Catalogue& catalogue) {
  catalogue.plan_class_factors[change.plan_class] = change.factor;
  return std::nullopt;
}

template <class Other>
std::optional<Refusal> Apply(const Other&, credit::Catalogue&) {
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> ApplyCatalogueEvent(const Event& event, credit::Catalogue& catalogue) {
  return std::visit([&](const auto& body) { return Apply(body, catalogue); }, event.body);
}

credit::Constants ConstantsFrom(credit::PolicyKind kind, const ConstantChanges& changes) {
  credit::Constants constants = credit::DefaultConstants(kind);
  for (const ConstantField& field : kConstantFields) {
    if (const auto& value = changes.*field.change) constants.*field.value = *value;
  }
  if (changes.replication) {
    constants.replication = *changes.replication == "min"      ? credit::Replication::kMin
                            : *changes.replication == "median" ? credit::Replication::kMedian
                                                               : credit::Replication::kAverage;
  }
  if (changes.benchmark) {
    constants.benchmark =
        *changes.benchmark == "mean" ? credit::Benchmark::kMean : credit::Benchmark::kWhetstone;
  }
  constants.version_median = changes.version_median.value_or(constants.version_median);
  return constants;
}

}  // namespace cobblestone::wire
