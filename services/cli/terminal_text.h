// Makes text from events safe for a terminal: names of members, reasons, details of refused records. The authors of
// such text must not be able to move the cursor, set the title, write to the clipboard or change the direction of a
// line.
#pragma once

#include <string>
#include <string_view>

namespace cobblestone::cli {

// The text on one line. Each control character (below 0x20, 0x7f, C1: U+0080 to U+009F), character that changes the
// direction of text, line or paragraph separator, and invalid UTF-8 byte is written as \xNN for a byte or \u{N}.
std::string TerminalText(std::string_view text);

// The same for text of several lines: line feeds stay.
std::string TerminalLines(std::string_view text);

}  // namespace cobblestone::cli
