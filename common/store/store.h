// A store: ordered bytes with atomic, versioned writes; where a slot keeps its state. State is a cache of the
// log (docs/runtime.md): a crash may take a store back to an older version of itself, never to a mixture of two.
//
// Keys: 1 byte or more, any bytes, compared as unsigned; the one-byte key 0x00 is the store's own (Meta).
// Threads: all but Apply from any thread, also beside a writer, and each sees one version; Apply from one thread at a time;
// destruction when no call is under way.
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
  std::string_view value;  // not looked at where deleted
  bool deleted = false;    // of a key that is not there: nothing happens
};

// What a store holds, to be read.
// Threads: any.
class Reader {
 public:
  virtual ~Reader() = default;

  // kNotFound when absent. Each value carries a checksum over key and value; a wrong one is kCorrupted.
  virtual Status Get(std::string_view key, std::string* value) const = 0;

  // Ascending by key, all keys that start with `prefix` (empty: all), as of one version; a status from
  // `visit` ends it and is returned. The views hold until `visit` returns.
  virtual Status Scan(
      std::string_view prefix,
      const std::function<Status(std::string_view key, std::string_view value)>& visit) const = 0;

  [[nodiscard]] virtual Result<std::string> Meta() const = 0;  // kNotFound: a new store
};

class Store : public Reader {
 public:
  // As it is now: stays so whatever is written, and costs the disk space of what was replaced for as long as it is held.
  // Must not outlive the store.
  [[nodiscard]] virtual std::unique_ptr<const Reader> Snapshot() const = 0;

  // All rows or none, durable on return. `rows` ascending by key, no key twice (CHECK). `meta` is stored with
  // them and read back by Meta(): it says of which place in the log this state is.
  // kRetry: nothing has changed, disk full. kFull, kCorrupted, kFatal: close the store; what it holds is this
  // version or the one before, whole. May wait for the background thread when writes outrun it.
  virtual Status Apply(const std::vector<Row>& rows, std::string_view meta) = 0;

  // A copy at `path` (which must not exist: kInvalidArgument) by hard links where the file system can;
  // durable on return; opens as a store and stays as it is whatever becomes of this one.
  virtual Status Checkpoint(const std::string& path) = 0;

  // Reads everything and checks all checksums.
  virtual Status Verify() const = 0;

  // Of the table files, those that only older versions need included.
  [[nodiscard]] virtual std::uint64_t disk_bytes() const = 0;
};

}  // namespace cobblestone::store
