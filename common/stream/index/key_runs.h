// Entries (key, place) of a topic index before they are written to its files: short sorted runs in memory.
//
// Encoded entries compare like (key length, key, partition, offset), and an entry of one key is never a
// prefix match for another key: key length u8 | key | partition u16 | offset u48, big-endian.
//
// Threads: not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace cobblestone::stream {

struct RecordPlace {
  std::uint32_t partition = 0;
  std::uint64_t offset = 0;
  friend constexpr auto operator<=>(const RecordPlace&, const RecordPlace&) = default;
};

inline constexpr std::size_t kMaxIndexKeyBytes = 255;
inline constexpr std::uint64_t kMaxOffset = (std::uint64_t{1} << 48) - 1;

// The common prefix of all entries of a key.
std::string IndexPrefix(std::string_view key);
std::string IndexEntry(std::string_view key, RecordPlace place);
RecordPlace PlaceOfEntry(std::string_view entry);

class KeyRuns {
 public:
  void Add(std::string_view key, RecordPlace place);
  [[nodiscard]] std::size_t entries() const { return entries_; }
  void Clear();

  // Appends the places of `key`, in no order.
  void Find(std::string_view key, std::vector<RecordPlace>& places) const;

  // Sorts all entries; they stay sorted until the next Add().
  void Close();

  // Visits all entries, ascending, each once. A status other than ok from `visit` stops the merge. Only after
  // Close().
  Status Merge(const std::function<Status(std::string_view entry)>& visit) const;

 private:
  // The first bytes of the entry, which decide most comparisons.
  struct Reference {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    std::uint32_t at = 0;
    std::uint32_t size = 0;
  };
  struct Run {
    std::string bytes;
    std::vector<Reference> references;

    [[nodiscard]] std::string_view Entry(const Reference& r) const { return {bytes.data() + r.at, r.size}; }
  };

  std::vector<Run> sorted_;
  Run open_;  // unsorted, the newest entries
  std::size_t entries_ = 0;
};

}  // namespace cobblestone::stream
