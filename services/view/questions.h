// Queries of people, pages and schedulers, answered from committed state and the ledger.
//
// Answers are JSON (nlohmann), the same for the command line, the socket and the gateway: credit as text
// with six decimals (exact), times in UNIX seconds, doubles as numbers, or as "inf", "-inf", "nan", which
// JSON cannot represent. kNotFound names the missing thing. kRetry names the thing that does not exist yet.
// Threads: any, several at once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
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
class HubQuestions;

struct QuestionsOptions {
  // UNIX s to which shown averages are decayed; empty: the wall clock.
  std::function<double()> clock;
  // Names of projects in the settings; empty: any project may be queried.
  std::map<std::uint32_t, std::string> names;
  // The state is that of a federation hub.
  bool hub = false;
  // Maximum age of data gathered over all accounts (searches, lists, hosts of a user), s.
  double gathered_age = 30;
};

class Questions {
 public:
  // `state` and `ledger` must outlive it.
  Questions(State& state, Ledger& ledger, QuestionsOptions options);
  ~Questions();

  // Null: the deployment is no federation hub.
  [[nodiscard]] HubQuestions* hub() { return hub_.get(); }

  // The basis of answers about the project: its event time and epoch, and for each partition the commit
  // and the next place in the ledger.
  Result<nlohmann::json> AsOf(ProjectId project);
  // kNotFound: the settings list projects, and this project is neither listed nor has a catalogue.
  Status CheckProject(ProjectId project);
  Result<nlohmann::json> Projects();
  // The project's name from events or settings; empty if neither has one or it cannot be read.
  std::string NameOf(ProjectId project);
  Result<nlohmann::json> Catalogue(ProjectId project);

  Result<nlohmann::json> Account(ProjectId project, wire::AccountKind kind, std::uint64_t id);
  // Account managers' estimates for all hosts of the project together, by day.
  Result<nlohmann::json> EstimatesOf(ProjectId project);
  // The data of a user that others may see, as set by the user's events; defined for unknown users, too.
  struct Profile {
    bool shows_hosts = false;  // BOINC: show_hosts
    // Has consented to appear in statistics, or the project does not require consent.
    bool named = false;
    std::int64_t create_time = 0;  // UNIX s; 0: unknown
  };
  Result<Profile> ProfileOf(ProjectId project, UserId user);
  // Changes of the account, newest first: an array of {"kind", "time", "credit", "late", ...}. Kinds: final,
  // partial, settlement (of partial grants, at the end of their job), reversal, repricing, reinstatement, and
  // opening, which belongs to no result and carries its recent average ("rac"). For a team: its postings; all
  // operator kinds appear as correction. Rows of users that `shows` rejects are skipped and do not count
  // towards the limit; empty: all rows.
  using Shows = std::function<bool(UserId user)>;
  Result<nlohmann::json> Grants(ProjectId project, wire::AccountKind kind, std::uint64_t id,
                                std::size_t limit, const Shows& shows = {});
  // Hosts of a user, members of a team: the first `limit` by total. As old as the gathered data.
  Result<nlohmann::json> HostsOf(ProjectId project, UserId user, std::size_t limit);
  Result<nlohmann::json> MembersOf(ProjectId project, TeamId team, std::size_t limit);
  // {"as_of", "ranking", "count", "rows"}: ranks, totals and averages of one scan, whatever has been granted
  // since. Pages with the same `ranking` belong to the same list. A list that was requested by its number is kept
  // until two newer lists exist; then the newest list answers.
  struct Page {
    std::uint64_t ranking = 0;  // 0: the newest
    std::size_t offset = 0;
    std::size_t limit = 0;
  };
  Result<nlohmann::json> Top(ProjectId project, wire::AccountKind kind, RankBy by, const Page& page);
  // Finds accounts by id or by a part of the name, in any case.
  struct Wanted {
    std::optional<wire::AccountKind> kind{};  // none: all three
    std::size_t limit = 20;
    bool by_credit = true;                     // else by id
    std::function<bool(UserId user)> finds{};  // users who may be found; empty: all
  };
  Result<nlohmann::json> Search(ProjectId project, std::string_view text, const Wanted& wanted);
  Result<nlohmann::json> Explain(ProjectId project, ResultId result);

  // {"rows": [...]}: all versions if `version` is none; `app` for the anonymous platform.
  Result<nlohmann::json> HostVersions(ProjectId project, HostId host, std::optional<AppVersionId> version,
                                      AppId app);
  // Advice for a scheduler before it sends a job (S000, docs/rules.md, sections 44 to 46): expected runtime,
  // FLOP/s, quota, and whether one replica is enough. Uses the record that will price the host's next result
  // (credit::Policy::NextRecord).
  struct Job {
    HostId host;
    AppVersionId version;
    AppId app;             // for the anonymous platform; else 0
    double fpops_est = 0;  // FLOPs; 0: no runtime is needed
    // FLOP/s of the devices that the job would use; 0: one CPU, by its benchmark.
    double peak_flops = 0;
  };
  Result<nlohmann::json> Estimate(ProjectId project, const Job& job);
  // The credit fields of a BOINC scheduler's reply to the host. "expavg_time": the time to
  // which its averages are decayed.
  Result<nlohmann::json> SchedulerReply(ProjectId project, HostId host);

  // With the factors of plan classes in force, and where they come from.
  Result<nlohmann::json> Scales(ProjectId project);
  // What the project publishes for a federation hub, by app version: scale, samples and recent credit as of the newest
  // epoch. "as_of": the time of that epoch, UNIX s. kNotFound: the project has no catalogue yet.
  Result<nlohmann::json> AppVersions(ProjectId project);
  // In ascending order of epoch.
  Result<nlohmann::json> ScalesHistory(ProjectId project, const EpochsWanted& wanted);

  // What an operator should look at, over all projects. "hosts": hosts whose reports keep rising (docs/rules.md,
  // section 54), by app, with their newest alarm in the ledger; newest first, at most `limit`. "levels": apps whose X has
  // moved by more than a tenth within a day of event time, with the X before. kRetry: the ledger is being indexed.
  Result<nlohmann::json> Watch(std::size_t limit);

  // Refused records from number `from` on, ascending.
  Result<nlohmann::json> RefusedList(std::uint64_t from, std::uint64_t limit);
  // Refused records before number `before`, newest first.
  Result<nlohmann::json> RefusedBefore(std::uint64_t before, std::uint64_t limit);
  Result<nlohmann::json> RefusedShow(std::uint64_t number);

 private:
  class Gathered;
  struct ProjectNow;

  Result<std::shared_ptr<const ProjectNow>> Now(ProjectId project);
  // For AsOf(): position of each partition.
  Result<nlohmann::json> Positions();
  Result<nlohmann::json> AsOf(ProjectId project, const nlohmann::json& positions);
  Result<std::shared_ptr<const Rows>> Of(Stage stage, ProjectId project, std::uint64_t id);
  // Stored with its owner; while the host moves, stored elsewhere.
  Result<accounts::HostAccount> HostAccount(ProjectId project, HostId host, UserId owner);
  Result<nlohmann::json> UserAccount(ProjectId project, UserId user);
  Result<nlohmann::json> TeamAccount(ProjectId project, TeamId team);
  Result<nlohmann::json> HostOf(ProjectId project, HostId host);
  Result<nlohmann::json> GrantJson(ProjectId project, const LedgerPlace& place, std::string_view record);
  Status AddPostings(ProjectId project, const LedgerPlace& place, const wire::GrantHead& head,
                     nlohmann::json& grant);
  // Trickles that paid nothing, each with the number of `partials` before it; only the
  // newest if there are very many.
  Result<nlohmann::json> Unpaid(ProjectId project, ResultId result, const nlohmann::json& partials);
  Result<TeamId> PostedTo(ProjectId project, ResultId result);
  Result<nlohmann::json> PendingJson(ProjectId project, ResultId result);
  Result<nlohmann::json> GrantsAt(std::span<const LedgerPlace> places, ProjectId project,
                                  wire::AccountKind kind, std::uint64_t id, std::size_t limit,
                                  const Shows& shows);
  // A row of a list, with the current data of the account.
  Result<nlohmann::json> Summary(ProjectId project, wire::AccountKind kind, std::uint64_t id);
  // With credit and grants as gathered, because the list is ordered by them.
  Result<nlohmann::json> Listed(ProjectId project, wire::AccountKind kind, const GatheredAccount& account);
  Result<nlohmann::json> ListedPart(ProjectId project, wire::AccountKind kind, const GatheredPart& part);
  std::string UserName(ProjectId project, UserId user);
  std::string TeamName(ProjectId project, TeamId team);
  // Display name and address of a project.
  struct ProjectCall {
    std::string name;
    std::string url;
  };
  Result<std::map<std::uint32_t, ProjectCall>> Calls(const Rows& coordinator);
  Result<nlohmann::json> RisingHosts(std::size_t limit);
  Result<nlohmann::json> MovedLevels();
  std::string AppName(ProjectId project, AppId app);
  double clock() const;

  State& state_;
  Ledger& ledger_;
  QuestionsOptions options_;
  std::unique_ptr<Gathered> gathered_;
  std::unique_ptr<HubQuestions> hub_;
  std::mutex mutex_;
  std::map<std::uint32_t, std::shared_ptr<const ProjectNow>> projects_;  // guarded by mutex_
};

}  // namespace cobblestone::view
