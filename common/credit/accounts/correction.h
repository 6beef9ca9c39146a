// What an operator's reversal or re-pricing takes from recent averages (docs/rules.md, section 48): what the corrected credit still
// has in them, by event time. Pure.
#pragma once

#include "common/credit/accounts/account.h"

namespace cobblestone::credit {

// What a result still has in the recent averages of those who got its credit: ln 2 / half-life of each day's work, decayed
// since, as with partial grants that are taken back (partial_settlement.h).
void AddToShare(MicroCredit micro, double time, RecentAverage& share);
// A record before has taken so much of it away, Cobblestones per day.
void TakeFromShare(double off, double time, RecentAverage& share);

// Cobblestones per day that the averages lose at `now`, where credit of `before` becomes `after`: in proportion, all of it where
// nothing is left. Below 0: they win. Where there was no credit there is nothing to be in proportion to: 0.
[[nodiscard]] double ShareOff(const RecentAverage& share, MicroCredit before, MicroCredit after, double now);

// Cobblestones per day that the averages lose at `now` where a result is reinstated; below 0, for they win: what is left of
// `taken`, which its reversals have taken from them.
[[nodiscard]] double ShareBack(const RecentAverage& taken, double now);

}  // namespace cobblestone::credit
