// Whether an event is well-formed on its own: the first step of every decision, before anything is looked up.
// The table of rules is in schemas/README.md, 'Well-formed'. Pure; allocates only where it refuses.
//
// What it leaves alone: elapsed time, CPU time, peak FLOP/s and benchmarks may be negative, zero or as large
// as a double can be, and a bound may be 0. Real projects send all of these, and each policy has its own rule
// for them (semantics, 'Windows'; golden README, items 1, 7 and 27).
#pragma once

#include <optional>

#include "common/credit/accounts/account.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/events/events.h"
#include "common/wire/ledger/refusal.h"

namespace cobblestone::wire {

// Times are UNIX seconds before the year 10000, so that days and seconds fit into integers everywhere.
inline constexpr double kMaxTime = 253402300800.0;
// More claims than that for one workunit would only make it wait.
inline constexpr std::uint32_t kMaxClaims = 10000;

// The opening balance of an account whose project's database has this total (OpeningFigures), in micro-credits. 0 where the
// total can be no balance: below 0, beyond 64 bits, no number.
credit::MicroCredit BalanceOf(double total_credit);

// The first rule that is broken; none: well-formed.
std::optional<Refusal> CheckEvent(const HotEvent& event);
std::optional<Refusal> CheckEvent(const Event& event);

}  // namespace cobblestone::wire
