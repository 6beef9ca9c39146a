// The plan of a reversal, repricing or reinstatement (correction_plan.h, CorrectionPlanJson) as text for people: which
// corrections, and who gains or loses how much.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cobblestone::cli {

struct CorrectionWords {
  std::string verb;  // "reversed", "reinstated", "repriced by version 3"
  bool reprices = false;
  std::uint64_t host = 0;  // the target, if it is a host
};
std::string CorrectionPlanText(const nlohmann::json& plan, const CorrectionWords& words);

// For programs: {"user": [{"id", "credit", "corrections", "recent_average"}], "host": ..., "team": ...}. A loss is
// negative.
nlohmann::json CorrectionLosses(const nlohmann::json& plan);

}  // namespace cobblestone::cli
