// The few fields of a claim or a grant that metrics count, read for each record on the stages' time: varints are passed
// over eight bytes at once, which takes a third of what reading them field by field does. The same values as DecodeClaim()
// and DecodeGrantHead() give, which read what these cannot.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/ids.h"
#include "common/credit/accounts/account.h"
#include "common/wire/ledger/grant_kind.h"

namespace cobblestone::wire {

struct ClaimHead {
  ProjectId project;
  AppId app;
  std::uint32_t flags = 0;  // credit::ClaimFlag bits

  friend bool operator==(const ClaimHead&, const ClaimHead&) = default;
};
// False where the bytes are no Claim as far as read (flags and no further), or a mark (mark_codec.h).
[[nodiscard]] bool PeekClaim(std::string_view bytes, ClaimHead* head);

struct AwardHead {
  ProjectId project;
  AppId app;
  credit::MicroCredit credit_micro = 0;
  GrantKind kind = GrantKind::kUnknown;

  friend bool operator==(const AwardHead&, const AwardHead&) = default;
};
// False where the bytes are no Grant as far as read (kind and no further).
[[nodiscard]] bool PeekAward(std::string_view bytes, AwardHead* head);

}  // namespace cobblestone::wire
