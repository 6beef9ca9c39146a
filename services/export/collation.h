// Compares a text with `deleted` as a database with the collation utf8mb4_unicode_ci does: case, accents
// and width of letters do not matter. Source of the facts: MariaDB 10.11, queried for the code points
// that have the weight of these letters, of a space, or none, and for the way in which a comparison steps
// over them. (The collation's version is fixed, UCA 4.0.0; newer collation libraries differ, for instance
// for letters with strokes.)
#pragma once

#include <string_view>

namespace cobblestone::exports {

// text = 'deleted': characters without weight (controls, combining marks) and trailing spaces are ignored.
bool EqualsDeleted(std::string_view text);

// text LIKE 'deleted%': compares character by character, so a character without weight inside the prefix is a
// mismatch.
bool BeginsWithDeleted(std::string_view text);

}  // namespace cobblestone::exports
