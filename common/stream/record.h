// Records, in batches on partitions of topics. The runtime treats a record as opaque bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cobblestone::stream {

// Position of a topic in the manifest (the list of TopicSpec that a deployment was created with). Frozen per
// data directory.
using TopicIndex = std::uint16_t;

enum class Retention : std::uint8_t {
  kTrimmed = 0,  // trimmed up to the oldest state or copy, by age and size
  kForever = 1,  // the ledger: never trimmed
};

struct TopicSpec {
  std::string name;
  std::uint32_t partitions = 1;
  Retention retention = Retention::kTrimmed;
};

struct TopicPartition {
  TopicIndex topic = 0;
  std::uint32_t partition = 0;
  friend constexpr auto operator<=>(const TopicPartition&, const TopicPartition&) = default;
};

// Consecutive records of one partition: varint length, bytes. Immutable once in the log.
struct Batch {
  TopicPartition where;
  std::uint64_t first = 0;  // offset of the first record
  std::uint32_t count = 0;
  double append_time = 0;  // UNIX s; for the check against future event times, and for display
  std::string payload;     // uncompressed

  [[nodiscard]] std::uint64_t end() const { return first + count; }
};
using BatchRef = std::shared_ptr<const Batch>;

// Builds a payload.
inline void AppendRecord(std::string& payload, std::string_view record) {
  std::uint64_t n = record.size();
  char head[10];
  int used = 0;
  while (n >= 0x80) {
    head[used++] = static_cast<char>(n | 0x80);
    n >>= 7;
  }
  head[used++] = static_cast<char>(n);
  payload.append(head, static_cast<std::size_t>(used));
  payload.append(record);
}

// Iterates over a payload. The batch owns the bytes.
class RecordCursor {
 public:
  RecordCursor() = default;
  explicit RecordCursor(std::string_view payload) : rest_(payload) {}

  // False at the end, or if the bytes are not a payload of AppendRecord() (malformed()).
  bool Next(std::string_view* record) {
    if (rest_.empty()) return false;
    std::uint64_t n = 0;
    int shift = 0;
    std::size_t at = 0;
    while (at < rest_.size()) {
      const auto byte = static_cast<unsigned char>(rest_[at++]);
      n |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
      shift += 7;
    }
    if (n > rest_.size() - at) [[unlikely]] {
      malformed_ = true;
      rest_ = {};
      return false;
    }
    *record = rest_.substr(at, n);
    rest_.remove_prefix(at + n);
    return true;
  }
  [[nodiscard]] bool malformed() const { return malformed_; }

 private:
  std::string_view rest_;
  bool malformed_ = false;
};

}  // namespace cobblestone::stream
