// Searches through many bytes, sixteen at a time, with the vectors that GCC and Clang have for every processor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace cobblestone::hub {

// A comparison gives -1 in each byte for which it holds.
using ByteVector __attribute__((vector_size(16))) = signed char;
inline constexpr std::size_t kVectorBytes = sizeof(ByteVector);

inline ByteVector LoadVector(const char* from) {
  ByteVector bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  return bytes;
}

inline ByteVector EachByte(char c) { return ByteVector{} + static_cast<signed char>(c); }

inline bool AnyByte(ByteVector bytes) {
  std::array<std::uint64_t, 2> halves{};
  std::memcpy(halves.data(), &bytes, sizeof bytes);
  return (halves[0] | halves[1]) != 0;
}

// How often `c` is in the text.
inline std::uint64_t CountByte(std::string_view text, char c) {
  constexpr std::size_t kMostSteps = 127;  // until a sum of bytes is full
  const auto wanted = static_cast<signed char>(c);
  std::uint64_t count = 0;
  std::size_t at = 0;
  while (text.size() - at >= kVectorBytes) {
    ByteVector sums{};
    for (std::size_t step = 0; step < kMostSteps && text.size() - at >= kVectorBytes;
         ++step, at += kVectorBytes)
      sums -= LoadVector(text.data() + at) == wanted;
    for (std::size_t byte = 0; byte < kVectorBytes; ++byte) count += static_cast<std::uint8_t>(sums[byte]);
  }
  for (; at < text.size(); ++at) count += text[at] == c ? 1 : 0;
  return count;
}

// Whether two short texts are equal, without a call.
inline bool SameShort(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  const auto differ = [&](std::size_t at, auto word) {
    decltype(word) other{};
    std::memcpy(&word, a.data() + at, sizeof word);
    std::memcpy(&other, b.data() + at, sizeof word);
    return word != other;
  };
  std::size_t at = 0;
  for (; a.size() - at >= 8; at += 8)
    if (differ(at, std::uint64_t{})) return false;
  if (at == a.size()) return true;
  // The last bytes, together with some that are compared already.
  if (a.size() >= 8) return !differ(a.size() - 8, std::uint64_t{});
  if (a.size() >= 4) return !differ(0, std::uint32_t{}) && !differ(a.size() - 4, std::uint32_t{});
  for (; at < a.size(); ++at)
    if (a[at] != b[at]) return false;
  return true;
}

}  // namespace cobblestone::hub
