// Source: the rows of an export. A seam: a file (entities_file.h), or the committed view of a pipeline.
//
// Invariant: all answers of one Source are of one moment; repeated calls give the same answer. A Source streams
// one row at a time and keeps at most a few words per row. Owner: one thread. Errors name the place (file and
// line, or key) and the problem.
#pragma once

#include <functional>
#include <vector>

#include "common/base/status.h"
#include "services/export/rows.h"

namespace cobblestone::exports {

template <class Row>
using Take = std::function<Status(const Row&)>;

// The facts about an owner that a host's record needs.
struct Owner {
  bool exists = false;
  bool shows_hosts = false;
};

struct RowCounts {
  std::uint64_t users = 0;
  std::uint64_t teams = 0;
  std::uint64_t hosts = 0;
};

class Source {
 public:
  Source() = default;
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // Description of the source and its moment, for the manifest.
  [[nodiscard]] virtual std::string Describe() const = 0;
  [[nodiscard]] virtual const Catalogue& catalogue() const = 0;
  // Approximate number of rows, for progress.
  [[nodiscard]] virtual RowCounts RowsExpected() const = 0;

  // All rows, in ascending order of id, including deleted accounts and accounts without credit (the
  // source does not filter). Stops at the first status of `take` that is not Ok, and returns it. A row is
  // valid until `take` returns.
  virtual Status Users(const Take<User>& take) = 0;
  virtual Status Teams(const Take<Team>& take) = 0;
  virtual Status Hosts(const Take<Host>& take) = 0;
  virtual Status UsersDeleted(const Take<Deleted>& take) = 0;
  virtual Status HostsDeleted(const Take<Deleted>& take) = 0;
  // In order of holder, then badge.
  virtual Status UserBadges(const Take<BadgeHeld>& take) = 0;
  virtual Status TeamBadges(const Take<BadgeHeld>& take) = 0;

  // One row; false: it does not exist. Callers use any order of ids.
  virtual Result<bool> FindUser(std::int64_t id, User* user) = 0;
  virtual Result<bool> FindTeam(std::int64_t id, Team* team) = 0;
  virtual Result<bool> FindHost(std::int64_t id, Host* host) = 0;
  // Must be cheap: called for each host.
  virtual Owner OwnerOf(std::int64_t user) = 0;
  // All users with this `teamid`, in ascending order of id.
  virtual Status Members(std::int64_t team, const Take<User>& take) = 0;
  // In order of app, then type of credit: the order of the database's primary key, in which doubles are summed.
  virtual Status CreditOfUser(std::int64_t user, std::vector<AppCredit>* credit) = 0;
  virtual Status CreditOfTeam(std::int64_t team, std::vector<AppCredit>* credit) = 0;
  // Number of the user's newest rows of consent (of the newest second) with a flag of exactly 1. Each adds one
  // record; 0: the user and the user's hosts are not shown.
  virtual std::uint32_t ConsentCopies(std::int64_t user) = 0;
};

}  // namespace cobblestone::exports
