#include "services/pipeline/periods.h"

#include "common/wire/control/topics.h"

namespace cobblestone::pipeline {

PeriodKind PeriodKindOf(std::string_view envelope) {
  if (envelope.empty()) return PeriodKind::kNothing;
  const auto routing = wire::PeekRouting(envelope);
  if (!routing) return PeriodKind::kResults;
  if (wire::IsOurOwn(routing->kind)) return PeriodKind::kNothing;
  switch (routing->kind) {
    case wire::EventKind::kTick:
    case wire::EventKind::kBarrier: return PeriodKind::kTick;
    // Estimates of account managers never affect the price or owner of a result.
    case wire::EventKind::kMachineHost:
    case wire::EventKind::kEstimatedCredit: return PeriodKind::kResults;
    default: break;
  }
  switch (wire::RouteEvent(*routing, 1).topic) {
    case wire::kCatalogue: return PeriodKind::kCatalogue;
    case wire::kHosts: return PeriodKind::kHosts;
    case wire::kUsers: return PeriodKind::kUsers;
    case wire::kTeams: return PeriodKind::kTeams;
    default: return PeriodKind::kResults;
  }
}

bool PeriodEndsBefore(PeriodKind last, PeriodKind next, bool asked) {
  if (last == PeriodKind::kNothing) return false;
  if (last == PeriodKind::kEnding) return true;
  return asked || (next != PeriodKind::kNothing && (next != last || next == PeriodKind::kTick));
}

}  // namespace cobblestone::pipeline
