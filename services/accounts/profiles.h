// User data that ACCOUNTS keeps for statistics files (services/stage/profile_rows.h): tables by user id, for readers
// of the store. The profile is in the partition of the user's other rows; facts may exist for users without a
// profile.
#pragma once

#include "services/stage/profile_rows.h"

namespace cobblestone::accounts {

using UserProfileRow = stage::ProfileRow<wire::UserProfile>;
inline constexpr stream::TableSpec<UserProfileRow> kProfileTable{.id = 42, .version = 1};
inline constexpr stream::TableSpec<stage::FactsRow> kFactsTable{.id = 43, .version = 1};

}  // namespace cobblestone::accounts
