// What the store on RocksDB shares with its benchmark and its power-loss test: nothing else includes this.
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

// Sorted runs of one store: from kCompactAtRuns on the background thread merges; at kMostRuns Apply waits for
// it.
inline constexpr int kCompactAtRuns = 12;
inline constexpr int kMostRuns = 32;

// How every store is opened; README.md says what was measured against what.
rocksdb::Options TunedOptions(const StoreMemory& memory);

// OpenRocksdbStore over another file system: `env` outlives the store.
Result<std::unique_ptr<Store>> OpenRocksdbStoreOn(const RocksdbStoreOptions& options, rocksdb::Env* env);

// The reserved row: a byte that says how this store writes its rows, what the caller gave, checksum. It sorts
// before every key of a caller, and every table has it, so RocksDB never files a new table below an older
// one.
inline constexpr std::string_view kMetaKey("\0", 1);
inline constexpr char kMetaFormat = 1;

// Adds to a value what Get and Scan check and take off.
void AppendChecksum(std::string_view key, std::string* value);

}  // namespace cobblestone::store
