#include "services/factors/factor_events.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <utility>

#include "common/stream/hash128.h"
#include "common/wire/events/event_codec.h"

namespace cobblestone::factors {
namespace {

constexpr std::size_t kMostNamed = 20;  // projects in a provenance

std::string FormatNumber(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// "hub Stats, sequence 12: 3 projects: Alpha (40.0 %, 0.25), ..."
std::string ProvenanceOf(const HubAnswer& answer, const HubFactor& factor) {
  const std::string hub = "hub " + answer.hub + ", sequence " + std::to_string(answer.sequence);
  if (factor.is_default) return "default: " + hub + ": too few projects contribute";
  std::string text = hub + ": " + std::to_string(factor.contributions.size()) + " projects";
  std::size_t named = 0;
  for (const HubContribution& one : factor.contributions) {
    if (++named > kMostNamed) return text + ", ...";
    text += (named == 1 ? ": " : ", ") + one.project + " (" + FormatNumber("%.1f %%, ", 100 * one.weight) +
            FormatNumber("%.6g)", one.value);
  }
  return text;
}

// No Envelope has an id of more than 63 bits in JSON of other languages.
std::uint64_t IdOf(const wire::Event& event) { return stream::HashBytes(wire::EncodeEvent(event)).low >> 1; }

bool IsAcceptable(double factor) {
  return std::isfinite(factor) && factor >= kLeastFactor && factor <= kLargestFactor;
}

}  // namespace

FactorEvents EventsOf(const HubAnswer& answer, const std::vector<ProjectFactors>& projects) {
  std::map<std::pair<std::string, credit::Resource>, const HubFactor*> by_class;
  for (const HubFactor& factor : answer.factors) by_class[{factor.plan_class, factor.resource}] = &factor;
  FactorEvents made;
  std::set<const HubFactor*> rejected;
  for (const ProjectFactors& project : projects) {
    if (project.time <= 0) continue;
    for (const auto& [plan_class, resource] : project.classes) {
      const auto found = by_class.find({plan_class, resource});
      if (found == by_class.end()) continue;
      const HubFactor& factor = *found->second;
      if (!IsAcceptable(factor.factor)) {
        if (rejected.insert(&factor).second)
          made.rejected.push_back("plan class " + plan_class + ": factor " +
                                  FormatNumber("%g", factor.factor) + " of hub " + answer.hub +
                                  " is outside 0.0001 to 100");
        continue;
      }
      const auto standing = project.in_force.find(plan_class);
      if (standing != project.in_force.end() &&
          (standing->second.factor == factor.factor || standing->second.time > answer.as_of))
        continue;
      wire::Event event{
          .head = {.id = 0, .project = project.project, .time = std::min(answer.as_of, project.time)},
          .body = wire::PlanClassFactor{
              .plan_class = plan_class, .factor = factor.factor, .provenance = ProvenanceOf(answer, factor)}};
      event.head.id = IdOf(event);
      made.events.push_back(std::move(event));
    }
  }
  return made;
}

}  // namespace cobblestone::factors
