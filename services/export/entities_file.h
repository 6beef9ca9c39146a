// A project's rows from one JSON file, in the format of tests/golden/export and `cobblestone adopt`: an object
// with an array of rows for each table: users, teams, hosts, users_deleted, hosts_deleted, apps, badges,
// badge_user, badge_team, credit_user, credit_team, consent_types, consents, subprojects. An absent table has
// no rows; `config` and unknown sections are skipped.
//
// Memory: 16 bytes per row, and 16 more per member of a team. The rows stay in the file, which must not change
// meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/export/json_scan.h"
#include "services/export/source.h"

namespace cobblestone::exports {

struct EntitiesOptions {
  // Overrides the file's consent_types.
  std::optional<bool> statsexport_enabled;
  // Called while the rows are being located: bytes read, total bytes.
  std::function<void(std::uint64_t, std::uint64_t)> progress;
};

class EntitiesFile final : public Source {
 public:
  // NotFound, or InvalidArgument with file, line and problem (not JSON, an id twice, a column of another type).
  // Columns that only the export reads are checked when the export reads them.
  static Result<std::unique_ptr<EntitiesFile>> Open(const std::string& path, const EntitiesOptions& options);

  // Sections that were skipped because their name is unknown.
  [[nodiscard]] const std::vector<std::string>& unknown_sections() const { return unknown_sections_; }

  // Rows of all accounts, including ids without an account row: in ascending order of holder,
  // then app, then type of credit.
  Status UserCredit(const Take<AppCredit>& take);
  Status TeamCredit(const Take<AppCredit>& take);
  // All users with rows of consent, in ascending order of user.
  Status Consents(const Take<ConsentGiven>& take);
  [[nodiscard]] const std::string& path() const { return file_.path(); }
  // Line of the row of a user, team or host, from 1, for messages; 0: no such row.
  std::uint64_t LineOfUser(std::int64_t id) { return LineIn(users_, id); }
  std::uint64_t LineOfTeam(std::int64_t id) { return LineIn(teams_, id); }
  std::uint64_t LineOfHost(std::int64_t id) { return LineIn(hosts_, id); }
  [[nodiscard]] bool HasTeam(std::int64_t id) const;

  [[nodiscard]] std::string Describe() const override;
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
  // `place`: see entities_index.h. For a user, the flag is set if the user shows hosts.
  struct Entry {
    std::int64_t id = 0;
    std::uint64_t place = 0;
  };
  using Index = std::vector<Entry>;
  class Loader;

  explicit EntitiesFile(RandomFile file) : file_(std::move(file)) {}

  template <class Row, class Columns>
  Status Read(const Entry& entry, const Columns& columns, Row* row);
  template <class Row, class Columns>
  Status ReadAll(const Index& index, const Columns& columns, const Take<Row>& take);
  template <class Row, class Columns>
  Result<bool> Find(const Index& index, const Columns& columns, std::int64_t id, Row* row);
  template <class Columns>
  Status ReadBadges(const Index& index, const Columns& columns, const Take<BadgeHeld>& take);
  template <class Columns>
  Status ReadAllCredit(const Index& index, const Columns& columns, const Take<AppCredit>& take);
  std::uint64_t LineIn(const Index& index, std::int64_t id);
  template <class Columns>
  Status ReadCredit(const Index& index, const Columns& columns, std::int64_t holder,
                    std::vector<AppCredit>* credit);

  RandomFile file_;
  Catalogue catalogue_;
  std::vector<std::string> unknown_sections_;
  // All in ascending order of id.
  Index users_;
  Index teams_;
  Index hosts_;
  Index users_deleted_;
  Index hosts_deleted_;
  Index badge_user_;
  Index badge_team_;
  Index credit_user_;
  Index credit_team_;
  std::vector<std::pair<std::int64_t, std::int64_t>> members_;  // team, user
  std::vector<ConsentGiven> consent_;                           // users with rows of consent
};

}  // namespace cobblestone::exports
