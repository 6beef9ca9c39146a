// Converts RocksDB's statuses.
#pragma once

#include <string>

#include <rocksdb/status.h>

#include "common/base/status.h"

namespace cobblestone::store {

// `doing`: "reading the log in /var/lib/x". Damage and missing files become kCorrupted, everything else
// kFatal; both messages say what to do.
Status FromRocksdb(const rocksdb::Status& status, const std::string& doing);

}  // namespace cobblestone::store
