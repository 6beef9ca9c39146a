// A claim of policy `robust` (docs/rules.md, section 54) as labelled lines for people (format.h).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cobblestone::cli {

using LabelledLines = std::vector<std::pair<std::string, std::string>>;

// What the claim rests on: averages, reliability and budget.
LabelledLines RobustInputs(const nlohmann::json& claim);

// The claim as a product, factor by factor, with the reasons of its limits.
LabelledLines RobustSteps(const nlohmann::json& claim);

// A mode, where its meaning differs from that of other policies. Empty: it does not.
std::string_view RobustModeWords(std::string_view mode);

}  // namespace cobblestone::cli
