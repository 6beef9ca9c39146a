// What ACCOUNTS keeps of users for statistics files (services/stage/profile_rows.h): tables by user id, for whoever reads them
// in the store. A user has its profile in the partition of its other rows; facts may be of users that nobody has named.
#pragma once

#include "services/stage/profile_rows.h"

namespace cobblestone::accounts {

using UserProfileRow = wire::ProfileRow<wire::UserProfile>;
inline constexpr stream::TableSpec<UserProfileRow> kProfileTable{.id = 42, .version = 2};
inline constexpr stream::TableSpec<wire::FactsRow> kFactsTable{.id = 43, .version = 1};

}  // namespace cobblestone::accounts
