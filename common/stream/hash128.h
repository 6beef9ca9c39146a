// 128-bit fingerprints of outputs and state, chained from commit to commit.
#pragma once

// XXH3_state_t as a member.
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace cobblestone::stream {

struct Hash128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  friend bool operator==(const Hash128&, const Hash128&) = default;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.low, s.high);
  }
};

// Hashes a stream of bytes, in pieces of any size.
class Hasher {
 public:
  Hasher() { XXH3_128bits_reset(&state_); }
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  template <class T>
  void Scalar(T v) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 16);
    if (used_ > sizeof buffer_ - sizeof v) Spill();
    std::memcpy(buffer_ + used_, &v, sizeof v);
    used_ += sizeof v;
  }
  void Bytes(std::string_view bytes) {
    if (bytes.empty()) return;  // memcpy must not get a null pointer, even for 0 bytes
    if (bytes.size() > sizeof buffer_ - used_) Spill();
    if (bytes.size() > sizeof buffer_) {
      XXH3_128bits_update(&state_, bytes.data(), bytes.size());
      return;
    }
    std::memcpy(buffer_ + used_, bytes.data(), bytes.size());
    used_ += bytes.size();
  }
  [[nodiscard]] Hash128 Digest() {
    Spill();
    const XXH128_hash_t h = XXH3_128bits_digest(&state_);
    return {h.low64, h.high64};
  }

 private:
  void Spill() {
    XXH3_128bits_update(&state_, buffer_, used_);
    used_ = 0;
  }

  XXH3_state_t state_;
  std::size_t used_ = 0;
  char buffer_[8192];
};

inline Hash128 HashBytes(std::string_view bytes, std::uint64_t seed = 0) {
  const XXH128_hash_t h = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
  return {h.low64, h.high64};
}

}  // namespace cobblestone::stream
