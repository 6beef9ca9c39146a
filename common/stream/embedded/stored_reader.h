// Reads batches from disk, for readers that lag behind the batches in memory. A sequential read fetches
// several batches at once; a lookup fetches one. Recently decoded batches are cached, so that reading a batch
// record by record decodes it once.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <mutex>

#include "common/base/status.h"
#include "common/stream/embedded/log_database.h"
#include "common/stream/record.h"

namespace cobblestone::stream::embedded {

class StoredReader {
 public:
  // `database` must outlive the reader. `cache_bytes`: limit of the cached payloads.
  StoredReader(const LogDatabase& database, std::uint64_t cache_bytes)
      : database_(database), cache_bytes_(cache_bytes) {}

  // The stored batch that contains `offset`; null when there is none. kCorrupted: damaged.
  Result<BatchRef> Read(TopicPartition where, std::uint64_t offset);

 private:
  struct Kept;
  using Places = std::map<std::pair<TopicPartition, std::uint64_t>, std::list<Kept>::iterator>;
  struct Kept {
    BatchRef batch;
    Places::iterator place;
  };

  BatchRef FindKept(TopicPartition where, std::uint64_t offset);
  void Keep(const BatchRef& batch);

  const LogDatabase& database_;
  const std::uint64_t cache_bytes_;
  std::mutex mutex_;
  std::list<Kept> kept_;  // most recently used first
  Places places_;
  std::map<TopicPartition, std::uint64_t> read_up_to_;
  std::uint64_t kept_bytes_ = 0;
};

}  // namespace cobblestone::stream::embedded
