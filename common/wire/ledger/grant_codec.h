// The ledger's record (schemas/internal.proto, Grant), hand-written codec. A record is written once with the
// claim's bytes verbatim. ACCOUNTS reads the small fields only; explain and audit read the whole record.
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

// Fields 1 to 11, 21, 22 and 28: everything that an account needs.
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
  // Fields 21, 22 and 28; present if the flag kGrantSettles is set.
  credit::MicroCredit settles_micro = 0;  // partial grants of the result to this user that become final
  // Cobblestones per day: the part of the reversed credit that is still in recent averages.
  double recent_off = 0;
  // UNIX s: time of the newest reversed partial grant; of an operator's correction, of the newest credit that it changes
  // (0: unknown)
  double paid_time = 0;

  friend bool operator==(const GrantHead&, const GrantHead&) = default;
};

// The amount that a grant adds to provisional credit. A partial grant for a trickle after its result's
// decision is final at once.
[[nodiscard]] inline credit::MicroCredit ProvisionalOf(const GrantHead& head) {
  return head.kind == GrantKind::kPartial && (head.flags & credit::kGrantLate) == 0 ? head.credit_micro : 0;
}

// Fields 12 to 16: the derivation of the amount.
struct GrantDetail {
  double credit = 0;  // Cobblestones before rounding
  credit::Mode mode = credit::Mode::kNormal;
  std::uint64_t line = 0;
  double max_granted_credit = 0;
  ResultId canonical_result;

  friend bool operator==(const GrantDetail&, const GrantDetail&) = default;
};

// Another replica's claim, as far as the grant depends on it.
struct OtherClaim {
  ResultId result;
  HostId host;
  credit::Mode mode = credit::Mode::kNormal;
  std::uint32_t flags = 0;
  double pfc = 0;
  double claimed = 0;
  // Set if different from the grant's own claim.
  std::optional<double> min_avg_pfc{};
  std::optional<std::uint64_t> epoch{};
  std::optional<double> fpops_est{};
  std::optional<double> fpops_bound{};
  std::optional<double> reliability{};

  friend bool operator==(const OtherClaim&, const OtherClaim&) = default;
};

// The complete claim; `granted` is the claim of the grant and supplies the fields that belong to the workunit.
[[nodiscard]] credit::Claim ClaimOf(const OtherClaim& other, credit::Claim granted);

struct Grant {
  GrantHead head;
  GrantDetail detail;
  std::vector<OtherClaim> others;
  std::optional<credit::Claim> claim;
  std::optional<HostTransfer> transfer;
  std::optional<PartialGrant> partial;
  std::string reason;
  std::optional<Undone> undone;
  HostId into;  // the host that the record's host was merged into
  std::optional<Estimate> estimate;
};

// Parts that only some kinds have.
struct GrantMore {
  const HostTransfer* transfer = nullptr;
  const PartialGrant* partial = nullptr;
  std::string_view reason = {};
  const Undone* undone = nullptr;
  HostId into = {};
  const Estimate* estimate = nullptr;
};

// Appends to `out`. `claim`: bytes of EncodeClaim, copied unchanged; empty: the grant has no claim (an
// opening).
void EncodeGrant(const GrantHead& head, const GrantDetail& detail, std::span<const OtherClaim> others,
                 std::string_view claim, std::string* out, const GrantMore& more = {});

// Reads up to field 11 and, without the flag kGrantSettles, nothing after it. Requires ascending fields,
// which EncodeGrant and generated code write. False if the bytes read are not a Grant. Does not allocate.
[[nodiscard]] bool DecodeGrantHead(std::string_view bytes, GrantHead* head);

// Reads the whole record. False if the bytes are not a Grant.
[[nodiscard]] bool DecodeGrant(std::string_view bytes, Grant* grant);

}  // namespace cobblestone::wire
