// What operators have taken back of a result, or priced anew, as words for people (format.h).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace cobblestone {

// The end of what `explain` tells; empty where there was no correction.
std::string CorrectionsText(const nlohmann::json& answer);

}  // namespace cobblestone
