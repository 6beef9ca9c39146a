// The accounts that a project publishes, in its statistics files and to a federation hub. Rules:
// tests/golden/export/README.md, 'Filters and counts'. An account is published if its row is shown (filters.h) and, of a
// project that asks for consent, if its user has consented.
#pragma once

#include <cstdint>

#include "services/export/source.h"

namespace cobblestone::exports {

// How often the records of the user and of the user's hosts are written; 0: they are not published.
std::uint32_t CopiesOf(Source& source, std::int64_t user);

// Every published account once, in ascending order of id. Stops at the first status of `take` that is not Ok, and returns
// it. Other errors: those of the source.
Status PublishedUsers(Source& source, const Take<User>& take);
Status PublishedTeams(Source& source, const Take<Team>& take);
Status PublishedHosts(Source& source, const Take<Host>& take);

}  // namespace cobblestone::exports
