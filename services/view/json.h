// Values of the pipeline as JSON: credit as text with six decimals, and numbers that JSON has not as text.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "common/base/status.h"
#include "common/credit/accounts/account.h"
#include "common/credit/estimates/estimate_account.h"
#include "common/credit/model/model.h"
#include "common/wire/ledger/grant_codec.h"
#include "common/wire/ledger/refused_codec.h"

namespace cobblestone::view {

// "12.400000"
std::string MicroText(credit::MicroTotal micro);
// JSON has no infinity: as text then.
nlohmann::json Number(double value);

nlohmann::json AverageJson(const credit::Average& average);
nlohmann::json AverageVarJson(const credit::AverageVar& average);
nlohmann::json FlagsJson(std::uint32_t flags);
nlohmann::json ClaimJson(const credit::Claim& claim);
// What a trickle was paid, and why; and what was made of it.
nlohmann::json PartialJson(const wire::Grant& grant);
// A trickle that brought nothing, and why.
nlohmann::json UnpaidJson(const wire::Grant& grant);
nlohmann::json ReversalJson(const wire::Grant& grant);
// What account managers' reports have come to; `open`: of it what is not granted.
nlohmann::json EstimatesJson(const credit::EstimateSums& sums, credit::MicroTotal open);
// What an operator has taken back of a result, or made of it.
nlohmann::json CorrectionJson(const wire::Grant& grant);
// A result that the validator judged invalid. `worth`: what its claim alone would have come to; absent where nothing tells.
nlohmann::json InvalidJson(const wire::Grant& grant);
// {NAME: the average decayed to `now`, NAME_time: `now`}. `now`: UNIX s. Before the average's last change: as it was then.
void AddRecentNow(const char* name, const credit::RecentAverage& average, double now, nlohmann::json* j);
// `now`: UNIX s, to when the recent average is decayed.
nlohmann::json AccountJson(const credit::Account& account, double now);

// `number`: where it is among the refusals.
nlohmann::json RefusedJson(std::uint64_t number, const wire::Refused& refused);
// Or why it cannot be given to the pipeline once more.
Status MayBeResubmitted(std::uint64_t number, const wire::Refused& refused);

}  // namespace cobblestone::view
