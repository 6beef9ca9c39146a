// The control totals of an engine at rest: those that an export of it would write beside its files.
#pragma once

#include "services/audit/control_totals.h"
#include "services/embedded/engine.h"

namespace cobblestone::testing {

// `from_start`: the ledger is read from its beginning, otherwise from the end of the last sums.
inline Result<ledger::LedgerSums> SumsFor(embedded::Engine& engine, const ledger::StateSnapshot& snapshot,
                                          bool from_start) {
  const auto kept = engine.SumLedger(snapshot.places, from_start, {});
  if (!kept.ok()) return kept.status();
  return ledger::LedgerSums::Load(kept->at("file").get<std::string>());
}

inline Result<exports::LedgerTotals> ControlTotalsOf(embedded::Engine& engine, ProjectId project,
                                                     bool from_start) {
  const auto snapshot = ledger::StateSnapshot::Take(engine.live_state());
  if (!snapshot.ok()) return snapshot.status();
  auto sums = SumsFor(engine, *snapshot, from_start);
  if (!sums.ok()) return sums.status();
  return audit::Reconcile(*snapshot, project, *sums);
}

}  // namespace cobblestone::testing
