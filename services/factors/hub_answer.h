// A hub's answer to GET /api/v1/federation/factors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/credit/model/model.h"

namespace cobblestone::factors {

struct HubContribution {
  std::string project;  // its name
  double weight = 0;    // share, 0 to 1
  double value = 0;
};

struct HubFactor {
  std::string plan_class;
  credit::Resource resource = credit::Resource::kUnknown;
  double factor = 0;  // NaN: the answer has no number
  bool is_default = false;
  std::vector<HubContribution> contributions;
};

struct HubAnswer {
  std::string hub;  // its URL, which the caller sets
  std::uint64_t sequence = 0;
  double as_of = 0;                // UNIX s
  std::vector<HubFactor> factors;  // each (plan class, resource) once
};

// kInvalidArgument: the text is not an answer; the message names the field. Unknown fields are ignored, and so are
// factors of CPUs and of resources that this build does not know.
Result<HubAnswer> ParseHubAnswer(std::string_view text);

}  // namespace cobblestone::factors
