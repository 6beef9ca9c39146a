// Lists of a federation hub: ranks within a project and over all, people, teams by name, countries, hosts by host id.
// Figures and ranks are those of the index (hub_index.h); names are read from the rows when a page is answered.
//
// A list is {"as_of", "count", "data"}: UNIX s at which the index was built, entries of the whole list, and one page of it.
// "total" is text with six decimals, "rac" a number decayed to the moment of the answer. kRetry: the first index is being
// built. Threads: any, several at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/federation/identity/facts.h"
#include "common/wire/events/account_kind.h"
#include "services/view/hub/hub_index.h"
#include "services/view/state.h"

namespace cobblestone::view {

class HubLists {
 public:
  struct Page {
    std::size_t offset = 0;
    std::size_t limit = 50;
  };
  // At most one of the three may be set.
  struct PeopleWanted {
    std::string country;  // as exported
    std::string team;     // a team's name, in any case
    std::string name;     // the beginning of a name, in any case
  };

  // `state` must outlive it. `clock`: UNIX s to which shown averages are decayed.
  HubLists(State& state, std::function<double()> clock) : state_(state), clock_(std::move(clock)) {}

  [[nodiscard]] State& state() const { return state_; }
  [[nodiscard]] double now() const { return clock_(); }
  // Null: the first index is being built.
  [[nodiscard]] std::shared_ptr<const HubIndex> index() const;
  // Answers are of this index from now on; null: there is none. `took`: what its build took, s.
  void Publish(std::shared_ptr<const HubIndex> index, double took);
  // index(); kRetry while there is none.
  [[nodiscard]] Result<std::shared_ptr<const HubIndex>> Ready() const;
  // For metrics.
  struct Look {
    double as_of = 0;  // UNIX s; 0: no index yet
    double took = 0;   // s
    std::uint64_t people = 0;
    std::uint64_t users = 0;
    std::uint64_t hosts = 0;
  };
  [[nodiscard]] Look look() const;

  // [{"rank", "id", "name", "country", "total", "rac", ...}]. kNotFound: the project is not registered.
  Result<nlohmann::json> Top(ProjectId project, wire::AccountKind kind, HubRank by, const Page& page) const;
  // [{"rank", "identity", "name", "country", "total", "rac", "projects"}]. The rank is that among all people. Names are in
  // order of rank, too.
  Result<nlohmann::json> People(const PeopleWanted& wanted, HubRank by, const Page& page) const;
  // [{"rank", "name", "key", "total", "rac", "projects", "members"}]
  Result<nlohmann::json> Teams(HubRank by, const Page& page) const;
  // One team over projects: {"name", "key", "total", "rac", "rank_total", "rank_rac", "of", "teams": [...]}; a page of its
  // teams by total, and their number in "count". kNotFound: no team has a name with this key.
  Result<nlohmann::json> Team(const TeamNameKey& key, const Page& page) const;
  // [{"rank", "country", "people", "total", "rac"}]
  Result<nlohmann::json> Countries(HubRank by, const Page& page) const;
  // Hosts with this id at all projects: [{"project", "project_name", "id", "total", "rac", ...}], by project and id.
  Result<nlohmann::json> Hosts(const federation::Cpid& cpid, const Page& page) const;

  // ProjectDays() (project_days.h).
  Result<nlohmann::json> Days(ProjectId project) const;

  // The functions below add what the index knows, and nothing before the first index.
  // "users", "hosts", "teams", "countries", "total", "cobblestones" (the total), "rac".
  void AddProject(ProjectId project, nlohmann::json* shown) const;
  // "shared_hosts": [{"project", "project_name", "hosts", "ratio", "least", "greatest"}], by project (SharedHosts).
  Status AddSharedHosts(ProjectId project, nlohmann::json* shown) const;
  // "rank_total", "rank_rac", "of": among the accounts of the project; for users "hosts", "used_hosts".
  void AddRanks(ProjectId project, wire::AccountKind kind, std::uint64_t id, nlohmann::json* shown) const;
  // "team_rank_total", "team_rank_rac", "team_members".
  void AddTeamRanks(ProjectId project, std::uint64_t team, nlohmann::json* shown) const;
  // "rank_total", "rank_rac", "of" among all people, for the person with this account.
  void AddPersonRanks(ProjectId project, std::uint64_t user, nlohmann::json* shown) const;

 private:
  class Names;
  // From the index's instant to now.
  [[nodiscard]] double Decay(const HubIndex& index) const;
  Result<nlohmann::json> PersonJson(const HubIndex& index, Place person, HubRank by, Names& names) const;
  Result<nlohmann::json> GroupJson(const HubIndex& index, Place group, Names& names) const;

  State& state_;
  const std::function<double()> clock_;
  mutable std::mutex mutex_;
  std::shared_ptr<const HubIndex> index_;  // guarded by mutex_, as is took_
  double took_ = 0;
};

}  // namespace cobblestone::view
