// Stores on RocksDB. All stores of a process share one block cache and one background thread (StoreMemory).
//
// Each Apply writes one sorted table file and adds it to the database: there is no memtable and no
// write-ahead log, so what Apply has returned from is durable whole and what it has not returned from is
// there whole or not at all. README.md beside this file has the measurements that led here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/store/store.h"

namespace cobblestone::store {

// The one block cache (data, index and filter blocks, bytes) of all stores. Threads: any. Stores keep it
// alive.
class StoreMemory {
 public:
  explicit StoreMemory(std::uint64_t block_cache_bytes);
  ~StoreMemory();
  StoreMemory(const StoreMemory&) = delete;
  StoreMemory& operator=(const StoreMemory&) = delete;

  // Bytes in use now; may pass the limit while blocks are pinned by readers.
  [[nodiscard]] std::uint64_t used_bytes() const;

  struct Parts;  // rocksdb_internal.h
  [[nodiscard]] Parts& parts() const { return *parts_; }

 private:
  std::unique_ptr<Parts> parts_;
};

struct RocksdbStoreOptions {
  std::string path;  // a directory of its own; its parent must exist
  std::shared_ptr<StoreMemory> memory;
  bool create = true;      // false: kNotFound where there is no store
  bool read_only = false;  // takes no lock and changes nothing; needs an existing store; Apply is refused
};

// kNotFound: no store there (create false or read_only). kCorrupted: files damaged or missing; the message
// names the path and the remedy; RemoveRocksdbStore() makes way for a copy. kFenced: somebody has it open.
// kFull: the disk is. kFatal: the system's word (no permission).
Result<std::unique_ptr<Store>> OpenRocksdbStore(const RocksdbStoreOptions& options);

// Removes a store that nobody has open, damaged or not; Ok if there is none. kFenced: somebody has it open.
// kInvalidArgument: the directory holds files that are not a store's; those stay.
Status RemoveRocksdbStore(const std::string& path);

}  // namespace cobblestone::store
