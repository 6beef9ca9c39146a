// Look-up and creation of the row of a (host, app version).
// Pure. A host has few rows, so the search is linear. A reference is valid until the next HostVersionFor() of
// the host.
#pragma once

#include "common/credit/model/catalogue.h"
#include "common/credit/model/model.h"

namespace cobblestone::credit {

// The row of a version; anonymous versions (id below 0) have one row per app. Null when absent.
[[nodiscard]] HostVersion* FindHostVersion(HostRecord& host, AppId app, AppVersionId version);
[[nodiscard]] const HostVersion* FindHostVersion(const HostRecord& host, AppId app, AppVersionId version);

// The row of a version, created when absent: a copy of PredecessorOf(), else an empty row with the initial
// error rate and quota, on scale probation (docs/rules.md, section 12). Creation deletes the host's rows of
// versions that have left the catalogue, so the catalogue bounds the size of a host's record.
HostVersion& HostVersionFor(HostRecord& host, const AppRow& app, AppVersionId version,
                            const Catalogue& catalogue);

// The host's row of the newest older version of the same app, platform and plan class; HostVersionFor() copies
// this row for a new version. Null when absent, or when the version is not in the catalogue.
[[nodiscard]] const HostVersion* PredecessorOf(const HostRecord& host, AppVersionId version,
                                               const Catalogue& catalogue);

}  // namespace cobblestone::credit
