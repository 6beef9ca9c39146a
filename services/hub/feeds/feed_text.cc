#include "services/hub/feeds/feed_text.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace cobblestone::hub {
namespace {

void AppendCharacter(std::uint32_t code, std::string* out) {
  if (code < 0x80) {
    *out += static_cast<char>(code);
  } else if (code < 0x800) {
    *out += static_cast<char>(0xC0 | code >> 6);
    *out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    *out += static_cast<char>(0xE0 | code >> 12);
    *out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    *out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    *out += static_cast<char>(0xF0 | code >> 18);
    *out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
    *out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    *out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

// `body` is the text between & and ; of a reference.
bool AppendReference(std::string_view body, std::string* out) {
  if (body == "lt") return out->push_back('<'), true;
  if (body == "gt") return out->push_back('>'), true;
  if (body == "amp") return out->push_back('&'), true;
  if (body == "quot") return out->push_back('"'), true;
  if (body == "apos") return out->push_back('\''), true;
  if (body.size() < 2 || body[0] != '#') return false;
  const bool hex = body[1] == 'x' || body[1] == 'X';
  const std::string_view digits = body.substr(hex ? 2 : 1);
  std::uint32_t code = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), code, hex ? 16 : 10);
  if (error != std::errc() || end != digits.data() + digits.size() || code == 0 || code > 0x10FFFF ||
      (code >= 0xD800 && code < 0xE000))
    return false;
  // BOINC's references are decimal and count bytes; a hexadecimal one is XML's own and counts characters.
  if (code < 256 && !hex) {
    *out += static_cast<char>(code);
  } else {
    AppendCharacter(code, out);
  }
  return true;
}

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Bytes of the UTF-8 character at the beginning; 0: none begins there; -1: the end of the text cuts it.
int CharacterLength(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const int length = first >= 0xC2 && first <= 0xDF   ? 2
                     : first >= 0xE0 && first <= 0xEF ? 3
                     : first >= 0xF0 && first <= 0xF4 ? 4
                                                      : 0;
  if (length == 0) return 0;
  for (int i = 1; i < length; ++i) {
    if (static_cast<std::size_t>(i) == text.size()) return -1;
    if (!IsContinuation(text[static_cast<std::size_t>(i)])) return 0;
    const auto second = static_cast<unsigned char>(text[1]);
    // Overlong forms, surrogates, beyond U+10FFFF.
    if (i == 1 && ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                   (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)))
      return 0;
  }
  return length;
}

bool IsAscii(std::string_view bytes) {
  unsigned all = 0;
  for (const char c : bytes) all |= static_cast<unsigned char>(c);
  return all < 0x80;
}

}  // namespace

std::string TextBytes(std::string_view escaped) {
  constexpr std::size_t kLongestReference = 10;
  std::string bytes;
  bytes.reserve(escaped.size());
  while (!escaped.empty()) {
    const std::size_t plain = std::min(escaped.find('&'), escaped.size());
    bytes.append(escaped.substr(0, plain));
    escaped.remove_prefix(plain);
    if (escaped.empty()) break;
    const std::size_t end = escaped.substr(0, kLongestReference).find(';');
    if (end != std::string_view::npos && AppendReference(escaped.substr(1, end - 1), &bytes)) {
      escaped.remove_prefix(end + 1);
    } else {
      bytes += '&';
      escaped.remove_prefix(1);
    }
  }
  return bytes;
}

void CharsetEvidence::Note(std::string_view bytes) {
  if (IsAscii(bytes)) return;
  while (!bytes.empty()) {
    const int length = CharacterLength(bytes);
    if (length <= 0) {
      ++(length < 0 ? cut : other);
      return;
    }
    bytes.remove_prefix(static_cast<std::size_t>(length));
  }
  ++utf8;
}

void CharsetEvidence::NoteEscaped(std::string_view escaped) {
  if (escaped.find("&#") == std::string_view::npos) return Note(escaped);
  Note(TextBytes(escaped));
}

CharsetEvidence& CharsetEvidence::operator+=(const CharsetEvidence& more) {
  utf8 += more.utf8;
  cut += more.cut;
  other += more.other;
  return *this;
}

std::string ToUtf8(std::string_view bytes, Charset charset) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const auto first = static_cast<unsigned char>(bytes[0]);
    int length = 1;
    if (first < 32 || first == 127) {
      text += ' ';
    } else if (charset == Charset::kLatin1) {
      AppendCharacter(first >= 0x80 && first < 0xA0 ? ' ' : first, &text);
    } else {
      length = CharacterLength(bytes);
      if (length < 0) break;
      if (length == 0) {
        AppendCharacter(0xFFFD, &text);
        length = 1;
      } else {
        text.append(bytes.substr(0, static_cast<std::size_t>(length)));
      }
    }
    bytes.remove_prefix(static_cast<std::size_t>(length));
  }
  return text;
}

void CutUtf8(std::size_t most, std::string* text) {
  if (text->size() <= most) return;
  while (most > 0 && IsContinuation((*text)[most])) --most;
  text->resize(most);
}

}  // namespace cobblestone::hub
