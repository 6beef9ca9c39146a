// Texts of statistics files: names, URLs, models.
//
// BOINC's exporter writes each byte above 127 as the decimal reference of that byte, so the two bytes of a UTF-8
// character are two references; other exporters, and the element <country>, have raw bytes. The declaration at the
// beginning of a file says nothing about them: it was iso-8859-1 until July 2024 and is utf-8 since, over whatever the
// database holds. The hub therefore keeps bytes (TextBytes), and decides for a file as a whole which charset the
// bytes have (CharsetEvidence). Pure functions, for any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cobblestone::hub {

enum class Charset : std::uint8_t { kUtf8, kLatin1 };

// The bytes that the project stored: &lt; &gt; &amp; &quot; &apos; and references up to 255 become one byte each,
// larger references the UTF-8 of their character. Anything else, also a lone `&`, stays as it is.
std::string TextBytes(std::string_view escaped);

// Counts the texts of a file that are not ASCII. Sums of several files, or of the changed records of each day's file,
// decide better than one file.
struct CharsetEvidence {
  std::uint64_t utf8 = 0;  // valid UTF-8
  // Valid but for a character that the end of the text cuts: the exporter cuts texts at 255 bytes.
  std::uint64_t cut = 0;
  std::uint64_t other = 0;

  void Note(std::string_view bytes);
  // The same for a text as a file has it.
  void NoteEscaped(std::string_view escaped);
  CharsetEvidence& operator+=(const CharsetEvidence& more);
  // kLatin1 if more texts are no UTF-8 than are UTF-8: a text of Latin-1 is by accident valid UTF-8 in one case of
  // hundreds, and a project with UTF-8 has only few texts that are damaged.
  [[nodiscard]] Charset Decide() const { return other > utf8 + cut ? Charset::kLatin1 : Charset::kUtf8; }
};

// UTF-8 for a page or an answer. kUtf8: a cut character at the end is left out, and each other byte that is no UTF-8
// becomes U+FFFD. kLatin1: each byte is the character of its number. Control characters become blanks.
std::string ToUtf8(std::string_view bytes, Charset charset);

// Cuts a longer UTF-8 text at the end of a character, to at most that many bytes.
void CutUtf8(std::size_t most, std::string* text);

}  // namespace cobblestone::hub
