// The index of one topic: key -> places of all records with that key. What a key is, the caller says; a grant may be
// found by its result, a refused input by its event. Derived from the log: deleting its directory loses nothing, it is
// made again.
//
// A thread of its own follows what is durable, keeps the newest entries in memory, and writes them out in sorted chunks
// (about a million entries, or ten seconds); the files merge among themselves. Each chunk carries, in the same file,
// how far in each partition it reaches, so a crash takes the index back to the end of a chunk and it goes on from there.
// A look-up sees everything that is durable when it is called, indexed or not.
//
// Measured: tests/bench/log_bench.cc.
//
// Threads: every method from any.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/stream/embedded/key_runs.h"
#include "common/stream/embedded/log.h"
#include "common/stream/record.h"

namespace cobblestone::stream::embedded {

// Gets the keys of one record: 1 to kMaxIndexKeyBytes bytes each; none for a record that is not to be found.
using AddKey = std::function<void(std::string_view key)>;
using KeysOfRecord = std::function<void(std::string_view record, const AddKey& add)>;

// What an index is of. Threads: any, one call at a time.
class IndexedLog {
 public:
  // Records that lie together. Their views hold as long as it does.
  struct Piece {
    std::uint64_t first = 0;
    std::uint64_t end = 0;  // where to read on; 0: there is nothing more now
    std::vector<std::string_view> records{};
    bool one_place = false;  // all of them lie at `first`; else each one further
    std::shared_ptr<const void> bytes{};
  };

  virtual ~IndexedLog() = default;
  [[nodiscard]] virtual std::uint64_t Begin(TopicPartition where) = 0;
  [[nodiscard]] virtual std::uint64_t End(TopicPartition where) = 0;  // of what is durable
  virtual Result<Piece> Read(TopicPartition where, std::uint64_t offset) = 0;
};

// The log must outlive it.
std::unique_ptr<IndexedLog> MakeIndexedLog(Log& log);

struct KeyIndexOptions {
  std::string path;  // a directory of its own
  // What is indexed how, for example "grants by result, 1". A directory with another name is wiped and made again.
  std::string name;
  TopicIndex topic = 0;
  std::uint32_t partitions = 1;  // at most 65,536
  KeysOfRecord keys;             // pure; called on several threads, one at a time
  bool read_only = false;        // no thread, no change of files: what is not indexed is looked through
  std::uint64_t chunk_entries = 1'000'000;
  std::chrono::milliseconds chunk_age{10'000};
  std::chrono::milliseconds follow_every{250};  // how often the thread looks for news
};

class KeyIndex {
 public:
  // `log` outlives the index. kCorrupted: damaged, or (read_only) of a log that was longer; says what to do. An index
  // that is unusable for a log open for writing is made again, and rebuilt() says why.
  static Result<std::unique_ptr<KeyIndex>> Open(Log& log, const KeyIndexOptions& options);
  static Result<std::unique_ptr<KeyIndex>> Open(std::unique_ptr<IndexedLog> log,
                                                const KeyIndexOptions& options);
  virtual ~KeyIndex() = default;

  // Places of the records with that key, ascending; none is no error. Places that the log has trimmed may be among
  // them. kRetry: the index is being made and far behind (says how far).
  virtual Result<std::vector<RecordPlace>> Find(std::string_view key) = 0;

  // As Find(), but of each partition the last `limit` places at most.
  virtual Result<std::vector<RecordPlace>> FindLast(std::string_view key, std::size_t limit) = 0;

  // Writes out everything that is durable now. Then it lies in files, and a restart need not look at it again.
  virtual Status Flush() = 0;

  // What the thread failed with, if it did; it tries again. A full disk stops the index, not the log.
  [[nodiscard]] virtual Status health() const = 0;
  // Records that are durable and not yet in files.
  [[nodiscard]] virtual std::uint64_t behind() const = 0;
  [[nodiscard]] virtual const std::string& rebuilt() const = 0;  // empty: it was not
  [[nodiscard]] virtual std::uint64_t disk_bytes() const = 0;
};

}  // namespace cobblestone::stream::embedded
