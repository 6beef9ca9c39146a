#include "services/gateway/visibility.h"

#include <utility>

namespace cobblestone::gateway {

Visibility::Visibility(settings::AccountsVisible accounts, bool leaders, ShownOf shown)
    : public_(accounts == settings::AccountsVisible::kPublic), leaders_(leaders), shown_(std::move(shown)) {}

bool Visibility::Owns(const Rights& viewer, ProjectId project, UserId user) {
  return viewer.read_all || (viewer.own && viewer.own->project == project && viewer.own->user == user);
}

bool Visibility::MaySee(const Rights& viewer, ProjectId project, UserId user) const {
  return Owns(viewer, project, user) || (public_ && viewer.read);
}

bool Visibility::MaySeeAll(const Rights& viewer) const { return viewer.read_all || (public_ && viewer.read); }

bool Visibility::MayName(const Rights& viewer, ProjectId project, UserId user) const {
  return Owns(viewer, project, user) || !user || shown_(project, user).name;
}

bool Visibility::MayLink(const Rights& viewer, ProjectId project, UserId user) const {
  if (Owns(viewer, project, user) || !user) return true;
  const Shown shown = shown_(project, user);
  return shown.hosts && shown.name;
}

bool Visibility::Unlink(const Rights& viewer, ProjectId project, nlohmann::json& row) const {
  const auto user = row.find("user");
  if (user == row.end() || !user->is_number_unsigned()) return true;
  if (MayLink(viewer, project, UserId(user->get<std::uint64_t>()))) return true;
  for (const char* field : {"user", "user_name", "team", "team_name"}) row.erase(field);
  return false;
}

bool Visibility::Name(const Rights& viewer, ProjectId project, nlohmann::json& row) const {
  if (MayName(viewer, project, UserId(row.value("id", std::uint64_t{0})))) return true;
  for (const char* field : {"id", "name", "team", "team_name", "create_time"}) row.erase(field);
  row["hidden"] = true;
  return false;
}

void Visibility::Redact(const Rights& viewer, nlohmann::json& refused) {
  if (viewer.read_all) return;
  if (refused.erase("original") > 0) refused["redacted"] = true;
  const auto event = refused.find("event");
  if (event == refused.end() || !event->is_object()) return;
  for (const char* about : {"host", "host_merge", "host_asked", "held_result", "handed_event",
                            "decided_result", "user", "team", "opening_total", "account_facts",
                            "machine_host", "estimated_credit", "job_reversal", "job_repricing"})
    if (event->erase(about) > 0) refused["redacted"] = true;
}

}  // namespace cobblestone::gateway
