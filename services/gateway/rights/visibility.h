// What a viewer may see of other people. No other code decides this.
//
// - Accounts, their grants, hosts and results are public (`accounts_visible: public`), or visible to their own user
//   and to the project only (tokens with the right to read).
// - If a user hides their hosts (BOINC: show_hosts), only the user and the project learn which hosts they own. Hosts
//   and results stay visible without their owner. The list of the user's grants is hidden, because a result that
//   appears in both places would reveal the owner.
// - A user without consent to statistics keeps their place and figures in lists, but is named nowhere: neither beside
//   a host or a result nor in searches.
// - If a user's preferences cannot be read, nothing is shown.
// - An account manager's estimates for a user or host are visible to that user and the project only (S003). Their sum
//   over a project is visible to viewers who may see all accounts.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/gateway/rights/tokens.h"

namespace cobblestone::gateway {

class Visibility {
 public:
  struct Shown {
    bool hosts = false;  // which hosts are theirs
    bool name = false;
  };
  using ShownOf = std::function<Shown(ProjectId project, UserId user)>;

  Visibility(settings::AccountsVisible accounts, bool leaders, ShownOf shown);

  // True if the viewer is this user or has the right to read all accounts, whatever the user shows to others.
  [[nodiscard]] static bool Owns(const Rights& viewer, ProjectId project, UserId user);
  // Accounts of people and their grants.
  [[nodiscard]] bool MaySee(const Rights& viewer, ProjectId project, UserId user) const;
  // Data of many people: teams, refused records, searches, samples of grants.
  [[nodiscard]] bool MaySeeAll(const Rights& viewer) const;
  [[nodiscard]] bool MayList(const Rights& viewer) const { return leaders_ && MaySeeAll(viewer); }
  // True if leader lists exist for viewers who may see them. If false, nothing is returned in order of credit.
  [[nodiscard]] bool leaders() const { return leaders_; }
  // Whether the viewer may learn the user's name.
  [[nodiscard]] bool MayName(const Rights& viewer, ProjectId project, UserId user) const;
  // Whether the viewer may learn that this user's hosts are theirs.
  [[nodiscard]] bool MayLink(const Rights& viewer, ProjectId project, UserId user) const;

  // The functions below remove fields from a row. Invariant: each uses a list of the fields that may stay
  // (visibility.cc), at every depth of the row. A new field of a row stays hidden until it is on the list.

  // A row with a host or a result and its user: removes the user and all text about people if the viewer may not see
  // the user or may not know that the host is theirs. False if fields were removed.
  bool Unlink(const Rights& viewer, ProjectId project, nlohmann::json& row) const;
  // A user's account or a row of a list (`id`): if the user may not be named, keeps only credit and rank and sets
  // `hidden`. False if fields were removed.
  bool Name(const Rights& viewer, ProjectId project, nlohmann::json& row) const;
  // A scheduler's reply to a host of `owner`: keeps only the fields of the host if the viewer may not know the owner.
  void Reply(const Rights& viewer, ProjectId project, UserId owner, nlohmann::json& fields) const;
  // A claim on the same workunit by another host: whether it counted and its amount explain the grant and stay. Its
  // host and result are removed if the viewer may not see all accounts. (The claim does not store the owner of the
  // host at that time, and the current owner may be another user.)
  void OtherClaim(const Rights& viewer, nlohmann::json& claim) const;
  // A refused record, for viewers without `read_all`: keeps number, reason, project, time, kind of event, app and app
  // version, and sets `redacted`. Removes the detail, which may quote the input.
  static void Redact(const Rights& viewer, nlohmann::json& refused);

 private:
  const bool public_;
  const bool leaders_;
  const ShownOf shown_;
};

}  // namespace cobblestone::gateway
