// Whether a text is `deleted`, as a database with the collation utf8mb4_unicode_ci compares: case, accents and width of
// letters do not matter. Facts: which of all code points have the weight of these letters, of a space, or none, and how
// comparing walks over them, was asked of MariaDB 10.11 (the collation's version is fixed, UCA 4.0.0; newer libraries
// of collation give other answers, for instance for letters with strokes).
#pragma once

#include <string_view>

namespace cobblestone::statistics {

// text = 'deleted': characters without weight (controls, combining marks) are passed over, spaces at the end as well.
bool EqualsDeleted(std::string_view text);

// text LIKE 'deleted%': character by character, so that one without weight inside makes a difference.
bool BeginsWithDeleted(std::string_view text);

}  // namespace cobblestone::statistics
