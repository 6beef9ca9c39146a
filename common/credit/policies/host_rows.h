// Finding and making the record of a (host, app version).
// Pure. Rows are few per host, so they are searched in order. A reference stays good until the next RowFor().
#pragma once

#include "common/credit/model/catalogue.h"
#include "common/credit/model/model.h"

namespace cobblestone::credit {

// The row of a version; of an anonymous version (id below 0) that of the app. Null where there is none.
[[nodiscard]] HostVersion* FindHostVersion(HostRecord& host, AppId app, AppVersionId version);
[[nodiscard]] const HostVersion* FindHostVersion(const HostRecord& host, AppId app, AppVersionId version);

// The same, made where there is none: a new version starts from the host's record of the newest older version
// of its app, platform and plan class (docs/rules.md, section 12); anything else starts empty, with the initial
// error rate and quota, on scale probation. Rows of versions that have left the catalogue go when a row is
// added, so that a host's record is bounded by the catalogue.
HostVersion& HostVersionFor(HostRecord& host, const AppRow& app, AppVersionId version,
                            const Catalogue& catalogue);

// The host's record of the newest older version of the same app, platform and plan class, from which
// HostVersionFor() starts a new version. Null where there is none, or the version is not in the catalogue.
[[nodiscard]] const HostVersion* PredecessorOf(const HostRecord& host, AppVersionId version,
                                               const Catalogue& catalogue);

}  // namespace cobblestone::credit
