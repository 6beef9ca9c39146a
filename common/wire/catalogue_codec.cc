#include "common/wire/catalogue_codec.h"

#include <string>
#include <utility>
#include <variant>

#include "common/credit/policy.h"
#include "common/wire/constant_fields.h"

namespace cobblestone::wire {
namespace {

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

  if (old == nullptr) {
    policy.version = change.policy_version != 0 ? change.policy_version : 1;
  } else {
    const std::uint32_t last = old->policy.version;
    const bool same = old->policy.kind == policy.kind && old->policy.constants == policy.constants;
    const std::uint32_t next = change.policy_version != 0 ? change.policy_version : (same ? last : last + 1);
    if (next < last) {
      return Refusal{RefusalReason::kOutOfRange,
                     "policy_version: " + std::to_string(next) + " after " + std::to_string(last)};
    }
    if (next == last && !same) {
      return Refusal{
          RefusalReason::kDuplicateWithOtherContents,
          "policy_version: " + std::to_string(next) + " is in use with another policy or other constants"};
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
      return Refusal{RefusalReason::kUnknownAppVersion,
                     "app_version: " + std::to_string(change.row.id) + " is not there to be deleted"};
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
