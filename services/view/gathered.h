// What is known of all accounts of a project together, in memory: their order by credit, whose hosts there are, and names.
// Gathered by a scan of the state when somebody asks and the last scan is old; at most a twentieth of the time goes into
// that, and meanwhile the old one answers. About 64 bytes an account, and the names; twice that where lists are read.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/credit/accounts/account.h"
#include "services/view/questions.h"

namespace cobblestone::view {

struct GatheredAccount {
  std::uint64_t id = 0;
  std::uint64_t of = 0;  // a host's user, a user's team; 0: none
  credit::MicroTotal total = 0;
  credit::RecentAverage recent;
  std::uint64_t grants = 0;
  std::uint64_t name = 0;  // where it begins in `names`
};

// The first of some accounts, and how many there are.
struct GatheredPart {
  std::vector<GatheredAccount> accounts;
  std::size_t count = 0;
};

// By kind, ascending by id. Deleted accounts are not listed.
struct AccountLists {
  std::vector<GatheredAccount> users;
  std::vector<GatheredAccount> hosts;
  std::vector<GatheredAccount> teams;
  // Places in the vectors above, from the first to the last.
  std::vector<std::uint32_t> users_by[2];  // by RankBy
  std::vector<std::uint32_t> hosts_by[2];
  std::vector<std::uint32_t> teams_by[2];
  std::vector<std::uint32_t> hosts_of;    // by user, then by total
  std::vector<std::uint32_t> members_of;  // by team, then by total
  std::string user_names;                 // Folded(), each ended by a zero
  std::string team_names;
  credit::MicroTotal users_total = 0;

  [[nodiscard]] const std::vector<GatheredAccount>& Of(wire::AccountKind kind) const;
  [[nodiscard]] const std::vector<std::uint32_t>& Ranked(wire::AccountKind kind, RankBy by) const;
  // Ids of those whose name holds `text` (any case), in order of credit or of their numbers, until `take` has had enough and says
  // false.
  void ForEachNamed(wire::AccountKind kind, std::string_view text, bool by_credit,
                    const std::function<bool(std::uint64_t id)>& take) const;
  // Hosts of the user or members of the team: the first `limit` by total, and how many there are.
  [[nodiscard]] GatheredPart HostsOf(UserId user, std::size_t limit) const;
  [[nodiscard]] GatheredPart MembersOf(TeamId team, std::size_t limit) const;
};

class Questions::Gathered {
 public:
  // `age`: s.
  Gathered(Questions& questions, State& state, double age)
      : questions_(questions), state_(state), age_(age) {}

  // Ascending with time. 0: there was none yet.
  using Number = std::uint64_t;
  struct Lists {
    Number number = 0;
    nlohmann::json as_of;  // on which they rest, or on more
    std::shared_ptr<const AccountLists> of;
  };
  // Those of the number, where they are still there; else the newest.
  Result<Lists> Of(ProjectId project, Number number = 0);

 private:
  using Clock = std::chrono::steady_clock;
  struct All {
    Number number = 0;
    std::map<std::uint32_t, Lists> projects;
  };

  Result<std::shared_ptr<const All>> Look();
  Result<std::shared_ptr<const All>> Gather();

  Questions& questions_;
  State& state_;
  const double age_;
  std::mutex gathering_;  // one scan at a time
  std::mutex mutex_;
  std::shared_ptr<const All> all_;  // guarded by mutex_, as is what follows
  std::shared_ptr<const All> before_;
  Clock::time_point gathered_at_{};
  Clock::duration took_{};
};

}  // namespace cobblestone::view
