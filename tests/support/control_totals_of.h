// The control totals of an engine that is at rest: what an export of it would put beside its files.
#pragma once

#include "services/audit/control_totals.h"
#include "services/embedded/engine.h"

namespace cobblestone::testing {

// `from_start`: the ledger is read from its beginning, else from where the last sums end.
inline Result<LedgerSums> SumsFor(Engine& engine, const StateSnapshot& snapshot, bool from_start) {
  const auto kept = engine.SumLedger(snapshot.places, from_start, {});
  if (!kept.ok()) return kept.status();
  return LedgerSums::Load(kept->at("file").get<std::string>());
}

inline Result<statistics::LedgerTotals> ControlTotalsOf(Engine& engine, ProjectId project, bool from_start) {
  const auto snapshot = StateSnapshot::Take(engine.live_state());
  if (!snapshot.ok()) return snapshot.status();
  auto sums = SumsFor(engine, *snapshot, from_start);
  if (!sums.ok()) return sums.status();
  return Reconcile(*snapshot, project, *sums);
}

}  // namespace cobblestone::testing
