#include "services/pipeline/periods.h"

#include "common/wire/control/topics.h"

namespace cobblestone {

Said SaidBy(std::string_view envelope) {
  if (envelope.empty()) return Said::kNothing;
  const auto routing = wire::PeekRouting(envelope);
  if (!routing) return Said::kResults;
  if (wire::IsOurOwn(routing->kind)) return Said::kNothing;
  switch (routing->kind) {
    case wire::EventKind::kTick:
    case wire::EventKind::kBarrier: return Said::kTick;
    // Estimates of account managers never affect the price or owner of a result.
    case wire::EventKind::kMachineHost:
    case wire::EventKind::kEstimatedCredit: return Said::kResults;
    default: break;
  }
  switch (wire::RouteEvent(*routing, 1).topic) {
    case wire::kCatalogue: return Said::kCatalogue;
    case wire::kHosts: return Said::kHosts;
    case wire::kUsers: return Said::kUsers;
    case wire::kTeams: return Said::kTeams;
    default: return Said::kResults;
  }
}

bool PeriodEndsBefore(Said last, Said next, bool asked) {
  if (last == Said::kNothing) return false;
  return asked || (next != Said::kNothing && (next != last || next == Said::kTick));
}

}  // namespace cobblestone
