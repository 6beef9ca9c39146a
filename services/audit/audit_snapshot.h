// What the audit takes from the state of one partition: the positions, the accounts for the comparison
// (AccountBalance), and the rows that say how later records count.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "common/base/status.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/accounts/waiting_grants.h"
#include "services/audit/account_balance.h"
#include "services/audit/audited_pipeline.h"

namespace cobblestone::audit {

using AuditedHost = std::pair<std::uint32_t, std::uint64_t>;  // project, host
using AuditedUser = std::pair<std::uint32_t, std::uint64_t>;  // project, user

// Records that one ACCOUNTS partition has sent to others for a host that moved, and their credit.
struct SentRecords {
  std::uint64_t records = 0;
  AuditedSum sum;
};
using SentByHost = std::map<AuditedHost, SentRecords>;

struct AuditSnapshot {
  std::uint32_t rules_version = 0;  // of the state; 0: it has no commit yet
  std::uint64_t grants_end = 0;
  std::uint64_t postings_end = 0;
  SentByHost sent;
  std::map<AuditedUser, accounts::UnnamedUser> unnamed;  // users with grants that expired unnamed
  std::uint64_t waiting_grants = 0;                      // for an event that names the user
  std::uint64_t waiting_results = 0;                     // with a completion or a validation, but not both
};

// The amount that a ledger record adds to a user's provisional credit.
[[nodiscard]] credit::MicroTotal ProvisionalChange(const wire::GrantHead& head);

// kCorrupted: a row does not decode. `folded`: a user's expired credit counts as the user's, because the caller does
// not read the grants again and cannot tell which of them expired.
Result<AuditSnapshot> TakeSnapshot(std::uint32_t partition, const AuditedState& state, bool folded,
                                   AccountBalance& balance);

}  // namespace cobblestone::audit
