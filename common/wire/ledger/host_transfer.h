// A host's account, and the shares that follow it, on the way to the partition of the new owner
// (schemas/internal.proto, HostTransfer), hand-written codec.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/credit/accounts/account.h"
#include "common/wire/ledger/grant_kind.h"

namespace cobblestone::wire {

struct HostTransfer {
  std::uint32_t from_partition = 0;
  std::uint64_t number = 0;                  // from 1, per sending partition and host
  GrantKind share_of = GrantKind::kUnknown;  // in a share: the kind of its grant
  credit::Account account;                   // empty in a share
  std::vector<HostId> joined;                // with an account: all hosts that were merged into the host
};

// Appends the message's bytes to `out`.
void EncodeHostTransfer(const HostTransfer& transfer, std::string* out);
// False if the bytes are not such a message.
[[nodiscard]] bool DecodeHostTransfer(std::string_view bytes, HostTransfer* transfer);

}  // namespace cobblestone::wire
