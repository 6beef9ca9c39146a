// The control totals of an engine that is at rest: what an export of it would put beside its files.
#pragma once

#include "services/audit/control_totals.h"
#include "services/embedded/engine.h"

namespace cobblestone::testing {

// `anew`: the ledger is read from its beginning, else from where the last sums end.
inline Result<LedgerSums> SumsFor(Engine& engine, const HeldState& held, bool anew) {
  const auto kept = engine.SumLedger(held.places, anew, {});
  if (!kept.ok()) return kept.status();
  return LedgerSums::Load(kept->at("file").get<std::string>());
}

inline Result<statistics::LedgerTotals> ControlTotalsOf(Engine& engine, ProjectId project, bool anew) {
  const auto held = HeldState::Hold(engine.live_state());
  if (!held.ok()) return held.status();
  auto sums = SumsFor(engine, *held, anew);
  if (!sums.ok()) return sums.status();
  return Reconcile(*held, project, *sums);
}

}  // namespace cobblestone::testing
