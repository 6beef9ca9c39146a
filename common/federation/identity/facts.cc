#include "common/federation/identity/facts.h"

namespace cobblestone::federation {
namespace {

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<Cpid> ParseCpid(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  Cpid cpid;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int digit = DigitOf(text[i]);
    if (digit < 0) return std::nullopt;
    std::uint64_t& half = i < 16 ? cpid.high : cpid.low;
    half = half << 4 | static_cast<std::uint64_t>(digit);
  }
  if (!cpid.set()) return std::nullopt;
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
