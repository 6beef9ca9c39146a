// The directory in which a hub keeps its snapshots: one directory for each day, named by the date. What a crash has left
// (DATE.partial, DATE.removed) is not a snapshot.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace cobblestone::hub {

// "2026-11-27", ascending; empty if the directory does not exist. kFatal: it cannot be read.
Result<std::vector<std::string>> SnapshotsIn(const std::string& directory);

// UNIX s at which the newest snapshot was published; nothing if there is none, or it cannot be read.
std::optional<double> PublishedTime(const std::string& directory);

// Deletes what crashes have left and, unless `keep` is 0, all but the newest `keep` snapshots. A snapshot disappears at
// once and as a whole. kFatal: something cannot be deleted.
Status PruneSnapshots(const std::string& directory, std::size_t keep);

}  // namespace cobblestone::hub
