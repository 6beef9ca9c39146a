// Writes the protobuf wire format byte for byte as generated proto3 code does: fields in ascending order,
// default values omitted, shortest varints. A test compares both.
//
// A double is omitted if all its bits are 0. Negative zero is therefore written and read back as negative
// zero.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "common/wire/proto_reader.h"

namespace cobblestone::wire {

constexpr std::size_t VarintSize(std::uint64_t v) {
  return (static_cast<std::size_t>(std::bit_width(v | 1)) * 9 + 64) / 64;
}
constexpr std::uint64_t ZigZag(std::int64_t v) {
  return static_cast<std::uint64_t>(v) << 1 ^ static_cast<std::uint64_t>(v >> 63);
}

// Largest size of a field of at most 64 bits: a tag of two bytes (field numbers up to 2047) and a varint of
// ten.
inline constexpr std::size_t kMaxScalarField = 12;

// Writes to a buffer that the caller has sized: `kMaxScalarField` for each scalar field, plus the size of the
// bytes for each Message(). Bounds are not checked, so that a field costs a compare and a store.
class ProtoWriter {
 public:
  explicit ProtoWriter(char* to) : start_(to), at_(to) {}

  void Uint(std::uint32_t field, std::uint64_t v) {
    if (v != 0) PresentUint(field, v);
  }
  void Sint(std::uint32_t field, std::int64_t v) { Uint(field, ZigZag(v)); }
  void Bool(std::uint32_t field, bool v) { Uint(field, v ? 1 : 0); }
  void Double(std::uint32_t field, double v) {
    if (std::bit_cast<std::uint64_t>(v) != 0) PresentDouble(field, v);
  }
  // A field with presence (`optional`): written even if 0.
  void PresentUint(std::uint32_t field, std::uint64_t v) {
    Varint(VarintTag(field));
    Varint(v);
  }
  void PresentDouble(std::uint32_t field, double v) {
    Varint(DoubleTag(field));
    std::memcpy(at_, &v, 8);
    at_ += 8;
  }
  void Fixed64(std::uint32_t field, std::uint64_t v) { Double(field, std::bit_cast<double>(v)); }
  // A message: written even if empty.
  void Message(std::uint32_t field, std::string_view bytes) {
    Varint(BytesTag(field));
    Varint(bytes.size());
    at_ = std::copy(bytes.begin(), bytes.end(), at_);
  }
  // Tag and length of a message whose bytes the caller writes next.
  void MessageHead(std::uint32_t field, std::size_t size) {
    Varint(BytesTag(field));
    Varint(size);
  }

  void Varint(std::uint64_t v) {
    while (v >= 0x80) {
      *at_++ = static_cast<char>(v | 0x80);
      v >>= 7;
    }
    *at_++ = static_cast<char>(v);
  }

  [[nodiscard]] std::string_view written() const { return {start_, static_cast<std::size_t>(at_ - start_)}; }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(at_ - start_); }

 private:
  char* start_;
  char* at_;
};

// For fields without a size limit: appends a string or a message to `out`.
inline void AppendMessage(std::uint32_t field, std::string_view bytes, std::string* out) {
  char head[2 * kMaxScalarField];
  ProtoWriter writer(head);
  writer.MessageHead(field, bytes.size());
  out->append(writer.written());
  out->append(bytes);
}
inline void AppendString(std::uint32_t field, std::string_view text, std::string* out) {
  if (!text.empty()) AppendMessage(field, text, out);
}

}  // namespace cobblestone::wire
