// Shared by the RocksDB store, its benchmark and its power-loss test. Not for other use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>

#include "common/store/rocksdb/rocksdb_store.h"

namespace cobblestone::store {

struct StoreMemory::Parts {
  std::shared_ptr<rocksdb::Cache> cache;
  std::shared_ptr<const rocksdb::FilterPolicy> filter;
};

// Limits on the sorted runs of one store: from kCompactAtRuns on, the background thread compacts; at
// kMaxRuns, Apply waits for it.
inline constexpr int kCompactAtRuns = 12;
inline constexpr int kMaxRuns = 32;

// The options of every store; README.md has the measurements behind them.
rocksdb::Options TunedOptions(const StoreMemory& memory);

// OpenRocksdbStore on another file system; `env` must outlive the store.
Result<std::unique_ptr<Store>> OpenRocksdbStoreOn(const RocksdbStoreOptions& options, rocksdb::Env* env);

// Key of the reserved row: a byte with the row format of this store, the caller's meta, checksum. The key
// sorts before every caller's key, and every table file contains it, so RocksDB never places a new table
// below an older one.
inline constexpr std::string_view kMetaKey("\0", 1);
inline constexpr char kMetaFormat = 1;

// Appends the checksum that Get and Scan check and remove.
void AppendChecksum(std::string_view key, std::string* value);

}  // namespace cobblestone::store
