// Values of the pipeline as JSON: credit as text with six decimals, and numbers that JSON
// cannot represent as text.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/credit/accounts/account.h"
#include "common/credit/estimates/estimate_account.h"
#include "common/credit/model/model.h"
#include "common/wire/events/account_kind.h"
#include "common/wire/ledger/grant_codec.h"
#include "common/wire/ledger/refused_codec.h"

namespace cobblestone::view {

// "12.400000"
std::string MicroText(credit::MicroTotal micro);
// "host", "user" or "team".
std::string_view KindName(wire::AccountKind kind);
// Infinities and NaN become text, because JSON has no such numbers.
nlohmann::json Number(double value);

nlohmann::json AverageJson(const credit::Average& average);
nlohmann::json AverageVarJson(const credit::AverageVar& average);
nlohmann::json FlagsJson(std::uint32_t flags);
nlohmann::json ClaimJson(const credit::Claim& claim);
// A trickle's payment: the price with its inputs, and the high-water mark before and after.
nlohmann::json PartialJson(const wire::Grant& grant);
// A trickle that paid nothing, and the reason.
nlohmann::json UnpaidJson(const wire::Grant& grant);
nlohmann::json ReversalJson(const wire::Grant& grant);
// Sums of account managers' reports; `open`: the part that has not been granted.
nlohmann::json EstimatesJson(const credit::EstimateSums& sums, credit::MicroTotal open);
// A result's correction by an operator: a reversal, repricing or reinstatement.
nlohmann::json CorrectionJson(const wire::Grant& grant);
// A result that the validator judged invalid. `worth`: the grant for its claim alone, had the result
// been valid; absent if unknown.
nlohmann::json InvalidJson(const wire::Grant& grant);
// {NAME: the average decayed to `now`, NAME_time: `now`}. `now`: UNIX s. If `now` is before the average's last
// change, the average as of that change.
void AddRecentNow(const char* name, const credit::RecentAverage& average, double now, nlohmann::json* j);
// `now`: UNIX s, the time to which the recent average is decayed.
nlohmann::json AccountJson(const credit::Account& account, double now);

// A claim or grant, made by a stage from accepted events. Its bytes are not an Envelope, although they can look like one.
bool IsDerived(const wire::Refused& refused);
// `number`: of the refused record. Without its bytes if it is derived.
nlohmann::json RefusedJson(std::uint64_t number, const wire::Refused& refused);
// Ok, or the reason why the refused record cannot be resubmitted.
Status MayBeResubmitted(std::uint64_t number, const wire::Refused& refused);

}  // namespace cobblestone::view
