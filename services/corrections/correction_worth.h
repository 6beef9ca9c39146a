// The ledger's records of one result, and the credit of each owner of the result under another version of the
// policy (docs/rules.md, sections 47 to 51): grant and trickles are repriced from the records alone.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/credit/accounts/correction.h"
#include "common/credit/accounts/reprice.h"
#include "common/wire/events/events.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/stage/project_view.h"

namespace cobblestone::corrections {

struct ResultOwner {
  HostId host;
  UserId user;
  friend auto operator<=>(const ResultOwner&, const ResultOwner&) = default;
};

// The effect of one ledger record on the credit of one owner.
struct ResultRecord {
  wire::GrantKind kind = wire::GrantKind::kUnknown;
  TeamId team;
  credit::MicroCredit micro = 0;
  credit::MicroCredit provisional = 0;  // change of the provisional credit
  double time = 0;
  double recent_off = 0;
  std::uint32_t flags = 0;
  std::uint64_t event = 0;  // id of the correction's event; 0: no correction
  // Reversal while the job ran: `paid` is the sum of payments up to which the reversal revokes. Repricing
  // while the job ran: `paid` is the sum at the new price, `taken` the part of `paid` that operators had
  // revoked.
  credit::MicroCredit paid = 0;
  credit::MicroCredit taken = 0;
  // Repricing while the job ran: the number of the repricing, from 1. Partial grant: the number of repricings
  // before.
  std::uint32_t repriced = 0;
  credit::MicroCredit before = 0;    // correction: the owner's credit before, as planned
  std::uint32_t policy_version = 0;  // of a repricing
  ResultId like_result;              // of a reinstatement: see wire::Undone
  std::size_t variety = 0;           // partial grant: index in LedgerResult::prices
  double mark_before = 0;            // of the variety; `high_water_mark`: afterwards
  double high_water_mark = 0;
  credit::MicroCredit paid_before = 0;  // to all owners of the job
  bool posted = false;                  // the posting of the record was read
  // The operator ordered the correction while the job ran and before an event named the user. The
  // correction waited, and was then posted to the team of the partial grants.
  bool waited = false;

  [[nodiscard]] bool partial() const { return kind == wire::GrantKind::kPartial; }
  [[nodiscard]] bool late() const { return (flags & credit::kGrantLate) != 0; }
  [[nodiscard]] bool reinstates() const { return (flags & credit::kGrantReinstates) != 0; }
  // Reinstates a result that the validator judged invalid: the first credit of the result, not revoked credit.
  [[nodiscard]] bool of_invalid() const { return (flags & credit::kGrantJudgedInvalid) != 0; }
  [[nodiscard]] bool while_running() const { return event != 0 && (paid != 0 || repriced != 0); }
  // The job is decided: all partial grants before this record are final.
  [[nodiscard]] bool settles() const { return event == 0 && (flags & credit::kGrantSettles) != 0; }
};

// A trickle that arrived after the decision and paid nothing, because the job's grant covered the trickle.
// Under a version with a lower grant, the trickle may be worth more than the grant.
struct CoveredTrickle {
  ResultOwner owner;
  std::size_t variety = 0;  // in LedgerResult::prices
  double high_water_mark = 0;
  std::size_t at = 0;  // number of the owner's records before the trickle
};

struct LedgerResult {
  AppId app;
  WorkunitId workunit;
  AppVersionId version;
  double last_credit = 0;
  bool unnamed = false;  // credit expired because no event named the user
  bool resent = false;   // the trickles were priced at more than one dispatch
  std::vector<std::pair<std::string, credit::TricklePrice>> prices;  // by variety, as frozen at the dispatch
  // Highest marks of trickles that paid nothing, by variety, number of repricings before the trickle, and
  // whether the trickle arrived after the decision.
  std::map<std::tuple<std::string, std::uint32_t, bool>, double> unpaid;
  std::vector<CoveredTrickle> covered;  // in order
  std::optional<wire::Grant> final;
  std::map<ResultOwner, std::vector<ResultRecord>> owners;  // in order
  std::map<ResultOwner, wire::Grant> invalid;               // INVALID records, with the claim as if valid

  // Index of the variety in `prices`. Appends `price` if the variety is new.
  std::size_t PlaceOf(const std::string& variety, const credit::TricklePrice& price);
  // Trickles paid for the job, and no decision has settled these payments.
  [[nodiscard]] bool Runs() const;
  // Number of repricings while the job ran.
  [[nodiscard]] std::uint32_t Repriced() const;
  // Policy version of the last such repricing, or else of the dispatch; `prices` must not be empty.
  [[nodiscard]] std::uint32_t VersionInForce() const;
};

// Provisional credit that one owner still has, from all records of this owner.
[[nodiscard]] credit::MicroTotal Provisional(const std::vector<ResultRecord>& records);

// Final grants of a workunit's results, by result.
using ReplicaGrants = std::map<std::uint64_t, wire::Grant>;

// The result's credit for one owner as a member of one team.
struct TeamShare {
  wire::LedgerEntry entry;  // with all corrections
  // Credit from the pipeline, with corrections while the job ran, and the first credit of a reinstated
  // invalid result.
  credit::MicroTotal granted = 0;
  credit::MicroTotal taken = 0;  // by later reversals without reinstatement; 0 or negative
  bool uncounted = false;        // one of these reversals removed the result from the count
  credit::RecentAverage lost;    // loss of the recent averages to these reversals
};
// In the order of each team's first record.
std::vector<TeamShare> SharesOf(const LedgerResult& result, const ResultOwner& owner);

// Payments of a running job to one owner as a member of one team, and the part that operators revoked, as
// CLAIMS counts both. CLAIMS revoked the part in `waited` from no team; `paid` and `taken` exclude this part.
struct PaidSums {
  credit::MicroTotal paid = 0;
  credit::MicroTotal taken = 0;   // the sum of payments up to which operators revoked
  credit::MicroTotal waited = 0;  // likewise, by corrections that waited for the user

  // The sum of `paid` up to which the correction revokes. MoreBy(): the part of this sum that no earlier
  // correction revoked.
  [[nodiscard]] credit::MicroTotal SumOf(const ResultRecord& correction) const {
    return correction.paid - (correction.waited ? waited : 0);
  }
  [[nodiscard]] credit::MicroTotal MoreBy(const ResultRecord& correction) const {
    return SumOf(correction) - (correction.waited ? 0 : taken);
  }
  // `record`: a partial grant, or a correction of the running job.
  void Add(const ResultRecord& record);
};

// A running job's credit for one owner as a member of one team.
struct RunningShare {
  wire::LedgerEntry entry;  // with all corrections while the job ran
  PaidSums sums;
};
// In the order of each team's first record. Payments that a decision has settled are left out.
std::vector<RunningShare> RunningSharesOf(const LedgerResult& result, const ResultOwner& owner);

// Splits the total `brought` over the shares. A surplus over the granted sum goes to the team with the final
// grant, or else to the last team. A deficit is revoked from this team first, then from the teams with partial
// grants, the last one first, from none more than the team had (docs/rules.md, section 51). The amounts start
// from TeamShare::granted, so that amounts of later corrections do not change the split.
std::vector<credit::MicroTotal> Spread(const std::vector<TeamShare>& shares, credit::MicroTotal brought);

// The credit for the reinstatement of a result that was judged invalid.
struct InvalidWorth {
  credit::MicroCredit micro = 0;  // for the whole result, trickle payments included
  ResultId like_result;           // the result with this grant; 0: the result's own claim alone
};
// The same rule as for a late result: the amount that the results of the workunit were granted; if none was
// granted, the worth of the result's own claim. None: the records contain no amount, or none that can be
// granted.
std::optional<InvalidWorth> WorthOfInvalid(const wire::Grant& invalid, const ReplicaGrants& replicas);

// Trickle payments to all owners, less the amounts that settlements revoked: this part of the worth is
// already paid. Operators' corrections are not subtracted.
[[nodiscard]] credit::MicroTotal PaidByTrickles(const LedgerResult& result);

inline constexpr const char* kVersionUnknown =
    "the log does not have the policy version of the original price";

struct RepricedCredit {
  // All owners. Corrections after the decision are not included.
  std::map<ResultOwner, credit::MicroTotal> brought;
  std::string problem;  // the reason why the result cannot be repriced; empty: repriced
};
// The credit under `version`, which must exist in `view`.
RepricedCredit RepriceResult(const LedgerResult& result, const ReplicaGrants& replicas,
                             const stage::ProjectView& view, std::uint32_t version);

}  // namespace cobblestone::corrections
