// Whether an event is well-formed in itself: the first step of every decision, before any lookup.
// schemas/README.md, 'Well-formed', has the table of rules. Pure; allocates only when it refuses.
//
// Not restricted: elapsed time, CPU time, peak FLOP/s and benchmarks may be negative, zero or as large as a
// double can be, and a bound may be 0. Real projects send all of these, and each policy has its own rule for
// them (golden README, items 1, 7 and 27).
#pragma once

#include <optional>

#include "common/credit/accounts/account.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/events/events.h"
#include "common/wire/ledger/refusal.h"

namespace cobblestone::wire {

// Times are UNIX seconds before the year 10000, so that days and seconds fit into integers everywhere.
inline constexpr double kMaxTime = 253402300800.0;
// A workunit that announced more claims would only wait.
inline constexpr std::uint32_t kMaxClaims = 10000;

// The opening balance of an account with this total in the project's database (OpeningFigures), in
// micro-credits. 0 if the total cannot be a balance: negative, beyond 64 bits, or not a number.
credit::MicroCredit BalanceOf(double total_credit);

// The first violated rule; none: well-formed.
std::optional<Refusal> CheckEvent(const HotEvent& event);
std::optional<Refusal> CheckEvent(const Event& event);

}  // namespace cobblestone::wire
