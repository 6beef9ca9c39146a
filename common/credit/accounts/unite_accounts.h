// Merges the accounts of two hosts of one user that are one machine (docs/rules.md, section 34).
#pragma once

#include "common/credit/accounts/account.h"

namespace cobblestone::credit {

// Adds the contents of `from` to `into`: totals, sums by app and by day, counts, and the recent average, both
// decayed to the later of their times. The opening balance of `from` becomes ordinary credit of `into`; the
// opening balance of `into` does not change.
void Unite(const Account& from, Account& into);

}  // namespace cobblestone::credit
