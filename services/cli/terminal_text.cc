#include "services/cli/terminal_text.h"

#include <cstdint>
#include <cstdio>

namespace cobblestone::cli {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: no character starts here
};

// RFC 3629: no overlong forms, no surrogates, up to U+10FFFF.
Character CharacterAt(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || bytes > text.size()) return {};
  std::uint32_t code = first & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = code << 6U | (byte(i) & 0x3fU);
  }
  const bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  if (overlong || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff) return {};
  return {code, bytes};
}

bool Shows(std::uint32_t code) {
  if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return false;
  // Characters of text direction (Unicode, UAX #9), line and paragraph separators.
  if (code == 0x061c || code == 0x200e || code == 0x200f) return false;
  if (code >= 0x2028 && code <= 0x202e) return false;
  return code < 0x2066 || code > 0x2069;
}

std::string Escaped(std::string_view text, bool lines) {
  std::string out;
  out.reserve(text.size());
  char escape[16];
  while (!text.empty()) {
    const Character character = CharacterAt(text);
    const std::size_t bytes = character.bytes == 0 ? 1 : character.bytes;
    if (character.bytes != 0 && (Shows(character.code) || (lines && character.code == 0x0a))) {
      out += text.substr(0, bytes);
    } else {
      if (character.bytes < 2)
        std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(text.front()));
      else
        std::snprintf(escape, sizeof escape, "\\u{%x}", static_cast<unsigned>(character.code));
      out += escape;
    }
    text.remove_prefix(bytes);
  }
  return out;
}

}  // namespace

std::string TerminalText(std::string_view text) { return Escaped(text, false); }
std::string TerminalLines(std::string_view text) { return Escaped(text, true); }

}  // namespace cobblestone::cli
