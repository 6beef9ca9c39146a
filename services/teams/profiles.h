// Team data that TEAMS keeps for statistics files (services/stage/profile_rows.h): tables by team id, for
// readers of the store.
#pragma once

#include "services/stage/profile_rows.h"

namespace cobblestone::teams {

using TeamProfileRow = stage::ProfileRow<wire::TeamProfile>;
inline constexpr stream::TableSpec<TeamProfileRow> kProfileTable{.id = 52, .version = 1};
inline constexpr stream::TableSpec<stage::FactsRow> kFactsTable{.id = 53, .version = 1};

}  // namespace cobblestone::teams
