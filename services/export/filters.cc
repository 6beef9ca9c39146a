#include "services/export/filters.h"

#include "services/export/collation.h"

namespace cobblestone::exports {

bool IsHidden(const User& user) { return !user.authenticator || BeginsWithDeleted(*user.authenticator); }

bool IsHidden(const Host& host) { return !host.domain_name || EqualsDeleted(*host.domain_name); }

bool IsShown(const User& user) { return user.total_credit > 0 && !IsHidden(user); }

bool IsShown(const Team& team) { return team.total_credit > 0; }

bool IsShown(const Host& host) { return host.total_credit > 0 && host.userid != 0 && !IsHidden(host); }

}  // namespace cobblestone::exports
