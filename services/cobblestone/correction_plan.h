// What an operator's reversal or re-pricing would do, from the ledger alone (semantics.md, sections 2 and 7): what each result has
// brought each owner, and the events that take it back or price it anew. Writes nothing.
//
// Records are given to it in the order of their partitions: `control`, then `grants` (TakeHost, Select, TakeGrant), then
// `postings`.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/base/status.h"
#include "common/credit/reprice.h"
#include "common/wire/events.h"
#include "common/wire/grant_codec.h"
#include "common/wire/project_view.h"

namespace cobblestone {

struct CorrectionRequest {
  ProjectId project{1};
  wire::TargetKind target = wire::TargetKind::kNone;
  std::int64_t id = 0;  // an app version may be below 0
  // Results whose last credit was granted from `since` on and before `until`, UNIX s.
  double since = 0;
  double until = std::numeric_limits<double>::infinity();
  std::uint32_t policy_version = 0;  // 0: a reversal
  std::string reason;
  double time = 0;  // of the events, UNIX s; 0: of the newest award in the ledger
};

// One event to be: of a result for one owner and team.
struct PlannedCorrection {
  wire::Event event;
  ResultId result;
  wire::LedgerEntry entry;
  credit::MicroCredit after = 0;
  double recent_off = 0;  // Cobblestones per day
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
  explicit CorrectionReader(CorrectionRequest request) : request_(std::move(request)) {}

  // False, all of them: the record does not decode.
  bool TakeControl(std::string_view record);
  // Of all that is asked of a host, before the others: which hosts have become it.
  bool TakeHost(std::string_view grant);
  // A first look: which results are meant, and which other replicas their price depends on.
  bool Select(std::string_view grant);
  bool TakeGrant(std::string_view grant);
  bool TakePosting(std::string_view posting);
  // Credit that no user got, because none was named: there is nothing to take from.
  bool TakeRefused(std::string_view refused);

  // kInvalidArgument: there never was such a version of the policy. kNotFound: the ledger has nothing of what is asked for.
  Result<CorrectionPlan> Plan();

  // Of the corrections that are in the ledger already: which rest on what the result never had brought, leave what they do not
  // say, or came while their job ran. What came between an operator's look and the correction is left out of it.
  [[nodiscard]] std::vector<std::string> WrongCorrections() const;

 private:
  struct Record {
    wire::GrantKind kind = wire::GrantKind::kUnknown;
    TeamId team;
    credit::MicroCredit micro = 0;
    credit::MicroCredit provisional = 0;  // more, or less of it
    double time = 0;
    double recent_off = 0;
    std::uint32_t flags = 0;
    std::uint64_t event = 0;         // of a correction
    credit::MicroCredit before = 0;  // that it was decided upon
    bool posted = false;             // its posting was seen
  };
  struct OwnerKey {
    std::uint64_t result = 0;
    std::uint64_t host = 0;
    std::uint64_t user = 0;
    friend auto operator<=>(const OwnerKey&, const OwnerKey&) = default;
  };
  struct Facts {
    AppId app;
    WorkunitId workunit;
    std::optional<AppVersionId> version;  // none: no record tells it
    double last_credit = 0;
    credit::MicroTotal partials = 0;
    credit::MicroTotal settled = 0;
    bool unnamed = false;                   // a part of it has expired
    std::set<std::uint32_t> trickle_rules;  // versions of the policy that priced its trickles
    std::optional<wire::Grant> final;
  };

  [[nodiscard]] bool Meant(const wire::GrantHead& head, const wire::Grant& whole) const;
  [[nodiscard]] bool MayBeOf(AppId app) const;
  [[nodiscard]] std::optional<HostId> HeirOf(HostId host, std::set<HostId>& asked) const;
  [[nodiscard]] bool Joined(HostId host) const;
  void PlanResult(std::uint64_t result, const Facts& facts, CorrectionPlan& plan);
  std::optional<credit::MicroCredit> Worth(const Facts& facts, std::string* problem) const;
  [[nodiscard]] std::optional<credit::RecordedClaim> RecordedOf(const credit::Claim& claim, bool whole) const;
  void Spread(std::uint64_t result, std::vector<wire::LedgerEntry> entries, credit::MicroTotal change,
              CorrectionPlan& plan);
  void Add(std::uint64_t result, wire::LedgerEntry entry, credit::MicroCredit after, CorrectionPlan& plan);

  struct Merge {
    HostId into;
    UserId user;
  };

  const CorrectionRequest request_;
  wire::ProjectView view_;
  std::map<HostId, Merge> merges_;
  std::set<std::pair<HostId, UserId>> owned_;  // whose hosts the ledger shows
  std::set<std::uint64_t> results_;
  std::map<std::uint64_t, Facts> facts_;             // by result
  std::map<OwnerKey, std::vector<Record>> records_;  // in order
  std::set<std::uint64_t> asked_workunits_;          // whose claims a price depends on
  std::map<std::uint64_t, wire::Grant> finals_;      // of results of those workunits
  double newest_ = 0;
};

// ["corrections"]: who loses what, and "event", the envelope's bytes in hexadecimal; ["problems"], and counts.
nlohmann::json CorrectionPlanJson(const CorrectionPlan& plan);

}  // namespace cobblestone
