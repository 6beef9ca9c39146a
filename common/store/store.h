// A store: ordered bytes with atomic, versioned writes. A slot keeps its state in a store. State is a cache
// of the log (docs/runtime.md): a crash may revert a store to an older version of itself, never to a mixture
// of two.
//
// Keys: at least 1 byte, any bytes, compared as unsigned; the one-byte key 0x00 is reserved (Meta).
// Threads: all methods except Apply may be called from any thread, also during an Apply, and each sees one
// version. Apply is called by one thread at a time. Destroy the store only when no call is active.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace cobblestone::store {

struct Row {
  std::string_view key;
  std::string_view value;  // ignored if deleted
  bool deleted = false;    // deleting an absent key has no effect
};

// Read access to a store.
// Threads: any.
class Reader {
 public:
  virtual ~Reader() = default;

  // kNotFound when absent. Each value carries a checksum over key and value; a mismatch returns kCorrupted.
  virtual Status Get(std::string_view key, std::string* value) const = 0;

  using Visit = std::function<Status(std::string_view key, std::string_view value)>;
  // Visits all keys that start with `prefix` (empty: all), ascending, as of one version. A status other than
  // ok from `visit` stops the scan and is returned. The views are valid until `visit` returns.
  Status Scan(std::string_view prefix, const Visit& visit) const { return ScanFrom(prefix, prefix, visit); }
  // The same without the keys before `from`, which starts with `prefix`.
  virtual Status ScanFrom(std::string_view prefix, std::string_view from, const Visit& visit) const = 0;

  [[nodiscard]] virtual Result<std::string> Meta() const = 0;  // kNotFound: a new store
};

class Store : public Reader {
 public:
  // The current version, unaffected by later writes. While it exists, replaced data keeps its disk space.
  // Must not outlive the store.
  [[nodiscard]] virtual std::unique_ptr<const Reader> Snapshot() const = 0;

  // Writes all rows or none; durable on return. `rows` ascending by key, without duplicate keys (CHECK).
  // `meta` is stored with the rows and returned by Meta(): the log position of this state.
  // kRetry: the disk is full and nothing has changed. kFull, kCorrupted, kFatal: close the store, which holds
  // either this version or the one before. May wait for the background thread when writes outrun compaction.
  virtual Status Apply(const std::vector<Row>& rows, std::string_view meta) = 0;

  // Makes a copy at `path` (kInvalidArgument if it exists), with hard links where the file system supports
  // them. Durable on return. The copy opens as a store and does not change with this one.
  virtual Status Checkpoint(const std::string& path) = 0;

  // Reads everything and checks all checksums.
  [[nodiscard]] Status Verify() const { return VerifyBeyond({}); }
  // The same without the files that the copy at `copy` has too, as hard links: damage in such a file is in both.
  // Empty or not a copy: everything.
  [[nodiscard]] virtual Status VerifyBeyond(const std::string& copy) const = 0;

  // Size of the table files, including those that only older versions need.
  [[nodiscard]] virtual std::uint64_t disk_bytes() const = 0;
};

}  // namespace cobblestone::store
