// The plan of an operator's reversal, repricing or reinstatement, from the ledger alone (docs/rules.md,
// sections 47 to 51): the credit of each result for each owner, and the events that revoke, reprice or
// reinstate this credit. Writes nothing.
//
// The caller passes the records of each topic in the order of their partitions: `control`; for a host `grants`
// (TakeHost) and `refused` (TakeMerge); `grants` (Select), `grants` (TakeGrant), `postings`, `refused`.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json_fwd.hpp>
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

namespace cobblestone::corrections {

// What a correction is of.
enum class TargetKind : std::uint8_t { kNone = 0, kResult, kHost, kWorkunit, kAppVersion };

struct CorrectionRequest {
  ProjectId project{1};
  TargetKind target = TargetKind::kNone;
  std::int64_t id = 0;  // negative for some app versions
  // Selects results by the time of the last grant, partial grant or judgement as invalid: from `since` on and
  // before `until`, UNIX s.
  double since = 0;
  double until = std::numeric_limits<double>::infinity();
  std::uint32_t policy_version = 0;  // 0: a reversal, or a reinstatement
  // Reinstate the credit that reversals revoked. If the target is one result that was judged invalid, also
  // grant the credit that this result would have received as valid. Requires policy_version 0.
  bool reinstates = false;
  bool judged_invalid = false;  // reinstate only results that were judged invalid
  // Reinstatement: Cobblestones for each result that was judged invalid, if no record states the worth of the
  // result (policy `assigned`).
  std::optional<double> credit;
  std::string reason;
  double time = 0;  // of the events, UNIX s; 0: of the newest award or INVALID record
};

// The correction of one result for one owner and team. All corrections of a repriced running job share one
// event.
struct PlannedCorrection {
  wire::Event event;
  ResultId result;
  wire::LedgerEntry entry;
  credit::MicroCredit after = 0;
  double recent_off = 0;  // loss of the recent averages, Cobblestones per day
  std::optional<wire::JudgedInvalid> judged_invalid{};

  // The job still runs.
  [[nodiscard]] bool running() const {
    return std::holds_alternative<wire::JobReversal>(event.body) ||
           std::holds_alternative<wire::JobRepricing>(event.body);
  }
};

struct CorrectionPlan {
  std::vector<PlannedCorrection> corrections;              // ascending by result
  std::vector<std::pair<ResultId, std::string>> problems;  // results that stay unchanged, and the reason
  std::uint64_t results = 0;                               // selected by the request
  std::uint64_t unchanged = 0;                             // entries of these results without a change
  std::vector<HostId> joined;                              // hosts that were merged into the requested host
};

class CorrectionReader {
 public:
  // `view`: of the project; must outlive the reader. Null: TakeControl builds the view.
  explicit CorrectionReader(CorrectionRequest request, const stage::ProjectView* view = nullptr)
      : request_(std::move(request)), known_view_(view) {}

  // All Take functions and Select return false if the record does not decode.
  bool TakeControl(std::string_view record);
  // Only if the target is a host, before Select: finds the hosts that were merged into the target.
  bool TakeHost(std::string_view grant);
  // After TakeHost: drops the merges that were refused.
  bool TakeMerge(std::string_view refused);
  // First pass: selects the results of the request, and the workunits with further claims that a price needs.
  bool Select(std::string_view grant);
  bool TakeGrant(std::string_view grant);  // award, INVALID record, or trickle that paid nothing
  // The final grant of another result of the workunit, for prices that need it. Only if the caller does not
  // pass the whole ledger to TakeGrant.
  bool TakeReplica(std::string_view grant);
  bool TakePosting(std::string_view posting);
  // Credit that expired because no event named the user: there is no account to revoke the credit from.
  bool TakeRefused(std::string_view refused);

  // kInvalidArgument: the policy never had this version, or CorrectionRequest::credit is unused, or missing
  // or too high for the one result that was requested. kNotFound: the ledger has no credit for the request.
  Result<CorrectionPlan> Plan();

  // Problems of the corrections in the ledger; one message per problem. A correction is wrong if its credit
  // before the correction was at no time since the previous correction the credit of the result, if the change
  // is not the stated one, if it was written by hand as the correction of a decided job and its job still ran,
  // or if a repricing differs from the named policy version. Records that arrived between the operator's plan
  // and the correction may be missing from the correction.
  [[nodiscard]] std::vector<std::string> WrongCorrections();

 private:
  [[nodiscard]] bool IsRequested(const wire::GrantHead& head, const wire::Grant& whole) const;
  [[nodiscard]] std::optional<HostId> MergeTargetOf(HostId host, std::set<HostId>& asked) const;
  [[nodiscard]] bool Joined(HostId host) const;
  bool TakeUnpaid(std::string_view trickle);
  static bool TakePartial(const wire::PartialGrant& partial, LedgerResult& result, ResultRecord& record);
  void PlanResult(ResultId id, const LedgerResult& result, CorrectionPlan& plan);
  void PlanReversal(ResultId id, const LedgerResult& result, const ResultOwner& owner, CorrectionPlan& plan);
  void PlanReinstatement(ResultId id, const LedgerResult& result, const ResultOwner& owner,
                         CorrectionPlan& plan);
  void PlanInvalid(ResultId id, const LedgerResult& result, CorrectionPlan& plan);
  // The reason why a result that was judged invalid cannot be reinstated at any amount; empty: it can.
  [[nodiscard]] static std::string CannotReinstate(const LedgerResult& result);
  // The amount that the operator named. None: `problem` is the reason why no amount can be granted.
  std::optional<credit::MicroCredit> NamedWorth(const wire::Grant& invalid, std::string* problem);
  [[nodiscard]] bool ReinstatesInvalid() const {
    return request_.judged_invalid || (request_.reinstates && request_.target == TargetKind::kResult);
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
  // Sets ResultRecord::waited of repricings that changed nothing while the job ran: such a repricing has no
  // posting that shows the wait.
  void FindWaited();
  [[nodiscard]] std::string WrongPrice(const LedgerResult& result, const ResultOwner& owner,
                                       std::size_t at) const;
  [[nodiscard]] std::string WrongRunningPrice(const LedgerResult& result, const ResultOwner& owner,
                                              std::size_t at) const;
  [[nodiscard]] const stage::ProjectView& view() const {
    return known_view_ != nullptr ? *known_view_ : view_;
  }

  struct Merge {
    HostId into;
    UserId user;
  };

  const CorrectionRequest request_;
  const stage::ProjectView* const known_view_;
  stage::ProjectView view_;
  std::map<HostId, Merge> merges_;
  std::set<std::pair<HostId, UserId>> owned_;  // owners of hosts, as the ledger shows them
  std::set<std::uint64_t> asked_;              // results
  std::map<std::uint64_t, LedgerResult> results_;
  std::set<std::uint64_t> asked_workunits_;  // workunits with claims that a price depends on
  ReplicaGrants replicas_;                   // of `asked_workunits_`
  double newest_ = 0;
  bool named_ = false;    // a result needed CorrectionRequest::credit
  bool unnamed_ = false;  // a result needed this amount, and the operator named none
};

// ["corrections"]: the credit of each entry before and after, and "event", the envelope's bytes in hexadecimal;
// ["hosts_joined"], ["problems"], and the counts ["results"] and ["unchanged"].
nlohmann::json CorrectionPlanJson(const CorrectionPlan& plan);

}  // namespace cobblestone::corrections
