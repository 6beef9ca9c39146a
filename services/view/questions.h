// What people, pages and schedulers ask of the pipeline, answered from committed state and the ledger alone.
//
// Answers are JSON (nlohmann), the same for the command line, the socket and the gateway: credit as text with six decimals
// (exact), times in UNIX seconds, doubles as numbers, or as "inf", "-inf", "nan" where JSON has none.
// kNotFound says what was not found; kRetry what is not there yet. Threads: any, several at once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/credit/accounts/account.h"
#include "common/wire/ledger/account_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/view/ledger.h"
#include "services/view/state.h"

namespace cobblestone::accounts {
struct HostAccount;
}  // namespace cobblestone::accounts

namespace cobblestone::view {

enum class RankBy { kTotal, kRecentAverage };
struct GatheredAccount;
struct GatheredPart;

struct QuestionsOptions {
  std::function<double()> clock;  // UNIX s: to when shown averages are decayed; empty: the wall clock
  std::map<std::uint32_t, std::string>
      names;  // of projects, as the settings call them; empty: any project may be asked for
  // How old what is gathered over all accounts may become (searches, lists, hosts of a user), s.
  double gathered_age = 30;
};

class Questions {
 public:
  // State and ledger must outlive it.
  Questions(State& state, Ledger& ledger, QuestionsOptions options);
  ~Questions();

  // On what answers about the project rest: its event time and epoch, and of each partition the commit and the next place
  // in the ledger.
  Result<nlohmann::json> AsOf(ProjectId project);
  // kNotFound where the settings list projects, and this one is neither among them nor has it a catalogue.
  Status CheckProject(ProjectId project);
  Result<nlohmann::json> Projects();
  // As events or settings call it; empty where neither does, or it cannot be read.
  std::string NameOf(ProjectId project);
  Result<nlohmann::json> Catalogue(ProjectId project);

  Result<nlohmann::json> Account(ProjectId project, wire::AccountKind kind, std::uint64_t id);
  // What account managers have reported of all its hosts together, day by day.
  Result<nlohmann::json> EstimatesOf(ProjectId project);
  // What others may see of a user, known or not, by what events have told of it.
  struct Profile {
    bool shows_hosts = false;      // BOINC: show_hosts
    bool named = false;            // has consented to be in statistics, where the project asks for that
    std::int64_t create_time = 0;  // UNIX s; 0: not told
  };
  Result<Profile> ProfileOf(ProjectId project, UserId user);
  // What has moved the account, newest first: an array of {"kind", "time", "credit", "late", ...}. Kinds: final, partial, settlement
  // (of partial grants, by the end of their job), reversal, repricing, reinstatement, opening, which is of no result and brings its
  // recent average ("rac"). Of a team it is what was posted to it, and all operators' kinds are a correction. Rows of users that
  // `shows` refuses are passed over, and do not count towards the limit; none: all rows.
  using Shows = std::function<bool(UserId user)>;
  Result<nlohmann::json> Grants(ProjectId project, wire::AccountKind kind, std::uint64_t id,
                                std::size_t limit, const Shows& shows = {});
  // Hosts of a user, members of a team: the first by total. As old as what is gathered.
  Result<nlohmann::json> HostsOf(ProjectId project, UserId user, std::size_t limit);
  Result<nlohmann::json> MembersOf(ProjectId project, TeamId team, std::size_t limit);
  // {"as_of", "ranking", "count", "rows"}: places, totals and averages of one gathering, whatever has been granted since. Pages
  // with the same `ranking` are of the same list; one that is asked for by its number is kept until two newer ones were made,
  // then the newest answers.
  struct Page {
    std::uint64_t ranking = 0;  // 0: the newest
    std::size_t offset = 0;
    std::size_t limit = 0;
  };
  Result<nlohmann::json> Top(ProjectId project, wire::AccountKind kind, RankBy by, const Page& page);
  // By number or by a part of the name, whatever its case.
  struct Wanted {
    std::optional<wire::AccountKind> kind{};  // none: all three
    std::size_t limit = 20;
    bool by_credit = true;                     // else by number
    std::function<bool(UserId user)> finds{};  // users who may be found; empty: all
  };
  Result<nlohmann::json> Search(ProjectId project, std::string_view text, const Wanted& wanted);
  Result<nlohmann::json> Explain(ProjectId project, ResultId result);

  // {"rows": [...]}: of all versions where `version` is none; `app` for the anonymous platform.
  Result<nlohmann::json> HostVersions(ProjectId project, HostId host, std::optional<AppVersionId> version,
                                      AppId app);
  // What a scheduler wants to know before it sends a job (S000, docs/rules.md, sections 44 to 46): expected runtime, FLOP/s, quota,
  // whether one replica is enough. By the record that the host's next result is priced with (credit::Policy::NextRecord).
  struct Job {
    HostId host;
    AppVersionId version;
    AppId app;              // of the anonymous platform; else 0
    double fpops_est = 0;   // FLOPs; 0: no runtime is asked for
    double peak_flops = 0;  // FLOP/s of the devices that it would get; 0: one CPU's, by its benchmark
  };
  Result<nlohmann::json> Estimate(ProjectId project, const Job& job);
  // The credit fields of a BOINC scheduler's reply to the host; "expavg_time": to when its averages are decayed.
  Result<nlohmann::json> SchedulerReply(ProjectId project, HostId host);

  Result<nlohmann::json> Scales(ProjectId project);
  // Ascending by epoch.
  Result<nlohmann::json> ScalesHistory(ProjectId project, const EpochsWanted& wanted);

  // From the `from`-th refusal on, ascending.
  Result<nlohmann::json> RefusedList(std::uint64_t from, std::uint64_t limit);
  // Those before the `before`-th, newest first.
  Result<nlohmann::json> RefusedBefore(std::uint64_t before, std::uint64_t limit);
  Result<nlohmann::json> RefusedShow(std::uint64_t number);

 private:
  class Gathered;
  struct ProjectNow;

  Result<std::shared_ptr<const ProjectNow>> Now(ProjectId project);
  // Of AsOf(): how far each partition is.
  Result<nlohmann::json> Positions();
  Result<nlohmann::json> AsOf(ProjectId project, const nlohmann::json& positions);
  Result<std::shared_ptr<const Rows>> Of(Stage stage, ProjectId project, std::uint64_t id);
  // With its owner; where the host has just moved, wherever it still is.
  Result<accounts::HostAccount> HostAccount(ProjectId project, HostId host, UserId owner);
  Result<nlohmann::json> UserAccount(ProjectId project, UserId user);
  Result<nlohmann::json> TeamAccount(ProjectId project, TeamId team);
  Result<nlohmann::json> HostOf(ProjectId project, HostId host);
  Result<nlohmann::json> GrantJson(ProjectId project, const LedgerPlace& place, std::string_view record);
  Status AddPostings(ProjectId project, const LedgerPlace& place, const wire::GrantHead& head,
                     nlohmann::json& grant);
  // Trickles that brought nothing, each with how many of `partials` came before it; the newest ones where there are very many.
  Result<nlohmann::json> Unpaid(ProjectId project, ResultId result, const nlohmann::json& partials);
  Result<TeamId> PostedTo(ProjectId project, ResultId result);
  Result<nlohmann::json> PendingJson(ProjectId project, ResultId result);
  Result<nlohmann::json> GrantsAt(std::span<const LedgerPlace> places, ProjectId project,
                                  wire::AccountKind kind, std::uint64_t id, std::size_t limit,
                                  const Shows& shows);
  // A row of a list, with what is known of the account now.
  Result<nlohmann::json> Summary(ProjectId project, wire::AccountKind kind, std::uint64_t id);
  // With credit and grants as they were gathered: the list's order is by them.
  Result<nlohmann::json> Listed(ProjectId project, wire::AccountKind kind, const GatheredAccount& account);
  Result<nlohmann::json> ListedPart(ProjectId project, wire::AccountKind kind, const GatheredPart& part);
  std::string UserName(ProjectId project, UserId user);
  std::string TeamName(ProjectId project, TeamId team);
  // What people are told that a project is called.
  struct ProjectCall {
    std::string name;
    std::string url;
  };
  Result<std::map<std::uint32_t, ProjectCall>> Calls(const Rows& coordinator);
  double clock() const;

  State& state_;
  Ledger& ledger_;
  QuestionsOptions options_;
  std::unique_ptr<Gathered> gathered_;
  std::mutex mutex_;
  std::map<std::uint32_t, std::shared_ptr<const ProjectNow>> projects_;  // guarded by mutex_
};

}  // namespace cobblestone::view
