// Layout of a batch in the database: key = place, value = header and compressed records.
//
//   key     topic u16, partition u32, first offset u64; big endian, so that the order of keys is the order of records
//   value   version u8 | codec u8 | zero u16 | count u32 | raw bytes u32 | body bytes u32 | first offset u64 |
//           append time f64 | hash of the body u64 | hash of the key and of all of the header before u64 | body
//
// Numbers of the value are little-endian; hashes are XXH3, 64 bits. The header's hash includes the key, so a
// value under a wrong key is detected as damage. The body's hash covers the stored bytes, so Verify can check
// without decompressing, and the decompressor never sees damaged input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/stream/record.h"

namespace cobblestone::stream::embedded {

inline constexpr std::size_t kBatchKeyBytes = 14;
inline constexpr std::size_t kBatchHeaderBytes = 48;
// Exclusive limit of a payload: its length and the length of the compressed body then fit 32 bits.
inline constexpr std::size_t kMaxPayloadBytes = std::size_t{1} << 30;

std::string BatchKey(TopicPartition where, std::uint64_t first);

struct BatchPlace {
  TopicPartition where;
  std::uint64_t first = 0;
};
std::optional<BatchPlace> ParseBatchKey(std::string_view key);

// A batch on its way to the database. Packing (hash, compression) needs no offset and runs before the log's
// mutex is taken; Seal() completes the header once the place is known.
class PackedBatch {
 public:
  PackedBatch(std::string_view payload, std::uint32_t count);

  void Seal(TopicPartition where, std::uint64_t first, double append_time);

  // Header and body. Only after Seal().
  [[nodiscard]] std::string_view bytes() const { return {data_.get(), size_}; }

 private:
  std::unique_ptr<char[]> data_;
  std::size_t size_ = 0;
};

// The fields of a header with a valid hash.
struct BatchHeader {
  std::uint8_t codec = 0;
  std::uint32_t count = 0;
  std::uint32_t raw_bytes = 0;
  std::uint32_t body_bytes = 0;
  std::uint64_t first = 0;
  double append_time = 0;  // UNIX s
  std::uint64_t body_hash = 0;

  [[nodiscard]] std::uint64_t end() const { return first + count; }
};

// kCorrupted: the stored bytes are damaged, or a newer program version wrote them (the message says which).
Result<BatchHeader> ReadBatchHeader(const BatchPlace& place, std::string_view stored);
// As ReadBatchHeader(), and checks the body's hash.
Result<BatchHeader> CheckBatch(const BatchPlace& place, std::string_view stored);
Result<BatchRef> UnpackBatch(const BatchPlace& place, std::string_view stored);

}  // namespace cobblestone::stream::embedded
