// Case folding of names for searches, in any alphabet.
#pragma once

#include <string>
#include <string_view>

namespace cobblestone::view {

// Maps each code point to the lower-case letter of its upper-case letter, by the locale C.UTF-8 if the system
// has it, else for ASCII only. Invalid UTF-8 stays unchanged. Accents are significant: é is not e.
std::string Folded(std::string_view text);

}  // namespace cobblestone::view
