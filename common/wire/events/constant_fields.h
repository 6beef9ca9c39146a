// The numeric constants of a policy version: name in the schema, place in an event, place in the rules. One
// list for decoding, encoding, checking and applying.
#pragma once

#include <optional>

#include "common/credit/model/constants.h"
#include "common/wire/events/events.h"

namespace cobblestone::wire {

struct ConstantField {
  const char* name;
  std::optional<double> ConstantChanges::*change;
  double credit::Constants::*value;
};

#define COBBLESTONE_CONSTANT(field) \
  ConstantField { #field, &ConstantChanges::field, &credit::Constants::field }

inline constexpr ConstantField kConstantFields[] = {
    COBBLESTONE_CONSTANT(cobblestones_per_gflops_day),
    COBBLESTONE_CONSTANT(host_average_samples),
    COBBLESTONE_CONSTANT(host_average_weight),
    COBBLESTONE_CONSTANT(version_average_samples),
    COBBLESTONE_CONSTANT(version_average_weight),
    COBBLESTONE_CONSTANT(average_sample_limit),
    COBBLESTONE_CONSTANT(host_scale_min_samples),
    COBBLESTONE_CONSTANT(host_scale_limit),
    COBBLESTONE_CONSTANT(one_time_cheat_factor),
    COBBLESTONE_CONSTANT(error_rate_initial),
    COBBLESTONE_CONSTANT(error_rate_keep),
    COBBLESTONE_CONSTANT(error_rate_add),
    COBBLESTONE_CONSTANT(multiplier),
    COBBLESTONE_CONSTANT(max_peak_flops_cpu),
    COBBLESTONE_CONSTANT(max_peak_flops_gpu),
    COBBLESTONE_CONSTANT(max_devices),
    COBBLESTONE_CONSTANT(claim_limit),
    COBBLESTONE_CONSTANT(max_credit_per_job),
    COBBLESTONE_CONSTANT(gpu_only_factor),
    COBBLESTONE_CONSTANT(reported_credit_limit),
    COBBLESTONE_CONSTANT(budget_factor),
    COBBLESTONE_CONSTANT(failure_weight),
    COBBLESTONE_CONSTANT(failure_allowance),
};

#undef COBBLESTONE_CONSTANT

}  // namespace cobblestone::wire
