// The control totals of an export: what accounts have in the state, against what the ledger has given them up to just where the
// state stands, account by account.
#pragma once

#include "common/base/ids.h"
#include "common/base/status.h"
#include "services/export/ledger_totals.h"
#include "services/ledger/held_state.h"
#include "services/ledger/ledger_sums.h"

namespace cobblestone {

// `sums` end where `held` stands, and are used up. kCorrupted: they differ, by one micro-credit at least; names the first account.
Result<statistics::LedgerTotals> Reconcile(const HeldState& held, ProjectId project, LedgerSums& sums);

}  // namespace cobblestone
