#include "services/hub/snapshot/canonical_text.h"

#include <array>
#include <charconv>

namespace cobblestone::hub {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

struct Escape {
  char character;
  char letter;
};
constexpr std::array<Escape, 7> kEscapes = {
    {{'"', '"'}, {'\\', '\\'}, {'\b', 'b'}, {'\t', 't'}, {'\n', 'n'}, {'\f', 'f'}, {'\r', 'r'}}};

// The length of the character that begins the text; 0 if it is malformed.
std::size_t LengthOfCharacter(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : (first >= 0xE0 ? 3 : 2);
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool beyond = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  return overlong || beyond ? 0 : length;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = LengthOfCharacter(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

void AppendQuoted(std::string_view text, std::string* out) {
  *out += '"';
  for (const char c : text) {
    const Escape* escape = nullptr;
    for (const Escape& e : kEscapes) {
      if (e.character == c) escape = &e;
    }
    if (escape != nullptr) {
      *out += {'\\', escape->letter};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      *out += "\\u00";
      *out += kDigits[static_cast<unsigned char>(c) >> 4];
      *out += kDigits[static_cast<unsigned char>(c) & 15];
    } else {
      *out += c;
    }
  }
  *out += '"';
}

void CanonicalReader::Expect(std::string_view bytes) {
  if (!rest_.starts_with(bytes)) {
    ok_ = false;
    return;
  }
  rest_.remove_prefix(bytes.size());
}

std::uint64_t CanonicalReader::Number() {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
  const auto length = static_cast<std::size_t>(end - rest_.data());
  if (error != std::errc() || (rest_.front() == '0' && length > 1)) {
    ok_ = false;
    return 0;
  }
  rest_.remove_prefix(length);
  return number;
}

// Reads escapes leniently. Whoever needs the canonical form renders the value again and compares (ParseRecord).
std::string CanonicalReader::Quoted() {
  std::string text;
  Expect("\"");
  while (ok_) {
    if (rest_.empty()) break;
    const char c = rest_.front();
    rest_.remove_prefix(1);
    if (c == '"') return text;
    if (c != '\\') {
      text += c;
      continue;
    }
    if (rest_.empty()) break;
    const char letter = rest_.front();
    rest_.remove_prefix(1);
    if (letter == 'u') {
      const std::string byte =
          rest_.size() < 4 || !rest_.starts_with("00") ? "" : FromHex(rest_.substr(2, 2));
      if (byte.empty()) break;
      text += byte;
      rest_.remove_prefix(4);
      continue;
    }
    const Escape* escape = nullptr;
    for (const Escape& e : kEscapes) {
      if (e.letter == letter) escape = &e;
    }
    if (escape == nullptr) break;
    text += escape->character;
  }
  ok_ = false;
  return "";
}

std::string ToHex(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) {
    hex += kDigits[static_cast<unsigned char>(c) >> 4];
    hex += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return hex;
}

std::string FromHex(std::string_view hex) {
  if (hex.size() % 2 != 0) return "";
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const std::size_t high = kDigits.find(hex[i]);
    const std::size_t low = kDigits.find(hex[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return "";
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

}  // namespace cobblestone::hub
