// Rows of IDENTITY, for readers of the store: those of common/federation/identity/rows.h, by the same keys.
#pragma once

#include "common/federation/identity/rows.h"
#include "common/stream/table.h"

namespace cobblestone::identity {

// Tables of a slot, as stored (numbers are unique over all stages).
inline constexpr stream::TableSpec<federation::UserRow> kUsersTable{.id = 100, .version = 1};
inline constexpr stream::TableSpec<federation::CpidRow> kCpidsTable{.id = 101, .version = 1};
inline constexpr stream::TableSpec<federation::IdentityRow> kIdentitiesTable{.id = 102, .version = 1};
inline constexpr stream::TableSpec<federation::ProjectRow> kProjectsTable{.id = 103, .version = 1};
inline constexpr stream::TableSpec<federation::SwingerRow> kSwingersTable{.id = 104, .version = 1};
inline constexpr stream::TableSpec<federation::DeletionRow> kDeletionsTable{.id = 105, .version = 1};

inline stream::Key KeyOf(const federation::RowKey& key) {
  return {.project = key.project, .id = key.id, .sub = key.sub};
}

}  // namespace cobblestone::identity
