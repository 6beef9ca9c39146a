// Texts of events on a terminal: names of members, reasons, details of refusals. Whoever wrote them may not move the cursor, set
// the title, write to the clipboard or turn the direction of the line.
#pragma once

#include <string>
#include <string_view>

namespace cobblestone {

// The text with each control character (below 0x20, 0x7f, C1: U+0080 to U+009F), each character that changes the direction of
// text, line and paragraph separators, and each byte that is no UTF-8, written as \xNN for a byte or \u{N}. One line.
std::string TerminalText(std::string_view text);

// The same for a text of several lines: line feeds stay.
std::string TerminalLines(std::string_view text);

}  // namespace cobblestone
