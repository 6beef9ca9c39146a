// What CLAIMS keeps of hosts for statistics files (services/stage/profile_rows.h): tables by host id, for whoever reads them in
// the store. A host has its profile in the partition of its other rows here; its account lies with its owner.
#pragma once

#include "services/stage/profile_rows.h"

namespace cobblestone::claims {

using HostProfileRow = wire::ProfileRow<wire::HostProfile>;
inline constexpr stream::TableSpec<HostProfileRow> kProfileTable{.id = 9, .version = 2};
inline constexpr stream::TableSpec<wire::FactsRow> kFactsTable{.id = 10, .version = 1};

}  // namespace cobblestone::claims
