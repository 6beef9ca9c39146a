#include "services/accounts/accounts_stage.h"
#include "services/accounts/profiles.h"
#include "services/view/project_now.h"

namespace cobblestone::view {

// Same rule as for statistics files: consent counts if the project requires consent. A value that no event has
// set is as in a new BOINC account, which shows its hosts.
Result<Questions::Profile> Questions::ProfileOf(ProjectId project, UserId user) {
  const auto now = Now(project);
  if (!now.ok() && now.status().code() != StatusCode::kNotFound) return now.status();
  const auto rows = Of(Stage::kAccounts, project, user.value);
  if (!rows.ok()) return rows.status();
  const auto row = Find(**rows, accounts::kProfileTable, KeyOf(project, user.value));
  if (!row.ok()) return row.status();
  const auto user_row = Find(**rows, accounts::kUsersTable, KeyOf(project, user.value));
  if (!user_row.ok()) return user_row.status();
  if (*user_row && (*user_row)->deleted) return Profile{};
  Profile profile{.shows_hosts = true, .named = true};
  if (*row && (*row)->profile) {
    const wire::UserProfile& stored = *(*row)->profile;
    profile = {.shows_hosts = (stored.show_hosts || (*row)->plain) && !stored.hidden,
               .named = !stored.hidden,
               .create_time = stored.create_time};
  }
  if (now.ok() && (*now)->consent_wanted) {
    const auto facts = Find(**rows, accounts::kFactsTable, KeyOf(project, user.value));
    if (!facts.ok()) return facts.status();
    profile.named = profile.named && *facts && (*facts)->consent.value_or(0) > 0;
  }
  return profile;
}

}  // namespace cobblestone::view
