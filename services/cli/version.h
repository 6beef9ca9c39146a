// Which program this is, for people and for reports of faults.
#pragma once

#include <string>

namespace cobblestone::cli {

// The commit that the program was built from, with a + if the tree had other changes; "unknown" outside a clone. Only programs have it:
// the library `commit` is made of what deploy/install/commit.cmake writes.
extern const char* const kCommit;

// Four lines: name and version, commit, rules version, state version. The rules version counts changes of rows as well, so the
// state version is the same number (services/pipeline/rules_version.h).
std::string VersionText(const std::string& commit);

}  // namespace cobblestone::cli
