// The index of one topic: key -> places of all records with that key. The caller defines the keys: a grant
// may be found by its result, a refused input by its event. The index is derived from the log; if its
// directory is deleted, it is rebuilt.
//
// A thread follows the durable part of the log, keeps the newest entries in memory, and writes them out in
// sorted chunks (about a million entries, or ten seconds); RocksDB compacts the files. Each chunk includes,
// in the same file, the position reached in each partition. After a crash the index continues from the end of
// the last complete chunk. A lookup sees everything that is durable when it is called, indexed or not.
//
// Measured: tests/bench/log_bench.cc.
//
// Threads: every method may be called from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/stream/index/indexed_log.h"
#include "common/stream/index/key_runs.h"
#include "common/stream/record.h"

namespace cobblestone::stream {

// Receives the keys of one record: 1 to kMaxIndexKeyBytes bytes each; none for a record that is not indexed.
using AddKey = std::function<void(std::string_view key)>;
using KeysOfRecord = std::function<void(std::string_view record, const AddKey& add)>;

struct KeyIndexOptions {
  std::string path;  // used by this index alone
  // What is indexed and how, for example "grants by result, 1". A directory with another name is wiped and
  // rebuilt.
  std::string name;
  TopicIndex topic = 0;
  std::uint32_t partitions = 1;  // at most 65,536
  KeysOfRecord keys;             // pure; called on several threads, one at a time
  bool read_only = false;        // no thread, no file changes: records that are not indexed are scanned
  std::uint64_t chunk_entries = 1'000'000;
  std::chrono::milliseconds chunk_age{10'000};
  std::chrono::milliseconds follow_every{250};  // how often the thread looks for new records
};

class KeyIndex {
 public:
  // kCorrupted: damaged, or (read_only) the index of a longer log; the message contains the next step. An
  // unusable index of a log open for writing is rebuilt, and rebuilt() returns the reason.
  static Result<std::unique_ptr<KeyIndex>> Open(std::unique_ptr<IndexedLog> log,
                                                const KeyIndexOptions& options);
  virtual ~KeyIndex() = default;

  // Places of the records with this key, ascending; an empty result is not an error. The places may include
  // trimmed places. kRetry: the index is being built and is far behind (the message states how far).
  virtual Result<std::vector<RecordPlace>> Find(std::string_view key) = 0;

  // As Find(), but at most the last `limit` places of each partition.
  virtual Result<std::vector<RecordPlace>> FindLast(std::string_view key, std::size_t limit) = 0;

  // Writes everything that is durable now to files, so that a restart does not index it again.
  virtual Status Flush() = 0;

  // Why the thread failed, if it did; the thread retries. A full disk stops the index, not the log.
  [[nodiscard]] virtual Status health() const = 0;
  // Durable records that are not yet in files.
  [[nodiscard]] virtual std::uint64_t behind() const = 0;
  [[nodiscard]] virtual const std::string& rebuilt() const = 0;  // empty: it was not rebuilt
  [[nodiscard]] virtual std::uint64_t disk_bytes() const = 0;
};

}  // namespace cobblestone::stream
