// What an adoption has come to, as the state has it.
#pragma once

#include "common/base/ids.h"
#include "common/base/status.h"
#include "services/adoption/adoption_totals.h"
#include "services/view/state.h"

namespace cobblestone::adoption {

// Profiles and figures as the stages keep them, and in place of what figures say balances should be the accounts' own. Walks
// all accounts; each partition is as of one commit of its own.
Result<Totals> AdoptedTotals(view::State& state, ProjectId project);

}  // namespace cobblestone::adoption
