// Which rows go out. Rules: tests/golden/export/README.md, 'Filters and counts'. Consent is asked of the source.
#pragma once

#include "services/export/rows.h"

namespace cobblestone::statistics {

// With credit, and an authenticator that does not begin with `deleted`; NULL counts as deleted.
bool IsShown(const User& user);
bool IsShown(const Team& team);
// With credit, an owner's number (whoever that is), and a domain name other than `deleted`; NULL counts as deleted.
bool IsShown(const Host& host);

}  // namespace cobblestone::statistics
