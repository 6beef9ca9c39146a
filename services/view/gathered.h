// Data over all accounts of a project, in memory: ranking by credit, hosts of users, members of teams, and
// names. A request starts a scan of the state if the last scan is old. Scans take at most a
// twentieth of the time, and during a scan the old data serves requests. Memory: about 64 bytes per account plus the
// names; twice that while lists are read.
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
  std::uint64_t of = 0;  // user of a host, or team of a user; 0: none
  credit::MicroTotal total = 0;
  credit::RecentAverage recent;
  std::uint64_t grants = 0;
  std::uint64_t name = 0;  // offset of the name in `names`
};

// The first of a set of accounts, and the size of the set.
struct GatheredPart {
  std::vector<GatheredAccount> accounts;
  std::size_t count = 0;
};

// By kind, in ascending order of id. Deleted accounts are not listed.
struct AccountLists {
  std::vector<GatheredAccount> users;
  std::vector<GatheredAccount> hosts;
  std::vector<GatheredAccount> teams;
  // Indexes into the vectors above, in order of rank.
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
  // Ids of accounts with `text` in the name (in any case), in order of credit or of id, until `take` returns
  // false.
  void ForEachNamed(wire::AccountKind kind, std::string_view text, bool by_credit,
                    const std::function<bool(std::uint64_t id)>& take) const;
  // Hosts of a user or members of a team: the first `limit` by total, and their number.
  [[nodiscard]] GatheredPart HostsOf(UserId user, std::size_t limit) const;
  [[nodiscard]] GatheredPart MembersOf(TeamId team, std::size_t limit) const;
};

class Questions::Gathered {
 public:
  // `age`: the age, in s, at which data is gathered again.
  Gathered(Questions& questions, State& state, double age)
      : questions_(questions), state_(state), age_(age) {}

  // Number of a scan, ascending with time. 0: no scan yet.
  using Number = std::uint64_t;
  struct Lists {
    Number number = 0;
    nlohmann::json as_of;  // positions of the state that was scanned, or earlier ones
    std::shared_ptr<const AccountLists> of;
  };
  // The lists of scan `number` if they still exist, else the newest lists.
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
  std::shared_ptr<const All> all_;  // guarded by mutex_, as are the members below
  std::shared_ptr<const All> before_;
  Clock::time_point gathered_at_{};
  Clock::duration took_{};
};

}  // namespace cobblestone::view
