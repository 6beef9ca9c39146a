#include "services/cli/correction_text.h"

#include <nlohmann/json.hpp>

#include "services/cli/format.h"

namespace cobblestone::cli {

using nlohmann::json;

namespace {

std::string FieldText(const json& from, const char* name) {
  const auto found = from.find(name);
  if (found == from.end()) return {};
  return NumberText(*found);
}

// The origin of the amount for a result that had been judged invalid.
std::string AmountWords(const json& one, const json& answer) {
  if (!one.contains("judged_invalid")) return {};
  const auto like = one.find("like_result");
  if (like != one.end())
    return " (the grant of result " + std::to_string(like->get<std::uint64_t>()) + " of the workunit)";
  const auto judged = answer.find("judged_invalid");
  const bool has_worth = judged != answer.end() && judged->contains("worth");
  return has_worth ? " (the result's own claim)" : " (amount set by an operator)";
}

}  // namespace

std::string CorrectionsText(const json& answer) {
  const auto corrections = answer.find("corrections");
  if (corrections == answer.end() || corrections->empty()) return {};
  std::string text = "\n  Corrections\n";
  for (const json& one : *corrections) {
    const json& time = one.at("time");
    text += "     " + (time.is_number() ? UtcText(time.get<double>()) : FieldText(one, "time")) + "  ";
    const auto version = one.find("policy_version");
    text += one.value("kind", "") == "reinstatement" ? std::string("reinstated for ")
            : version == one.end()
                ? std::string(one.contains("up_to") ? "reversed while running, for " : "reversed for ")
                : "repriced by version " + std::to_string(version->get<std::uint64_t>()) +
                      (one.contains("while_running") ? " while running, for " : " for ");
    const char* owner = one.at("user") == 0 ? "host" : "user";
    text += owner + (" " + std::to_string(one.at(owner).get<std::uint64_t>())) +
            " (reason: " + FieldText(one, "reason") + "): " + FieldText(one, "before") + " became " +
            FieldText(one, "after") + " Cobblestones" + AmountWords(one, answer) +
            ", and the recent averages ";
    if (const json& off = one.at("recent_average_off"); off.is_number() && off.get<double>() < 0)
      text += "increased by " + NumberText(json(-off.get<double>())) + " a day\n";
    else
      text += "decreased by " + FieldText(one, "recent_average_off") + " a day\n";
  }
  return text + "     Total after all corrections: " + FieldText(answer, "credit") + " Cobblestones.\n";
}

}  // namespace cobblestone::cli
