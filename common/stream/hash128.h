// 128-bit fingerprints of outputs and state, chained from commit to commit.
#pragma once

#include <xxhash.h>

#include <cstdint>
#include <string_view>

namespace cobblestone::stream {

struct Hash128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  friend bool operator==(const Hash128&, const Hash128&) = default;

  // Sum modulo 2^128: a fingerprint of a set does not depend on the order in which it was walked.
  Hash128& operator+=(const Hash128& other) {
    const std::uint64_t before = low;
    low += other.low;
    high += other.high + (low < before ? 1 : 0);
    return *this;
  }

  template <class Self, class F>
  static void Fields(Self& s, F&& f) { f(s.low, s.high); }
};

inline Hash128 HashBytes(std::string_view bytes, std::uint64_t seed = 0) {
  const XXH128_hash_t h = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
  return {h.low64, h.high64};
}

}  // namespace cobblestone::stream
