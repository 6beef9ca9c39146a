// What the ledger has of one result, and what the result is to have brought each of its owners by another version of the policy
// (docs/rules.md, sections 47 to 51): its grant and its trickles anew. From the records alone.
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

namespace cobblestone {

struct ResultOwner {
  HostId host;
  UserId user;
  friend auto operator<=>(const ResultOwner&, const ResultOwner&) = default;
};

// What one record has brought an owner.
struct ResultRecord {
  wire::GrantKind kind = wire::GrantKind::kUnknown;
  TeamId team;
  credit::MicroCredit micro = 0;
  credit::MicroCredit provisional = 0;  // more, or less of it
  double time = 0;
  double recent_off = 0;
  std::uint32_t flags = 0;
  std::uint64_t event = 0;  // of a correction
  // Of a reversal that was made while the job ran: up to which sum of what it was paid. Of a re-pricing: what that sum is now, and how
  // much of it operators had taken.
  credit::MicroCredit paid = 0;
  credit::MicroCredit taken = 0;
  // Of a re-pricing that was made while the job ran: the how manieth. Of a partial grant: how many there had been.
  std::uint32_t repriced = 0;
  credit::MicroCredit before = 0;    // that it was decided upon
  std::uint32_t policy_version = 0;  // of a re-pricing
  ResultId like_result;              // of a reinstatement: wire::Undone
  std::size_t variety = 0;           // of a partial grant, in LedgerResult::prices; behind them: not told
  double mark_before = 0;            // of the variety
  double mark = 0;
  credit::MicroCredit paid_before = 0;  // of the job, to whomever
  bool posted = false;                  // its posting was seen
  // A correction that was made while the job ran and of a user whom nobody had named: it went where what it takes back did.
  bool waited = false;

  [[nodiscard]] bool partial() const { return kind == wire::GrantKind::kPartial; }
  [[nodiscard]] bool late() const { return (flags & credit::kGrantLate) != 0; }
  [[nodiscard]] bool reinstates() const { return (flags & credit::kGrantReinstates) != 0; }
  // It reinstates what the validator had judged invalid: the first credit of the result, which no reversal had taken.
  [[nodiscard]] bool of_invalid() const { return (flags & credit::kGrantJudgedInvalid) != 0; }
  [[nodiscard]] bool while_running() const { return event != 0 && (paid != 0 || repriced != 0); }
  // Its job is decided: all partial grants before it are final.
  [[nodiscard]] bool settles() const { return event == 0 && (flags & credit::kGrantSettles) != 0; }
};

// One that came behind the decision and was worth no more than the job's own grant. By a version that pays less for the job it may be.
struct CoveredTrickle {
  ResultOwner owner;
  std::size_t variety = 0;  // in LedgerResult::prices
  double mark = 0;
  std::size_t at = 0;  // so many records of its owner came before it
};

struct LedgerResult {
  AppId app;
  WorkunitId workunit;
  std::optional<AppVersionId> version;  // none: no record tells it
  double last_credit = 0;
  bool unnamed = false;  // a part of it has expired
  bool resent = false;   // its trickles were priced at more than one dispatch
  std::vector<std::pair<std::string, credit::TricklePrice>> prices;  // by variety, as frozen at the dispatch
  // The highest marks of messages that brought nothing, by variety, how often the job had been priced anew, and whether they came
  // behind the decision.
  std::map<std::tuple<std::string, std::uint32_t, bool>, double> unpaid;
  std::vector<CoveredTrickle> covered;  // in order
  std::optional<wire::Grant> final;
  std::map<ResultOwner, std::vector<ResultRecord>> owners;  // in order
  std::map<ResultOwner, wire::Grant> invalid;  // as the validator judged it, with what it would have claimed

  // In `prices`, which gets this one where there is none of the variety.
  std::size_t PlaceOf(const std::string& variety, const credit::TricklePrice& price);
  // Its job was paid, and no decision has settled that.
  [[nodiscard]] bool Runs() const;
  // How often its job was priced anew while it ran, and the version that it has of that, or of its dispatch; it must have paid.
  [[nodiscard]] std::uint32_t Repriced() const;
  [[nodiscard]] std::uint32_t VersionInForce() const;
};

// What a job that runs was paid and still has.
[[nodiscard]] credit::MicroTotal Provisional(const std::vector<ResultRecord>& records);

// Final grants of a workunit's results, by result.
using ReplicaGrants = std::map<std::uint64_t, wire::Grant>;

// What it has brought the members of one team.
struct TeamShare {
  wire::LedgerEntry entry;  // with all corrections
  // By the pipeline, with all that was corrected while the job ran, and what an invalid result got when it was reinstated.
  credit::MicroTotal granted = 0;
  credit::MicroTotal taken = 0;  // by reversals later that were not reinstated; below 0
  bool uncounted = false;        // one of those took its grant
  credit::RecentAverage lost;    // by recent averages, to those reversals
};
// In the order of the first record to each.
std::vector<TeamShare> SharesOf(const LedgerResult& result, const ResultOwner& owner);

// What a job has paid the members of one team while it ran, and what operators have taken back of that, as CLAIMS counts both. What
// has waited for its user was taken from no team there: it is no part of either.
struct PaidSums {
  credit::MicroTotal paid = 0;
  credit::MicroTotal taken = 0;   // up to which sum
  credit::MicroTotal waited = 0;  // likewise, of what has waited

  // Up to which sum a correction takes all of `paid`, and how much more that is.
  [[nodiscard]] credit::MicroTotal SumOf(const ResultRecord& correction) const {
    return correction.paid - (correction.waited ? waited : 0);
  }
  [[nodiscard]] credit::MicroTotal MoreBy(const ResultRecord& correction) const {
    return SumOf(correction) - (correction.waited ? 0 : taken);
  }
  // A partial grant, or a correction.
  void Add(const ResultRecord& record);
};

// What a job that runs has brought the members of one team.
struct RunningShare {
  wire::LedgerEntry entry;  // with all that was taken back of it
  PaidSums sums;
};
// In the order of the first record to each; without those of a life of the result that is over.
std::vector<RunningShare> RunningSharesOf(const LedgerResult& result, const ResultOwner& owner);

// `brought` in all, share by share: what it is more than the pipeline granted is of the team that had the grant, what it is less goes
// from that one first, then from those that had its partial grants, the last ones first, from none more than it had. Of the records
// of the pipeline alone and what was corrected while the job ran, so that it is the same whatever was corrected later.
std::vector<credit::MicroTotal> Spread(const std::vector<TeamShare>& shares, credit::MicroTotal brought);

// What reinstating a result that was judged invalid gives.
struct InvalidWorth {
  credit::MicroCredit micro = 0;  // of the result in all
  ResultId like_result;           // whose grant that is; 0: the result's own claim, alone
};
// As a result that comes late gets: what its workunit's results were granted; where none was, what its own claim comes to. None:
// nothing tells, so the operator has to.
std::optional<InvalidWorth> WorthOfInvalid(const wire::Grant& invalid, const ReplicaGrants& replicas);

// What trickles have paid all its owners and nothing has taken back: that much of the worth is paid already.
[[nodiscard]] credit::MicroTotal PaidByTrickles(const LedgerResult& result);

inline constexpr const char* kVersionUnknown =
    "the log has not the version of the policy that it was priced by";

struct BroughtAnew {
  // All owners, without what operators took back when it was decided.
  std::map<ResultOwner, credit::MicroTotal> brought;
  std::string problem;  // why it cannot be told; empty: it can
};
// By `version`, which the app's policy has had.
BroughtAnew BringAnew(const LedgerResult& result, const ReplicaGrants& replicas,
                      const wire::ProjectView& view, std::uint32_t version);

}  // namespace cobblestone
