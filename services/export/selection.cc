#include "services/export/selection.h"

#include "services/export/filters.h"

namespace cobblestone::exports {

std::uint32_t CopiesOf(Source& source, std::int64_t user) {
  return source.catalogue().consent_wanted ? source.ConsentCopies(user) : 1;
}

Status PublishedUsers(Source& source, const Take<User>& take) {
  return source.Users([&](const User& user) {
    return IsShown(user) && CopiesOf(source, user.id) > 0 ? take(user) : Status::Ok();
  });
}

Status PublishedTeams(Source& source, const Take<Team>& take) {
  return source.Teams([&](const Team& team) { return IsShown(team) ? take(team) : Status::Ok(); });
}

Status PublishedHosts(Source& source, const Take<Host>& take) {
  return source.Hosts([&](const Host& host) {
    return IsShown(host) && CopiesOf(source, host.userid) > 0 ? take(host) : Status::Ok();
  });
}

}  // namespace cobblestone::exports
