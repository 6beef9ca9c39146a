// The control totals of an export: compares the total of each account in the state with the sum of the ledger
// up to the exact place that the state has read.
#pragma once

#include "common/base/ids.h"
#include "common/base/status.h"
#include "services/export/ledger_totals.h"
#include "services/ledger/ledger_sums.h"
#include "services/ledger/state_snapshot.h"

namespace cobblestone::audit {

// `sums` must end at `snapshot.places`; the call changes the entries of `sums`. kCorrupted: state and ledger
// differ by at least one micro-credit (the message names the first account), or a stored record does not
// decode.
Result<exports::LedgerTotals> Reconcile(const ledger::StateSnapshot& snapshot, ProjectId project,
                                        ledger::LedgerSums& sums);

}  // namespace cobblestone::audit
