// The name of a project in snapshots, which must be the same at all hubs (docs/design/snapshot.md, "Keys").
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cobblestone::hub {

// From the master URL, or from the name if there is no URL: without scheme and "www.", in lower case, each run of other
// characters than a-z and 0-9 as one '-'. If longer than 40: its first 31 characters, '-' and 8 digits of a hash of it all.
std::string ProjectKeyOf(std::string_view url, std::string_view name);

// The key, or the key with the first free of -2, -3, ... if a project before has it.
std::string UniqueKey(const std::string& key, const std::vector<std::string>& taken);

}  // namespace cobblestone::hub
