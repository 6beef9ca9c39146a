// Which rows go out. Rules: tests/golden/export/README.md, 'Filters and counts'. Consent is asked of the source.
#pragma once

#include "services/export/rows.h"

namespace cobblestone::statistics {

// Deleted, whatever the credit: an authenticator that begins with `deleted`, a domain name that is `deleted`; NULL counts.
bool IsHidden(const User& user);
bool IsHidden(const Host& host);

// With credit, and not hidden.
bool IsShown(const User& user);
bool IsShown(const Team& team);
// With credit, an owner's number (whoever that is), and not hidden.
bool IsShown(const Host& host);

}  // namespace cobblestone::statistics
