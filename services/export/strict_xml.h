// Writes text as upstream does, byte for byte, or repaired so that every XML parser accepts it. With `strict`,
// markup is escaped, and characters that XML 1.0 cannot represent, or that were cut in half, are removed.
// Without `strict` the bytes are unchanged (tests/golden/export/README.md, 'Not escaped').
#pragma once

#include <string>
#include <string_view>

namespace cobblestone::exports {

void AppendRaw(std::string_view text, bool strict, std::string* out);
// Writes <![CDATA[ ]]> around the text.
void AppendCdata(std::string_view text, bool strict, std::string* out);
// For the value of an attribute, inside the quotes.
void AppendAttribute(std::string_view text, bool strict, std::string* out);

}  // namespace cobblestone::exports
