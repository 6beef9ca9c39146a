// Compares what the ledger holds of each result: at most one final grant, trickle payments that are final as a
// whole or not at all, and a grant for each posting. Results are identified by project and number. Memory is
// bounded, whatever the number of grants (SpillSort).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/wire/ledger/account_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/audit/audit_problems.h"
#include "services/audit/spill_sort.h"

namespace cobblestone::audit {

class ResultBalance {
 public:
  explicit ResultBalance(const SpillOptions& options) : entries_(options) {}

  // An award. `behind`: the state has not read it. Such a record is used only if another partition, whose state
  // is newer, rests on it.
  void Take(const wire::Grant& grant, std::uint32_t partition, std::uint64_t offset, bool behind);
  void Take(const wire::Posting& posting, std::uint32_t partition, std::uint64_t offset);

  [[nodiscard]] const Status& status() const { return entries_.status(); }
  // What the ledger holds of a result from before the records that were taken.
  struct Older {
    struct Award {
      wire::Grant grant;
      std::uint32_t partition = 0;
      std::uint64_t offset = 0;
    };
    std::vector<Award> awards;
    std::vector<wire::Posting> postings;
  };
  using FindOlder = std::function<Result<Older>(ProjectId project, ResultId result)>;
  // Once, at the end. `older`: may be empty, if all records were taken.
  Status Compare(AuditProblems& problems, const FindOlder& older = {});

 private:
  enum class What : std::uint8_t {
    kFinal,       // amount of a final grant
    kAward,       // amount of another award
    kBehind,      // amount of an award that the state has not read
    kPaid,        // trickle payment
    kPaidBehind,  // likewise, not read by the state
    kSettled,     // trickle payments that became final
    kReversed,    // trickle payments that an operator reversed while the job ran
    kReversedBehind,
    kPosting,
  };
  struct Entry {
    std::uint64_t result;
    std::int64_t micro;
    std::uint64_t offset;
    std::uint32_t project;
    std::uint16_t partition;
    What what;

    [[nodiscard]] bool SameResult(const Entry& other) const {
      return project == other.project && result == other.result;
    }
    [[nodiscard]] auto order() const { return std::tuple(project, result, what, partition, offset, micro); }
    friend bool operator<(const Entry& a, const Entry& b) { return a.order() < b.order(); }
  };
  static_assert(sizeof(Entry) == 32);
  struct Group;
  static void Describe(const wire::Grant& grant, std::uint32_t partition, std::uint64_t offset, bool behind,
                       const std::function<void(const Entry&)>& take);

  SpillSort<Entry> entries_;
};

}  // namespace cobblestone::audit
