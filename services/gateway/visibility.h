// What a viewer may see of other people: the one place where it is decided.
//
// Accounts, their grants, hosts and results are everybody's (`accounts_visible: public`), or their own user's and the
// project's (tokens that read). Of a user who does not show their hosts (BOINC: show_hosts) nobody but them and the project
// learns which hosts they have: hosts and results stay visible, without their owner, and the list of the user's own grants
// does not, for a result that stands in both would tell. Who has not consented to statistics has a place in lists and numbers of
// their own, and a name nowhere: neither beside a host or a result, nor where one searches. Where it cannot be read what a user
// shows, nothing is shown. What account managers report of a user or host is for that user and the project alone (S003). Their
// sum over a project is for those who may see all accounts.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/gateway/tokens.h"

namespace cobblestone::gateway {

class Visibility {
 public:
  struct Shown {
    bool hosts = false;  // which are theirs
    bool name = false;
  };
  using ShownOf = std::function<Shown(ProjectId project, UserId user)>;

  Visibility(settings::AccountsVisible accounts, bool leaders, ShownOf shown);

  // The viewer sees what is this user's, whatever they show to others.
  [[nodiscard]] static bool Owns(const Rights& viewer, ProjectId project, UserId user);
  // Accounts of people, and what was granted to them.
  [[nodiscard]] bool MaySee(const Rights& viewer, ProjectId project, UserId user) const;
  // Things of many people at once: teams, refused records, searches, samples of grants.
  [[nodiscard]] bool MaySeeAll(const Rights& viewer) const;
  [[nodiscard]] bool MayList(const Rights& viewer) const { return leaders_ && MaySeeAll(viewer); }
  // There are lists of the first, for those who may see them: else nothing is told in order of credit.
  [[nodiscard]] bool leaders() const { return leaders_; }
  // Whether the viewer may know who the user is.
  [[nodiscard]] bool MayName(const Rights& viewer, ProjectId project, UserId user) const;
  // Whether the viewer may know that this user's hosts are theirs.
  [[nodiscard]] bool MayLink(const Rights& viewer, ProjectId project, UserId user) const;

  // What follows takes fields out of a row. Invariant: each goes by a list of the fields that may stay (visibility.cc), at every
  // depth of the row; so a field that is new in a row is hidden until it is put on the list.

  // A row that names a host or a result, and its user: takes out the user, and every text of people, where the viewer may not
  // see the user or may not know that the host is theirs. False where it did.
  bool Unlink(const Rights& viewer, ProjectId project, nlohmann::json& row) const;
  // A user's account or a row of a list (`id`): leaves credit and place of who may not be named, and says `hidden`. False
  // where it did.
  bool Name(const Rights& viewer, ProjectId project, nlohmann::json& row) const;
  // A scheduler's reply to a host of this owner: the host's fields alone where the viewer may not know the owner.
  void Reply(const Rights& viewer, ProjectId project, UserId owner, nlohmann::json& fields) const;
  // A claim of the same workunit by another host: how it counted and what it claimed explain the grant, and stay; its host and
  // result do not where the viewer may not see all accounts. (The claim does not say whose the host was at the time, and who
  // has it now may be another.)
  void OtherClaim(const Rights& viewer, nlohmann::json& claim) const;
  // A refused record, for viewers without `read_all`: number, reason, project, time, the event's kind, its app and app version,
  // and `redacted`. No detail: it may quote what came.
  static void Redact(const Rights& viewer, nlohmann::json& refused);

 private:
  const bool public_;
  const bool leaders_;
  const ShownOf shown_;
};

}  // namespace cobblestone::gateway
