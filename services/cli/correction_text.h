// An operator's corrections of a result (reversals, repricings, reinstatements) as text for people (format.h).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cobblestone::cli {

// The last part of `explain`'s text; empty if the result has no correction.
std::string CorrectionsText(const nlohmann::json& answer);

}  // namespace cobblestone::cli
