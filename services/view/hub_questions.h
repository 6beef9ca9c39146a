// Queries of a federation hub, answered from the committed state of FEEDS, MEMBERS and IDENTITY. Answers as in questions.h.
// Accounts, people and figures of projects are those of the index (hub/hub_index.h), so that all answers are of one moment;
// kRetry until the first index is built. Editions and factors are as of the newest state.
// Threads: any, several at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/credit/accounts/account.h"
#include "common/credit/accounts/corrected_day.h"
#include "common/federation/identity/identities.h"
#include "common/wire/events/account_kind.h"
#include "services/view/hub/cobblestones.h"
#include "services/view/hub/hub_lists.h"
#include "services/view/state.h"

namespace cobblestone::view {

class HubQuestions {
 public:
  // `state` must outlive it. `clock`: UNIX s to which shown averages are decayed.
  HubQuestions(State& state, std::function<double()> clock)
      : state_(state), clock_(std::move(clock)), lists_(state, clock_) {}

  // Ranks and lists.
  [[nodiscard]] HubLists& lists() { return lists_; }

  // [{"project", "name", "url", "mode", "condition", "edition", "held", ...}], ascending by project. A project that has
  // been silent is shown with the age of what is known, never as zero.
  Result<nlohmann::json> Projects();
  // One project with its editions, newest first, at most `limit`. `figures`: with those of the index; an answer without them
  // does not wait for the first index. kNotFound: it is not registered.
  Result<nlohmann::json> Project(ProjectId project, std::size_t limit, bool figures = true);
  // The factors of plan classes with their provenance: {"sequence", "as_of", "factors", "left_out"}. `sequence`: none for
  // the newest. kRetry: none have been computed yet. kNotFound: no such sequence.
  Result<nlohmann::json> Factors(std::optional<std::uint64_t> sequence);
  // An account as of its project's last complete edition, with its daily history, and its ranks (HubLists::AddRanks).
  // kNotFound: the edition does not have it.
  Result<nlohmann::json> Account(ProjectId project, wire::AccountKind kind, std::uint64_t id);
  // A person over all projects: the accounts of one identity with their credit, its ids and where they come from, its daily
  // history and ranks, and accounts that may be the same person ("possible"), which are in no sum. Sums and days are in
  // Cobblestones. `cpid`: any id that ever counted for the person. kNotFound: the id counts for nobody.
  Result<nlohmann::json> PersonOfCpid(std::string_view cpid);
  // The person to whom the user's present account belongs. An account that has shown no cross-project id is a person of
  // its own.
  Result<nlohmann::json> PersonOf(ProjectId project, UserId user);
  // The person who has this account. kInvalidArgument: not PROJECT-USER-CREATETIME.
  Result<nlohmann::json> PersonOfIdentity(std::string_view identity);

 private:
  // What an answer about a person needs of an account besides its JSON.
  struct Figures {
    credit::MicroTotal cobblestones = 0;  // the total
    Points points;
    bool shared = false;
    std::vector<credit::DaySum> days;
    std::vector<credit::CorrectedDay> corrections;
  };
  Result<std::shared_ptr<const Rows>> Feeds();
  // Account(), and its figures.
  Result<nlohmann::json> AccountWith(const HubIndex& index, ProjectId project, wire::AccountKind kind,
                                     std::uint64_t id, Figures* figures);
  Result<std::string> TeamName(const HubIndex& index, ProjectId project, std::uint64_t team);
  Result<nlohmann::json> Person(const HubIndex& index, const federation::AccountKey& identity);
  Result<nlohmann::json> PersonOfAccount(const HubIndex& index, const federation::AccountKey& account);
  Result<nlohmann::json> Described(const HubIndex& index, const federation::IdentityView& view);

  State& state_;
  const std::function<double()> clock_;
  HubLists lists_;
};

}  // namespace cobblestone::view
