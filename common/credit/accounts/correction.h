// What an operator's reversal or re-pricing takes from recent averages (docs/rules.md, section 48): the share that
// the corrected credit still has in each average, by event time. Pure.
#pragma once

#include "common/credit/accounts/account.h"

namespace cobblestone::credit {

// Adds a grant to the share of a result in the recent averages of the accounts that received its credit: ln 2 /
// half-life of each day's work, decayed since, as for partial grants that are reversed (partial_settlement.h).
void AddToShare(MicroCredit micro, double time, RecentAverage& share);
// Subtracts `off`, Cobblestones per day, that an earlier record took from the averages.
void TakeFromShare(double off, double time, RecentAverage& share);

// Cobblestones per day that the averages lose at `now`, when credit of `before` becomes `after`: in proportion, and
// the whole share when no credit is left. Negative: the averages gain. 0 when there was no credit before.
[[nodiscard]] double ShareOff(const RecentAverage& share, MicroCredit before, MicroCredit after, double now);

// Cobblestones per day that the averages lose at `now` when a result is reinstated. Negative, because the averages
// gain: the decayed rest of `taken`, which the result's reversals took from them.
[[nodiscard]] double ShareBack(const RecentAverage& taken, double now);

}  // namespace cobblestone::credit
