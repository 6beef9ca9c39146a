// Batches from disk, for readers that are further behind than memory reaches. Reading on from where the last read of a
// partition ended takes several batches at once; a look-up takes one. What was decoded last stays for a while, so that
// walking a batch record by record decodes it once.
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
  // `database` outlives the reader. `cache_bytes`: of payloads kept.
  StoredReader(const LogDatabase& database, std::uint64_t cache_bytes)
      : database_(database), cache_bytes_(cache_bytes) {}

  // The stored batch that holds `offset`; null when none does. kCorrupted: damaged.
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
  std::list<Kept> kept_;  // used last: first
  Places places_;
  std::map<TopicPartition, std::uint64_t> read_up_to_;
  std::uint64_t kept_bytes_ = 0;
};

}  // namespace cobblestone::stream::embedded
