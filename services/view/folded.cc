#include "services/view/folded.h"

#include <clocale>
#include <cstddef>
#include <cwctype>

namespace cobblestone::view {
namespace {

// Never freed.
locale_t Utf8Locale() {
  static const locale_t locale = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return locale;
}

char FoldedByte(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

struct CodePoint {
  char32_t code = 0;
  std::size_t length = 0;  // bytes; 0: no code point begins here
};

CodePoint FirstOf(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (length == 0 || text.size() < length) return {};
  char32_t code = first & (0x7F >> length);
  for (const char c : text.substr(1, length - 1)) {
    if ((c & 0xC0) != 0x80) return {};
    code = code << 6 | (c & 0x3F);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  if (overlong || surrogate || code > 0x10FFFF) return {};
  return {.code = code, .length = length};
}

void Append(char32_t code, std::string& out) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // bytes after the first
  out.push_back(static_cast<char>((0xFF00 >> (more + 1) & 0xFF) | code >> 6 * more));
  for (int i = more - 1; i >= 0; --i) out.push_back(static_cast<char>(0x80 | (code >> 6 * i & 0x3F)));
}

}  // namespace

std::string Folded(std::string_view text) {
  const locale_t locale = Utf8Locale();
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint next = locale == nullptr || (text.front() & 0x80) == 0 ? CodePoint{} : FirstOf(text);
    if (next.length == 0) {
      out.push_back(FoldedByte(text.front()));
      text.remove_prefix(1);
      continue;
    }
    // Through the upper case, because both small sigmas have the same upper case.
    Append(static_cast<char32_t>(::towlower_l(::towupper_l(static_cast<wint_t>(next.code), locale), locale)),
           out);
    text.remove_prefix(next.length);
  }
  return out;
}

}  // namespace cobblestone::view
