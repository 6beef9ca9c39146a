// The ledger's record (schemas/internal.proto, Grant), by hand. It is written once with the claim's bytes
// verbatim, read by ACCOUNTS as far as the small fields go, and whole by who explains or audits it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/credit/accounts/account.h"
#include "common/credit/model/model.h"
#include "common/wire/ledger/estimate_codec.h"
#include "common/wire/ledger/grant_kind.h"
#include "common/wire/ledger/host_transfer.h"
#include "common/wire/ledger/partial_codec.h"
#include "common/wire/ledger/undone_codec.h"

namespace cobblestone::wire {

// Fields 1 to 11, 21, 22 and 28: all that an account needs.
struct GrantHead {
  ProjectId project;
  UserId user;
  HostId host;
  TeamId team;
  AppId app;
  ResultId result;
  credit::MicroCredit credit_micro = 0;
  double time = 0;  // of the grant, UNIX s
  GrantKind kind = GrantKind::kUnknown;
  double work_start = 0;  // UNIX s
  std::uint32_t flags = 0;
  // Fields 21, 22 and 28. The flag kGrantSettles tells of them.
  credit::MicroCredit settles_micro = 0;  // partial grants of the result to this user that become final
  double recent_off = 0;  // Cobblestones per day: what is still in recent averages of the credit taken back
  double paid_time = 0;   // UNIX s: of the newest of the partial grants that are taken back

  friend bool operator==(const GrantHead&, const GrantHead&) = default;
};

// What it adds to what is provisional. A partial grant for a trickle that came behind its result's decision is final at once.
[[nodiscard]] inline credit::MicroCredit ProvisionalOf(const GrantHead& head) {
  return head.kind == GrantKind::kPartial && (head.flags & credit::kGrantLate) == 0 ? head.credit_micro : 0;
}

// Fields 12 to 16: how the amount came about.
struct GrantDetail {
  double credit = 0;  // Cobblestones before rounding
  credit::Mode mode = credit::Mode::kNormal;
  std::uint64_t line = 0;
  double max_granted_credit = 0;
  ResultId canonical_result;

  friend bool operator==(const GrantDetail&, const GrantDetail&) = default;
};

// Another replica's claim, as far as the grant depended on it.
struct OtherClaim {
  ResultId result;
  HostId host;
  credit::Mode mode = credit::Mode::kNormal;
  std::uint32_t flags = 0;
  double pfc = 0;
  double claimed = 0;
  // Where it is not as in the grant's own claim.
  std::optional<double> min_avg_pfc{};
  std::optional<std::uint64_t> epoch{};
  std::optional<double> fpops_est{};
  std::optional<double> fpops_bound{};

  friend bool operator==(const OtherClaim&, const OtherClaim&) = default;
};

// The whole of it, of a grant whose own claim is `own`: what is the workunit's is the same in both.
[[nodiscard]] credit::Claim ClaimOf(const OtherClaim& other, credit::Claim own);

struct Grant {
  GrantHead head;
  GrantDetail detail;
  std::vector<OtherClaim> others;
  std::optional<credit::Claim> claim;
  std::optional<HostTransfer> transfer;
  std::optional<PartialGrant> partial;
  std::string reason;
  std::optional<Undone> undone;
  HostId into;  // a host that is merged
  std::optional<Estimate> estimate;
};

// What some kinds have besides.
struct GrantMore {
  const HostTransfer* transfer = nullptr;
  const PartialGrant* partial = nullptr;
  std::string_view reason = {};
  const Undone* undone = nullptr;
  HostId into = {};
  const Estimate* estimate = nullptr;
};

// Appends to `out`. `claim`: bytes of EncodeClaim, copied as they are; empty: the grant has none (an
// opening).
void EncodeGrant(const GrantHead& head, const GrantDetail& detail, std::span<const OtherClaim> others,
                 std::string_view claim, std::string* out, const GrantMore& more = {});

// Reads as far as field 11 and, without the flag kGrantSettles, no further: what lies behind is not even looked at. That
// needs ascending fields, which EncodeGrant and generated code write. False where the bytes are no Grant as far as read. No
// allocation.
[[nodiscard]] bool DecodeGrantHead(std::string_view bytes, GrantHead* head);

// Whole. False where the bytes are no Grant.
[[nodiscard]] bool DecodeGrant(std::string_view bytes, Grant* grant);

}  // namespace cobblestone::wire
