// Names as a search compares them: whatever their letters' case, in any alphabet.
#pragma once

#include <string>
#include <string_view>

namespace cobblestone::view {

// Each code point as the lower-case letter of its upper-case one, by the locale C.UTF-8 where the system has it, else the letters
// of ASCII alone. Bytes that are no UTF-8 stay as they are. Accents count: é is not e.
std::string Folded(std::string_view text);

}  // namespace cobblestone::view
