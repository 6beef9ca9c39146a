#include "common/federation/identity/facts.h"

#include <array>

namespace cobblestone::federation {
namespace {

constexpr std::uint8_t kNoDigit = 0x80;

// The kinds of digits alternate at random, so branches on them would cost more than all else.
constexpr std::array<std::uint8_t, 256> kDigits = [] {
  std::array<std::uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  for (std::uint8_t n = 0; n < 10; ++n) digits['0' + n] = n;
  for (std::uint8_t n = 10; n < 16; ++n) digits['a' + n - 10] = digits['A' + n - 10] = n;
  return digits;
}();

}  // namespace

std::optional<Cpid> ParseCpid(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  std::uint8_t seen = 0;
  const auto read = [&](std::string_view digits) {
    std::uint64_t half = 0;
    for (const char c : digits) {
      const std::uint8_t digit = kDigits[static_cast<unsigned char>(c)];
      seen |= digit;
      half = half << 4 | digit;
    }
    return half;
  };
  const Cpid cpid{.high = read(text.substr(0, 16)), .low = read(text.substr(16))};
  if ((seen & kNoDigit) != 0 || !cpid.set()) return std::nullopt;
  return cpid;
}

std::string CpidText(const Cpid& cpid) {
  std::string text;
  for (const std::uint64_t half : {cpid.high, cpid.low}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[half >> shift & 15];
  }
  return text;
}

}  // namespace cobblestone::federation
