// What an operator's reversal, re-pricing or reinstatement would do, from the ledger alone (docs/rules.md, sections 47 to 51): what
// each result has brought each owner, and the events that take it back, price it anew or give it back. Writes nothing.
//
// Records are given to it in the order of their partitions: `control`, then `grants` (TakeHost), `refused` (TakeMerge), `grants`
// (Select, TakeGrant), then `postings` and `refused`.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/wire/events/events.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/corrections/correction_worth.h"
#include "services/stage/project_view.h"

namespace cobblestone {

struct CorrectionRequest {
  ProjectId project{1};
  wire::TargetKind target = wire::TargetKind::kNone;
  std::int64_t id = 0;  // an app version may be below 0
  // Results whose last credit was granted from `since` on and before `until`, UNIX s.
  double since = 0;
  double until = std::numeric_limits<double>::infinity();
  std::uint32_t policy_version = 0;  // 0: a reversal, or a reinstatement
  // Give back what reversals have taken; of a result that is named, give as well what it would have got had it not been judged
  // invalid. Then policy_version is 0.
  bool reinstates = false;
  bool judged_invalid = false;  // a reinstatement of results that were judged invalid, and of no others
  // Reinstatement: Cobblestones for each result that was judged invalid and whose worth nothing tells (policy `assigned`).
  std::optional<double> credit;
  std::string reason;
  double time = 0;  // of the events, UNIX s; 0: of the newest award in the ledger
};

// Of a result for one owner and team. Those of a job that is priced anew while it runs are one event.
struct PlannedCorrection {
  wire::Event event;
  ResultId result;
  wire::LedgerEntry entry;
  credit::MicroCredit after = 0;
  double recent_off = 0;  // Cobblestones per day
  std::optional<wire::JudgedInvalid> judged_invalid{};

  // It is of a job that still runs.
  [[nodiscard]] bool running() const {
    return std::holds_alternative<wire::JobReversal>(event.body) ||
           std::holds_alternative<wire::JobRepricing>(event.body);
  }
};

struct CorrectionPlan {
  std::vector<PlannedCorrection> corrections;              // ascending by result
  std::vector<std::pair<ResultId, std::string>> problems;  // results that are left as they are, and why
  std::uint64_t results = 0;                               // that the request names
  std::uint64_t unchanged = 0;                             // entries of them with nothing to be changed
  std::vector<HostId> joined;                              // hosts that have become the one that is asked for
};

class CorrectionReader {
 public:
  // `view`: of the project, where it is known; else TakeControl makes it.
  explicit CorrectionReader(CorrectionRequest request, const wire::ProjectView* view = nullptr)
      : request_(std::move(request)), known_view_(view) {}

  // False, all of them: the record does not decode.
  bool TakeControl(std::string_view record);
  // Of all that is asked of a host, before the others: which hosts have become it.
  bool TakeHost(std::string_view grant);
  // Behind that: a merge that has not come about, and never will.
  bool TakeMerge(std::string_view refused);
  // A first look: which results are meant, and which other replicas their price depends on.
  bool Select(std::string_view grant);
  bool TakeGrant(std::string_view grant);  // or a trickle that brought nothing
  // Of another result of a workunit whose price is asked for, where TakeGrant does not get the whole ledger.
  bool TakeReplica(std::string_view grant);
  bool TakePosting(std::string_view posting);
  // Credit that no user got, because none was named: there is nothing to take from.
  bool TakeRefused(std::string_view refused);

  // kInvalidArgument: there never was such a version of the policy. kNotFound: the ledger has nothing of what is asked for.
  Result<CorrectionPlan> Plan();

  // Of the corrections that are in the ledger already: which rest on what the result never had brought, leave what they do not
  // say, came by hand while their job ran, or price it anew otherwise than the version that they name. What came between an operator's
  // look and the correction is left out of it.
  [[nodiscard]] std::vector<std::string> WrongCorrections();

 private:
  [[nodiscard]] bool Meant(const wire::GrantHead& head, const wire::Grant& whole) const;
  [[nodiscard]] bool MayBeOf(AppId app) const;
  [[nodiscard]] std::optional<HostId> HeirOf(HostId host, std::set<HostId>& asked) const;
  [[nodiscard]] bool Joined(HostId host) const;
  bool TakeUnpaid(std::string_view trickle);
  static void TakePartial(const wire::PartialGrant& partial, LedgerResult& result, ResultRecord& record);
  void PlanResult(ResultId id, const LedgerResult& result, CorrectionPlan& plan);
  void PlanReversal(ResultId id, const LedgerResult& result, const ResultOwner& owner, CorrectionPlan& plan);
  void PlanReinstatement(ResultId id, const LedgerResult& result, const ResultOwner& owner,
                         CorrectionPlan& plan);
  void PlanInvalid(ResultId id, const LedgerResult& result, CorrectionPlan& plan);
  // Why a result that was judged invalid is not reinstated, whatever it is worth; empty: it may be.
  [[nodiscard]] static std::string CannotReinstate(const LedgerResult& result);
  // What the operator has named; none: `problem` says why it does not do.
  std::optional<credit::MicroCredit> NamedWorth(const wire::Grant& invalid, std::string* problem);
  [[nodiscard]] bool ReinstatesInvalid() const {
    return request_.judged_invalid || (request_.reinstates && request_.target == wire::TargetKind::kResult);
  }
  bool TakeInvalid(std::string_view bytes);
  [[nodiscard]] std::string WrongFirstCredit(const LedgerResult& result, const ResultOwner& owner,
                                             const ResultRecord& record) const;
  void PlanRunning(ResultId id, const LedgerResult& result, CorrectionPlan& plan);
  [[nodiscard]] double TimeOfEvents() const { return request_.time > 0 ? request_.time : newest_; }
  void Add(ResultId result, const wire::LedgerEntry& entry, credit::MicroCredit after, CorrectionPlan& plan,
           std::optional<wire::JudgedInvalid> judged_invalid = std::nullopt);
  void AddReversal(ResultId id, const LedgerResult& result, const RunningShare& share, CorrectionPlan& plan);
  void Push(wire::Event event, ResultId result, const wire::LedgerEntry& entry, credit::MicroCredit after,
            CorrectionPlan& plan) const;
  // Of re-pricings of jobs that ran: which have changed nothing, so that no posting tells that they have waited.
  void FindWaited();
  [[nodiscard]] std::string WrongPrice(const LedgerResult& result, const ResultOwner& owner,
                                       std::size_t at) const;
  [[nodiscard]] std::string WrongRunningPrice(const LedgerResult& result, const ResultOwner& owner,
                                              std::size_t at) const;
  [[nodiscard]] const wire::ProjectView& view() const {
    return known_view_ != nullptr ? *known_view_ : view_;
  }

  struct Merge {
    HostId into;
    UserId user;
  };

  const CorrectionRequest request_;
  const wire::ProjectView* const known_view_;
  wire::ProjectView view_;
  std::map<HostId, Merge> merges_;
  std::set<std::pair<HostId, UserId>> owned_;  // whose hosts the ledger shows
  std::set<std::uint64_t> asked_;              // results
  std::map<std::uint64_t, LedgerResult> results_;
  std::set<std::uint64_t> asked_workunits_;  // whose claims a price depends on
  ReplicaGrants replicas_;                   // of those workunits
  double newest_ = 0;
  bool named_ = false;    // the amount that the operator has named was needed
  bool unnamed_ = false;  // and where the operator has named none
};

// ["corrections"]: who loses what, and "event", the envelope's bytes in hexadecimal; ["problems"], and counts.
nlohmann::json CorrectionPlanJson(const CorrectionPlan& plan);

}  // namespace cobblestone
