// Two hosts of one user are one machine: their accounts become one.
#pragma once

#include "common/credit/accounts/account.h"

namespace cobblestone::credit {

// Adds all that `from` has to `into`: totals, sums by app and by day, counts, and the recent average, both decayed to the later
// of their times. What `from` was opened with is credit like other in `into`, whose own opening balance stays what it was.
void Unite(const Account& from, Account& into);

}  // namespace cobblestone::credit
