// What the ledger has of one result, and what the result is to have brought each of its owners by another version of the policy
// (semantics.md, sections 2 and 7): its grant and its trickles anew. From the records alone.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/credit/reprice.h"
#include "common/wire/events.h"
#include "common/wire/grant_codec.h"
#include "common/wire/project_view.h"

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
  std::uint64_t event = 0;           // of a correction
  credit::MicroCredit before = 0;    // that it was decided upon
  std::uint32_t policy_version = 0;  // of a re-pricing
  std::size_t variety = 0;  // of a partial grant, in LedgerResult::prices; behind them: its price is not told
  double mark = 0;
  bool posted = false;  // its posting was seen

  [[nodiscard]] bool partial() const { return kind == wire::GrantKind::kPartial; }
  [[nodiscard]] bool late() const { return (flags & credit::kGrantLate) != 0; }
};

struct LedgerResult {
  AppId app;
  WorkunitId workunit;
  std::optional<AppVersionId> version;  // none: no record tells it
  double last_credit = 0;
  bool unnamed = false;  // a part of it has expired
  bool resent = false;   // its trickles were priced at more than one dispatch
  std::vector<std::pair<std::string, credit::TricklePrice>> prices;  // of its trickles, by variety
  std::optional<wire::Grant> final;
  std::map<ResultOwner, std::vector<ResultRecord>> owners;  // in order

  // Of a job that still runs: what it was paid, and its decision will settle.
  [[nodiscard]] credit::MicroTotal Provisional() const;
};

// Final grants of a workunit's results, by result.
using ReplicaGrants = std::map<std::uint64_t, wire::Grant>;

// What it has brought the members of one team.
struct TeamShare {
  wire::LedgerEntry entry;         // with all corrections
  credit::MicroTotal granted = 0;  // by the pipeline
  credit::MicroTotal taken = 0;    // by operators
};
// In the order of the first record to each.
std::vector<TeamShare> SharesOf(const LedgerResult& result, const ResultOwner& owner);

// `brought` in all, share by share: what it is more than the pipeline granted is of the team that had the grant, what it is less goes
// from that one first, then from those that had its partial grants, the last ones first, from none more than it had. Of the records
// of the pipeline alone, so that it is the same whatever was corrected before.
std::vector<credit::MicroTotal> Spread(const std::vector<TeamShare>& shares, credit::MicroTotal brought);

struct BroughtAnew {
  std::map<ResultOwner, credit::MicroTotal> brought;  // all owners
  std::string problem;                                // why it cannot be told; empty: it can
};
// By `version`, which the app's policy has had.
BroughtAnew BringAnew(const LedgerResult& result, const ReplicaGrants& replicas,
                      const wire::ProjectView& view, std::uint32_t version);

}  // namespace cobblestone
