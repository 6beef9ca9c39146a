#include "services/export/strict_xml.h"

#include <cstddef>
#include <cstdint>

namespace cobblestone::exports {
namespace {

// Length in bytes of the first character, if XML 1.0 allows it (production Char); else 0.
std::size_t CharacterBytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 || first == '\t' || first == '\n' || first == '\r' ? 1 : 0;
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || size > text.size()) return 0;
  std::uint32_t c = first & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
    c = c << 6U | (byte(i) & 0x3FU);
  }
  const bool overlong = (size == 3 && c < 0x800) || (size == 4 && c < 0x10000);
  const bool surrogate = c >= 0xD800 && c < 0xE000;
  return overlong || surrogate || c == 0xFFFE || c == 0xFFFF || c > 0x10FFFF ? 0 : size;
}

// Visits the characters that XML 1.0 allows.
template <class Each>
void ForEachCharacter(std::string_view text, Each each) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t bytes = CharacterBytes(text.substr(i));
    if (bytes > 0) each(text.substr(i, bytes));
    i += bytes > 0 ? bytes : 1;
  }
}

}  // namespace

void AppendRaw(std::string_view text, bool strict, std::string* out) {
  if (!strict) {
    *out += text;
    return;
  }
  ForEachCharacter(text, [&](std::string_view character) {
    if (character == "<") {
      *out += "&lt;";
    } else if (character == "&") {
      *out += "&amp;";
    } else if (character == ">") {
      *out += "&gt;";
    } else if (character == "\r") {
      *out += "&#13;";  // a parser would read a bare CR as a line feed
    } else {
      *out += character;
    }
  });
}

void AppendCdata(std::string_view text, bool strict, std::string* out) {
  *out += "<![CDATA[";
  if (!strict) {
    *out += text;
  } else {
    // Checks the output: removed characters may bring brackets together.
    const std::size_t start = out->size();
    ForEachCharacter(text, [&](std::string_view character) {
      if (character == ">" && out->size() >= start + 2 && out->ends_with("]]")) *out += "]]><![CDATA[";
      *out += character;
    });
  }
  *out += "]]>";
}

void AppendAttribute(std::string_view text, bool strict, std::string* out) {
  if (!strict) {
    *out += text;
    return;
  }
  std::string escaped;
  AppendRaw(text, true, &escaped);
  for (const char c : escaped) {
    switch (c) {
      case '"': *out += "&quot;"; break;
      case '\t': *out += "&#9;"; break;
      case '\n': *out += "&#10;"; break;
      default: *out += c;
    }
  }
}

}  // namespace cobblestone::exports
