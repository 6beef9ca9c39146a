// The result of an adoption, read from the state.
#pragma once

#include "common/base/ids.h"
#include "common/base/status.h"
#include "services/adoption/adoption_totals.h"
#include "services/view/state.h"

namespace cobblestone::adoption {

// Totals of the profiles and figures that the stages keep. Opening balances are those of the accounts, not
// those that the figures imply. Scans all accounts; each partition is of one commit.
Result<Totals> AdoptedTotals(view::State& state, ProjectId project);

}  // namespace cobblestone::adoption
