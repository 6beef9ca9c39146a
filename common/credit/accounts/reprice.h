// Reprices a job under another version of its app's policy (docs/rules.md, section 49) from the ledger's
// records, with the scales, averages and benchmarks of the original price. Pure: calls the policies themselves.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/credit/accounts/account.h"
#include "common/credit/model/catalogue.h"
#include "common/credit/model/model.h"
#include "common/credit/trickles/trickle_policy.h"

namespace cobblestone::credit {

// One claim of a workunit.
struct RecordedClaim {
  Claim claim;
  // True: the claim has every input and can be repriced. False: the claim has only its outcome (mode, flags,
  // PFC and claimed credit) and is used unchanged.
  bool whole = true;
  Benchmark benchmark = Benchmark::kWhetstone;  // used by the policy version that priced the claim
};

struct Repriced {
  double credit = 0;      // Cobblestones, for each result of the workunit, or for a job's trickles
  MicroCredit micro = 0;  // rounded
  std::string problem;    // why the job cannot be repriced; empty: repriced
};

// The reason why this claim cannot be repriced under `version`; none if repricing is possible.
[[nodiscard]] std::optional<std::string> CannotReprice(const RecordedClaim& recorded,
                                                       const PolicyVersion& version);

// `claims`: the claims that the workunit's decision counted, in ascending order of result; `cap`: as recorded
// with the grant.
[[nodiscard]] Repriced Reprice(std::span<const RecordedClaim> claims, double cap,
                               const PolicyVersion& version);

// Progress of a job's trickles of one variety: the highest mark that was paid, and the price frozen at
// dispatch. The ledger does not record marks that paid nothing.
struct RecordedHighWaterMark {
  std::string variety;
  TricklePrice price;
  double high_water_mark = 0;
};

// The worth of a job's trickles under `version`. `then` priced the trickles; both versions must count marks
// alike. `high_water_marks`: one for each variety that paid. Marks, speeds, scales and the project's limit are those
// recorded at the time. The call reports a problem if a mark that paid nothing might be worth more under
// `version`: either the paid mark had reached a limit, or another variety paid.
[[nodiscard]] Repriced RepriceTrickles(std::span<const RecordedHighWaterMark> high_water_marks,
                                       const PolicyVersion& then, const PolicyVersion& version);

// The price that `version` would have frozen for a running job, derived from the price that `then` froze at
// dispatch.
struct RefrozenPrice {
  TricklePrice price;
  std::string problem;  // why the price cannot be derived; empty: derived
};
// `max_granted_credit`: the project's limit, Cobblestones, 0: none. Used only where the frozen price does not
// show the project's limit at dispatch, because the rule's limit was in force or there was no limit.
[[nodiscard]] RefrozenPrice Refreeze(const std::string& variety, const TricklePrice& frozen,
                                     double max_granted_credit, const PolicyVersion& then,
                                     const PolicyVersion& version);

// The reason why a job priced by `then` cannot continue under `version`, whatever its progress: both versions
// must pay for the same varieties and count the marks of each variety alike. None if the job can continue.
[[nodiscard]] std::optional<std::string> CannotContinue(const PolicyVersion& then,
                                                        const PolicyVersion& version);

// The total that `user` receives from a job of worth `worth`: earlier partial grants, plus the rest with the
// final grant (which goes to the claim's user), less the amount that the app's settlement reverses.
[[nodiscard]] MicroCredit CreditTo(UserId user, const Claim& claim, MicroCredit worth);

}  // namespace cobblestone::credit
