// What upstream writes as it is stored, or repaired so that every XML parser reads it: with `strict`, markup is escaped,
// characters that XML 1.0 cannot have are left out, and a character that a cut left half is left out as well. Without, the
// bytes go out as they are (tests/golden/export/README.md, 'Not escaped').
#pragma once

#include <string>
#include <string_view>

namespace cobblestone::statistics {

void AppendRaw(std::string_view text, bool strict, std::string* out);
// Inside <![CDATA[ ]]>, which is written as well.
void AppendCdata(std::string_view text, bool strict, std::string* out);
// Inside the quotes of an attribute.
void AppendAttribute(std::string_view text, bool strict, std::string* out);

}  // namespace cobblestone::statistics
