// JSON text with exactly one form (RFC 8785 for what snapshots contain: objects with known keys, integers, strings).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cobblestone::hub {

// True for well-formed UTF-8 (no surrogates, no overlong forms).
bool IsUtf8(std::string_view text);

// Appends the string in quotes. Escapes: \" \\ \b \t \n \f \r, other control characters as \u00xx.
void AppendQuoted(std::string_view text, std::string* out);

// Reads one canonical value after another. After an error ok() is false and values are meaningless.
class CanonicalReader {
 public:
  explicit CanonicalReader(std::string_view text) : rest_(text) {}

  // The bytes that must come next.
  void Expect(std::string_view bytes);
  // Decimal digits without a leading zero.
  std::uint64_t Number();
  std::string Quoted();
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool done() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

// Lower-case hexadecimal digits.
std::string ToHex(std::string_view bytes);
// Empty if the text is not an even number of lower-case hexadecimal digits.
std::string FromHex(std::string_view hex);

}  // namespace cobblestone::hub
