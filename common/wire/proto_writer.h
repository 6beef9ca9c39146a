// Writes the protobuf wire format, byte for byte as generated code of proto3 does: fields in ascending order,
// default values left out, varints as short as they can be. The test of equality holds both to that.
//
// A double is left out if all its bits are 0. Negative zero is therefore written, and comes back as negative
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

// Room that one field of at most 64 bits can take: a tag of two bytes (field numbers up to 2047) and ten of
// varint.
inline constexpr std::size_t kMaxScalarField = 12;

// Writes to memory that the caller has measured: `kMaxScalarField` for each scalar field, and for Bytes its
// size on top. Nothing is checked here, so that a field costs a compare and a store.
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
  // A field with presence (`optional`): written even where it is 0.
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
  // A message: written even where it is empty.
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

// For what has no bound: a string or a message at the end of `out`.
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
