// Source: where the rows of an export come from. A seam: a file (entities_file.h), or the committed view of a pipeline.
//
// Invariant: all answers of one Source are of one moment, and the same however often they are asked.
// A Source streams: it hands out one row at a time, and what it keeps of each is at most a few words. Used by one
// thread. Errors name the place (file and line, key) and what is wrong there.
#pragma once

#include <functional>
#include <vector>

#include "common/base/status.h"
#include "services/export/rows.h"

namespace cobblestone::statistics {

template <class Row>
using Take = std::function<Status(const Row&)>;

// What a host's record asks of its owner.
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

  // For the manifest: which moment of what this is.
  [[nodiscard]] virtual std::string Describe() const = 0;
  [[nodiscard]] virtual const Catalogue& catalogue() const = 0;
  // About how many rows there are, for progress.
  [[nodiscard]] virtual RowCounts RowsExpected() const = 0;

  // All rows, in ascending order of id (deleted and zero-credit ones too: what is shown is not the source's business).
  // Ends early with what `take` returns, if that is no Ok. A row is valid until `take` returns.
  virtual Status Users(const Take<User>& take) = 0;
  virtual Status Teams(const Take<Team>& take) = 0;
  virtual Status Hosts(const Take<Host>& take) = 0;
  virtual Status UsersDeleted(const Take<Deleted>& take) = 0;
  virtual Status HostsDeleted(const Take<Deleted>& take) = 0;
  // In order of holder, then badge.
  virtual Status UserBadges(const Take<BadgeHeld>& take) = 0;
  virtual Status TeamBadges(const Take<BadgeHeld>& take) = 0;

  // One row; false: there is none. Callers ask in orders other than that of ids.
  virtual Result<bool> FindUser(std::int64_t id, User* user) = 0;
  virtual Result<bool> FindTeam(std::int64_t id, Team* team) = 0;
  virtual Result<bool> FindHost(std::int64_t id, Host* host) = 0;
  // Cheap: asked for each host.
  virtual Owner OwnerOf(std::int64_t user) = 0;
  // All users whose `teamid` this is, in ascending order of id.
  virtual Status Members(std::int64_t team, const Take<User>& take) = 0;
  // In order of app, then type of credit: that of the database's primary key, in which sums of doubles are made.
  virtual Status CreditOfUser(std::int64_t user, std::vector<AppCredit>* credit) = 0;
  virtual Status CreditOfTeam(std::int64_t team, std::vector<AppCredit>* credit) = 0;
  // How many of the user's newest rows of consent (those of the newest second) agree, by a flag of exactly 1. Each makes
  // a record; 0: the user, and the user's hosts, are not shown.
  virtual std::uint32_t ConsentCopies(std::int64_t user) = 0;
};

}  // namespace cobblestone::statistics
