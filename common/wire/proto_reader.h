// Reads the protobuf wire format field by field, directly from the bytes: for messages that occur once per
// result, where generated code would allocate. Header-only, because each call is a few instructions.
//
// Never reads past the end, never throws, never allocates. Malformed input ends the reading: NextTag()
// returns 0 and ok() is false from then on; values read afterwards are 0. The caller skips fields with
// unknown number or wire type, as generated code does, so that old readers understand newer writers.
//
// Stricter than generated code in two ways. Groups are malformed: nothing has written them since proto2, and
// skipping them requires recursion. A varint must fit into 64 bits. A varint padded with zero groups is
// valid: the format allows it, and some encoders back-patch lengths that way.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace cobblestone::wire {

static_assert(std::endian::native == std::endian::little, "fixed64 is read and written as it lies in memory");

enum class WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// The tag of a field, for the cases of a switch.
constexpr std::uint32_t Tag(std::uint32_t field, WireType type) {
  return field << 3 | static_cast<std::uint32_t>(type);
}
constexpr std::uint32_t VarintTag(std::uint32_t field) { return Tag(field, WireType::kVarint); }
constexpr std::uint32_t DoubleTag(std::uint32_t field) { return Tag(field, WireType::kFixed64); }
constexpr std::uint32_t BytesTag(std::uint32_t field) { return Tag(field, WireType::kBytes); }

class ProtoReader {
 public:
  explicit ProtoReader(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  // The next field's tag; 0 at the end of the bytes or where they are malformed. The value must then be read
  // with the call for the tag's wire type, or skipped.
  std::uint32_t NextTag() {
    if (at_ == end_) return 0;
    const auto first = static_cast<unsigned char>(*at_);
    std::uint64_t tag = first;
    if (first < 0x80) {
      ++at_;
    } else {
      tag = Varint();
    }
    // Field number 0, a wire type that is none of the four, or more than 29 bits of field number.
    const std::uint64_t type = tag & 7;
    if (tag < 8 || tag > 0xffffffffu || type == 3 || type == 4 || type > 5) [[unlikely]] {
      Fail();
      return 0;
    }
    return static_cast<std::uint32_t>(tag);
  }

  std::uint64_t Varint() {
    if (at_ < end_) {
      const auto byte = static_cast<unsigned char>(*at_);
      if (byte < 0x80) [[likely]] {
        ++at_;
        return byte;
      }
    }
    return LongVarint();
  }

  std::int64_t Sint() {
    const std::uint64_t v = Varint();
    return static_cast<std::int64_t>(v >> 1) ^ -static_cast<std::int64_t>(v & 1);
  }
  // As generated code: the low 32 bits; any value other than 0 is true.
  std::uint32_t Uint32() { return static_cast<std::uint32_t>(Varint()); }
  bool Bool() { return Varint() != 0; }

  std::uint64_t Fixed64() {
    std::uint64_t v = 0;
    if (end_ - at_ < 8) [[unlikely]] {
      Fail();
      return 0;
    }
    std::memcpy(&v, at_, 8);
    at_ += 8;
    return v;
  }
  // Bit-exact: negative zero and the payload of a NaN are preserved.
  double Double() { return std::bit_cast<double>(Fixed64()); }

  // The bytes of a string, a message or a packed field; valid as long as the reader's input.
  std::string_view Bytes() {
    const std::uint64_t size = Varint();
    if (size > static_cast<std::uint64_t>(end_ - at_)) [[unlikely]] {
      Fail();
      return {};
    }
    const std::string_view bytes(at_, static_cast<std::size_t>(size));
    at_ += size;
    return bytes;
  }

  // Skips the value of an unknown field.
  void Skip(std::uint32_t tag) {
    switch (static_cast<WireType>(tag & 7)) {
      case WireType::kVarint: Varint(); break;
      case WireType::kFixed64: Advance(8); break;
      case WireType::kBytes: Bytes(); break;
      case WireType::kFixed32: Advance(4); break;
      default: Fail(); break;
    }
  }

  [[nodiscard]] bool ok() const { return !failed_; }
  // Nothing is left; also for packed fields.
  [[nodiscard]] bool done() const { return at_ == end_; }
  // For a caller that finds an invalid value: treats the bytes as malformed.
  void Fail() {
    failed_ = true;
    at_ = end_;
  }

 private:
  void Advance(std::ptrdiff_t n) {
    if (end_ - at_ < n) {
      Fail();
    } else {
      at_ += n;
    }
  }

  std::uint64_t LongVarint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) break;
      const auto byte = static_cast<unsigned char>(*at_++);
      if (shift == 63 && byte > 1) break;
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    Fail();
    return 0;
  }

  const char* at_;
  const char* end_;
  bool failed_ = false;
};

}  // namespace cobblestone::wire
