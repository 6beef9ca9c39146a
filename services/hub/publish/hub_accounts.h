// All accounts of a hub in the order of project keys and ids, with the person of each user: read once, and used by the
// snapshot and by the combined export.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/wire/events/feeds.h"
#include "services/hub/publish/hub_reader.h"
#include "services/hub/publish/spill_sort.h"

namespace cobblestone::hub {

struct SortedAccount {
  wire::FeedAccount account;  // with `account`, its number
  std::string person;         // of a user: Person::name
  std::string person_cpid;    // of a user: Person::cpid

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.account.account, s.account, s.person, s.person_cpid);
  }
};

std::string EncodeSorted(const SortedAccount& account);
// The bytes are those of EncodeSorted.
SortedAccount DecodeSorted(std::string_view bytes);

// Reads sorted accounts, project by project.
class AccountReader {
 public:
  explicit AccountReader(const SortedRecords& records) : reader_(records.Read()) {}

  // The next account of this project; false if it has no more. Projects in ascending order.
  Result<bool> Next(std::size_t project);
  [[nodiscard]] const SortedAccount& account() const { return account_; }

 private:
  SortedRecords::Reader reader_;
  SortedAccount account_;
  std::size_t project_ = 0;
  bool held_ = false;  // account_ is the next account of project_
  bool ended_ = false;
};

struct HubAccounts {
  SortedRecords users;
  SortedRecords hosts;
  SortedRecords teams;
  // By project: UNIX s of the newest event of an account without an edition; 0: there is none.
  std::vector<double> direct;
};

// `scratch`: a directory for temporary files, about as large as the result. Errors: of HubReader and of the disk.
Result<HubAccounts> SortAccounts(const HubReader& hub, const std::string& scratch);

}  // namespace cobblestone::hub
