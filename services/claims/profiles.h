// Host data that CLAIMS keeps for statistics files (services/stage/profile_rows.h): tables by host id, for readers of
// the store. The profile is in the partition of the host's other CLAIMS rows; the host's account is in its owner's.
#pragma once

#include "services/stage/profile_rows.h"

namespace cobblestone::claims {

using HostProfileRow = stage::ProfileRow<wire::HostProfile>;
inline constexpr stream::TableSpec<HostProfileRow> kProfileTable{.id = 9, .version = 1};
inline constexpr stream::TableSpec<stage::FactsRow> kFactsTable{.id = 10, .version = 1};

}  // namespace cobblestone::claims
