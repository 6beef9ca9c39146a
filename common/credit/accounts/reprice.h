// Reprices a decided job by another version of its app's policy (docs/rules.md, section 49) from the ledger's
// records, with the scales, averages and benchmarks of the original decision. Pure: calls the policies themselves.
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
  // With every input, and so to be priced anew; else as it was: mode, flags, PFC and claim alone.
  bool whole = true;
  Benchmark benchmark = Benchmark::kWhetstone;  // that its own version of the policy asked for
};

struct PricedAnew {
  double credit = 0;      // Cobblestones, of each of the workunit's results, or of a job's trickles
  MicroCredit micro = 0;  // rounded
  std::string problem;    // why it cannot be told; empty: it can
};

// The reason why `version` cannot reprice this claim; none if it can.
[[nodiscard]] std::optional<std::string> CannotPriceAnew(const RecordedClaim& recorded,
                                                         const PolicyVersion& version);

// `claims`: the claims that the workunit's decision counted, in ascending order of result; `cap`: as recorded with
// the grant.
[[nodiscard]] PricedAnew PriceAnew(std::span<const RecordedClaim> claims, double cap,
                                   const PolicyVersion& version);

// How far a job's trickles of one variety had come: the highest mark that paid, and the price that was frozen at the
// dispatch. Which marks came that paid nothing no ledger tells.
struct RecordedMark {
  std::string variety;
  TricklePrice price;
  double mark = 0;
};

// What a job's trickles are worth by `version`, which counts marks as `then` did, by which they were priced. Marks,
// speeds, scales and the project's limit of then; `marks`: one of each variety that paid. Where a mark that paid
// nothing might be worth more now, there is no telling: it had come to a limit, or another variety paid.
[[nodiscard]] PricedAnew PriceTricklesAnew(std::span<const RecordedMark> marks, const PolicyVersion& then,
                                           const PolicyVersion& version);

// The price that `version` would have frozen for a running job, derived from the price that `then` froze at dispatch.
struct FrozenAnew {
  TricklePrice price;
  std::string problem;  // why it cannot be told; empty: it can
};
// `max_granted_credit`: the project's limit, Cobblestones, 0: none; counts where the frozen price does not tell that
// of then: a limit of the rule, or none, was below it.
[[nodiscard]] FrozenAnew FreezeAnew(const std::string& variety, const TricklePrice& frozen,
                                    double max_granted_credit, const PolicyVersion& then,
                                    const PolicyVersion& version);

// Why a job that was priced by `then` cannot go on by `version`, whatever has come of it: each variety that one of
// them pays for the other must count alike. None: it can.
[[nodiscard]] std::optional<std::string> CannotGoOn(const PolicyVersion& then, const PolicyVersion& version);

// The total that `user` receives from a job of worth `worth`: earlier partial grants, the rest with the final grant
// (which goes to the claim's user), less what the app's settlement takes back.
[[nodiscard]] MicroCredit BroughtTo(UserId user, const Claim& claim, MicroCredit worth);

}  // namespace cobblestone::credit
