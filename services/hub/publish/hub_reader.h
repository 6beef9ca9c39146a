// The committed state of a federation hub for a long read: projects, accounts and persons as of each project's last complete
// edition and of one moment, in the order of project keys.
//
// One moment: FEEDS counts the watermarks that it has sent, and MEMBERS those that each partition has passed. An edition
// is complete only behind a watermark that follows its accounts, so a partition that has passed as many watermarks as FEEDS
// had sent has all accounts of every edition that FEEDS has as complete. If a partition has since received two further
// editions of a project, a row no longer has the version that belongs to the moment; Accounts() reports this.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/wire/events/feeds.h"
#include "services/feeds/feed_rows.h"
#include "services/members/member_rows.h"
#include "services/view/state.h"

namespace cobblestone::hub {

struct HubProject {
  ProjectId id;
  std::string key;
  feeds::ProjectRow row;
  double registered = 0;                      // UNIX s
  std::optional<feeds::EditionRow> complete;  // the last complete edition
  std::optional<feeds::EditionRow> held;      // if it is newer than the last complete one
};

// Who an account belongs to. Both depend on first days alone, so they stay while accounts join and ids swing. Nobody: the
// account has shown no id, or belongs to an account manager.
struct Person {
  std::string name;  // KEY-USER-CREATETIME of the person's account that was shown first; empty: nobody
  std::string cpid;  // the id that this account showed first
};

// Owner: one thread.
class HubReader {
 public:
  // `state` must outlive it. kRetry: there is no state yet, or a partition is behind. kNotFound: the hub has no time yet.
  static Result<std::unique_ptr<HubReader>> Open(view::State& state);

  [[nodiscard]] double time() const { return time_; }  // the hub's: UNIX s of the last tick
  [[nodiscard]] const std::vector<HubProject>& projects() const { return projects_; }  // by key

  // Visits the accounts that the last complete edition of their project has, in no order. `project`: index in projects().
  // kRetry: accounts of this moment are gone; open another reader.
  using Visit = std::function<Status(std::size_t project, std::uint64_t id, const members::MemberRow& row,
                                     const wire::FeedAccount& seen)>;
  Status Accounts(wire::AccountKind kind, const Visit& visit) const;
  // One account; nothing if the edition does not have it.
  [[nodiscard]] Result<std::optional<wire::FeedAccount>> Find(wire::AccountKind kind, std::size_t project,
                                                              std::uint64_t id) const;
  // The user belongs to an account manager, and is in no person's sum.
  [[nodiscard]] bool IsShared(std::size_t project, std::uint64_t user) const;
  [[nodiscard]] Result<Person> PersonOf(std::size_t project, std::uint64_t user, double create_time) const;

 private:
  HubReader() = default;
  Status Read(view::State& state);
  Status ReadProjects();
  Status ReadEditions();
  [[nodiscard]] Status CheckPassed() const;
  [[nodiscard]] Result<const wire::FeedAccount*> SeenAt(const HubProject& project,
                                                        const members::MemberRow& row) const;

  std::shared_ptr<const view::Rows> feeds_;  // FEEDS and IDENTITY
  std::vector<std::shared_ptr<const view::Rows>> members_;
  double time_ = 0;
  std::vector<HubProject> projects_;
  std::map<std::uint32_t, std::size_t> index_;  // of projects_, by the hub's number
};

}  // namespace cobblestone::hub
