#include "services/export/filters.h"

#include "services/export/collation.h"

namespace cobblestone::statistics {

bool IsShown(const User& user) {
  return user.total_credit > 0 && user.authenticator.has_value() && !BeginsWithDeleted(*user.authenticator);
}

bool IsShown(const Team& team) { return team.total_credit > 0; }

bool IsShown(const Host& host) {
  return host.total_credit > 0 && host.userid != 0 && host.domain_name.has_value() &&
         !EqualsDeleted(*host.domain_name);
}

}  // namespace cobblestone::statistics
