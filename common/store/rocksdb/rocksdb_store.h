// Stores on RocksDB. All stores of a process share one block cache and one background thread (StoreMemory).
//
// Each Apply writes one sorted table file and adds it to the database; there is no memtable and no
// write-ahead log. A completed Apply is durable as a whole; an interrupted one is present as a whole or not
// at all. README.md beside this file has the measurements behind this design.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/store/store.h"

namespace cobblestone::store {

// The shared block cache of all stores (data, index and filter blocks; size in bytes). Threads: any. Stores
// keep it alive.
class StoreMemory {
 public:
  explicit StoreMemory(std::uint64_t block_cache_bytes);
  ~StoreMemory();
  StoreMemory(const StoreMemory&) = delete;
  StoreMemory& operator=(const StoreMemory&) = delete;

  // Bytes in use; may exceed the limit while readers pin blocks.
  [[nodiscard]] std::uint64_t used_bytes() const;

  struct Parts;  // rocksdb_internal.h
  [[nodiscard]] Parts& parts() const { return *parts_; }

 private:
  std::unique_ptr<Parts> parts_;
};

struct RocksdbStoreOptions {
  std::string path;  // used by this store alone; the parent must exist
  std::shared_ptr<StoreMemory> memory;
  bool create = true;      // false: kNotFound if there is no store
  bool read_only = false;  // takes no lock and changes nothing; needs an existing store; Apply is rejected
};

// kNotFound: there is no store (create false or read_only). kCorrupted: files are damaged or missing; the
// message names the path and the remedy; RemoveRocksdbStore() makes room for a copy. kFenced: another owner
// has the store open. kFull: the disk is full. kFatal: other system errors, such as no permission.
Result<std::unique_ptr<Store>> OpenRocksdbStore(const RocksdbStoreOptions& options);

// Removes a store, damaged or not; ok if there is none. kFenced: another owner has the store open.
// kInvalidArgument: the directory contains files that do not belong to a store; they are kept.
Status RemoveRocksdbStore(const std::string& path);

}  // namespace cobblestone::store
