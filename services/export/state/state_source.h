// The rows of statistics files from the state of a pipeline: current accounts, and the profiles that projects
// sent (stored by the stages). All rows of a partition are of one commit, from Open() to the end.
//
// A total is exact: the account's opening balance plus all grants since; so are totals by app. Averages are the
// pipeline's, from the first grant on; the pipeline has no averages by app, so those keep the values that the
// project sent. Memory: 16 bytes for each user, host and member of a team. Owner: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/credit/accounts/account.h"
#include "common/wire/events/profiles.h"
#include "services/accounts/accounts_stage.h"
#include "services/export/source.h"
#include "services/ledger/state_snapshot.h"
#include "services/view/state.h"

namespace cobblestone::exports {

struct StateSourceOptions {
  ProjectId project{1};
  std::optional<bool> statsexport_enabled;  // overrides the project's profile
};

// The figures of an account as files show them: its opening balance plus grants since.
wire::OpeningFigures FiguresOf(const credit::Account& account,
                               const std::optional<wire::OpeningFigures>& opening);

class StateSource final : public Source {
 public:
  // Scans the accounts once. kRetry: no state is available yet. `state` must outlive the source.
  static Result<std::unique_ptr<StateSource>> Open(view::State& state, const StateSourceOptions& options);
  static Result<std::unique_ptr<StateSource>> Open(ledger::StateSnapshot snapshot,
                                                   const StateSourceOptions& options);

  [[nodiscard]] const ledger::StateSnapshot& snapshot() const { return snapshot_; }
  // Projects with a catalogue, including this one if it has one.
  [[nodiscard]] const std::set<std::uint32_t>& projects() const { return projects_; }
  // UNIX s of the project's last tick; 0: none yet.
  [[nodiscard]] double event_time() const { return event_time_; }
  [[nodiscard]] std::string Describe() const override { return description_; }
  [[nodiscard]] const Catalogue& catalogue() const override { return catalogue_; }
  [[nodiscard]] RowCounts RowsExpected() const override {
    return {.users = users_.size(), .teams = teams_.size(), .hosts = hosts_.size()};
  }
  Status Users(const Take<User>& take) override;
  Status Teams(const Take<Team>& take) override;
  Status Hosts(const Take<Host>& take) override;
  Status UsersDeleted(const Take<Deleted>& take) override;
  Status HostsDeleted(const Take<Deleted>& take) override;
  Status UserBadges(const Take<BadgeHeld>& take) override;
  Status TeamBadges(const Take<BadgeHeld>& take) override;
  Result<bool> FindUser(std::int64_t id, User* user) override;
  Result<bool> FindTeam(std::int64_t id, Team* team) override;
  Result<bool> FindHost(std::int64_t id, Host* host) override;
  Owner OwnerOf(std::int64_t user) override;
  Status Members(std::int64_t team, const Take<User>& take) override;
  Status CreditOfUser(std::int64_t user, std::vector<AppCredit>* credit) override;
  Status CreditOfTeam(std::int64_t team, std::vector<AppCredit>* credit) override;
  std::uint32_t ConsentCopies(std::int64_t user) override;

 private:
  using RowsOf = ledger::StateSnapshot::RowsOf;
  struct UserEntry {
    std::int64_t id = 0;
    bool shows_hosts = false;
  };
  struct HostEntry {
    std::int64_t id = 0;
    std::int64_t user = 0;
  };

  StateSource(ledger::StateSnapshot snapshot, const StateSourceOptions& options)
      : options_(options), snapshot_(std::move(snapshot)) {}

  Status ReadSnapshot();
  Status TakeCatalogue(const view::Rows& coordinator);
  Status TakeUsers(const view::Rows& rows);
  Status TakeTeams(const view::Rows& rows);
  Status TakeHosts(const view::Rows& rows);
  void Order();

  [[nodiscard]] bool IsOurs(const stream::Key& key) const { return key.project == options_.project.value; }
  [[nodiscard]] stream::Key KeyOf(std::int64_t id) const;
  [[nodiscard]] const view::Rows& RowsFor(const RowsOf& rows, std::int64_t id) const;
  Status ReadUser(std::int64_t id, User* user);
  Status ReadTeam(std::int64_t id, Team* team);
  // False: the host has been merged into another host.
  Result<bool> ReadHost(const HostEntry& entry, Host* host);
  // The host's account: stored with its owner, or elsewhere while it moves to another partition.
  Result<accounts::HostAccount> AccountOf(const HostEntry& entry) const;
  Status CreditOf(const view::Rows& rows, const stream::TableSpec<stage::FactsRow>& table, std::int64_t id,
                  const credit::Account& account, std::vector<AppCredit>* credit);
  Status Badges(const RowsOf& rows, const stream::TableSpec<stage::FactsRow>& table,
                const std::vector<std::int64_t>& holders, const Take<BadgeHeld>& take);
  Status Tombstones(const RowsOf& rows, const stream::TableSpec<stage::FactsRow>& table,
                    const std::vector<std::int64_t>& ids, const Take<Deleted>& take);

  const StateSourceOptions options_;
  const ledger::StateSnapshot snapshot_;
  std::string description_;
  std::set<std::uint32_t> projects_;
  double event_time_ = 0;  // UNIX s of the last tick
  Catalogue catalogue_;
  // All in ascending order of id.
  std::vector<UserEntry> users_;
  std::vector<HostEntry> hosts_;
  std::vector<std::int64_t> teams_;
  std::vector<std::pair<std::int64_t, std::int64_t>> members_;  // team, user
  std::vector<std::int64_t> show_hosts_;                        // users; used only by Open()
  std::vector<ConsentGiven> consent_;
  std::map<std::int64_t, std::vector<Correction>> corrections_;  // by user
  std::vector<std::int64_t> users_deleted_;
  std::vector<std::int64_t> hosts_deleted_;
  std::vector<std::int64_t> user_badges_;
  std::vector<std::int64_t> team_badges_;
};

}  // namespace cobblestone::exports
