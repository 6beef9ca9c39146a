// The amount that an operator's reversal or repricing subtracts from recent averages (docs/rules.md, section
// 48): the share that the corrected credit still has in each average, by event time. Pure.
#pragma once

#include "common/credit/accounts/account.h"

namespace cobblestone::credit {

// Adds a grant to the share of a result in the recent averages of the accounts that received its credit: ln 2 /
// half-life of each day's work, decayed since, as for partial grants that are reversed (partial_settlement.h).
void AddToShare(MicroCredit micro, double time, RecentAverage& share);
// Subtracts `off`, Cobblestones per day, which an earlier record subtracted from the averages.
void TakeFromShare(double off, double time, RecentAverage& share);

// Cobblestones per day that the averages lose at `now` when credit of `before` becomes `after`: in proportion
// to the change, and the whole share when no credit is left. Negative: the averages gain. 0 if `before` is 0 or
// the amount would not be finite.
[[nodiscard]] double ShareOff(const RecentAverage& share, MicroCredit before, MicroCredit after, double now);

// Cobblestones per day that the averages lose at `now` when a result is reinstated. Negative, because the
// averages gain: the decayed rest of `taken`, the share that the result's reversals subtracted from the
// averages.
[[nodiscard]] double ShareBack(const RecentAverage& taken, double now);

}  // namespace cobblestone::credit
