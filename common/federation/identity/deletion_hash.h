// What remains of a deleted user: hashes that recognise late facts about the user, and from which no number of a user and
// no CPID can be read without trying candidates.
#pragma once

#include <cstdint>

#include "common/federation/identity/facts.h"
#include "common/federation/identity/rows.h"

namespace cobblestone::federation {

// The key of the DeletionRow of a user: 128 bits of a SHA-256.
RowKey DeletionKeyOf(std::uint32_t project, std::uint64_t user);
// 64 bits of a SHA-256.
std::uint64_t HashOf(const AccountKey& account);
std::uint64_t HashOf(const AccountKey& account, const Cpid& cpid);

}  // namespace cobblestone::federation
