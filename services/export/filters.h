// Filters of exported rows. Rules: tests/golden/export/README.md, 'Filters and counts'.
// Consent is handled by the source.
#pragma once

#include "services/export/rows.h"

namespace cobblestone::exports {

// Deleted, whatever the credit: an authenticator that begins with `deleted`, or a domain name equal to
// `deleted`; NULL counts as deleted.
bool IsHidden(const User& user);
bool IsHidden(const Host& host);

// Has credit and is not hidden.
bool IsShown(const User& user);
bool IsShown(const Team& team);
// Has credit and an owner id (of any user), and is not hidden.
bool IsShown(const Host& host);

}  // namespace cobblestone::exports
