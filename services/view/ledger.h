// The durable ledger and the other topics with unlimited retention: grants, postings and refused
// records, found by project, result or account. A seam: the embedded log with its indexes, or Kafka's
// topics with indexes of the view.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/credit/model/catalogue.h"
#include "common/wire/ledger/account_codec.h"

namespace cobblestone::view {

// Place of records in `grants` or `postings`.
struct LedgerPlace {
  std::uint32_t partition = 0;
  std::uint64_t offset = 0;

  friend bool operator==(const LedgerPlace&, const LedgerPlace&) = default;
};

// Selection of the epochs of a project's scales, out of all epochs since the project began.
struct EpochsWanted {
  std::size_t limit = 500;
  std::uint64_t before = std::numeric_limits<std::uint64_t>::max();  // epochs below this number
  // False: the newest epochs. True: evenly spaced over all epochs, including the first and the newest.
  bool evenly = false;
};

// Threads: any.
class Ledger {
 public:
  // False ends the visit.
  using Visit = std::function<bool(std::string_view record)>;

  virtual ~Ledger() = default;

  // In order of partition and offset. A place may also hold records of other results, if several records share
  // an offset. kRetry: the index is being built.
  virtual Result<std::vector<LedgerPlace>> GrantsOf(ProjectId project, ResultId result) = 0;
  // Trickles of the result that paid nothing: at least the newest `limit` places, otherwise as above.
  virtual Result<std::vector<LedgerPlace>> TricklesOf(ProjectId project, ResultId result,
                                                      std::size_t limit) = 0;
  virtual Result<std::vector<LedgerPlace>> PostingsOf(ProjectId project, ResultId result) = 0;
  // Grants to a host or a user, or postings to a team: at least the newest `limit` places, in
  // order of partition and offset.
  virtual Result<std::vector<LedgerPlace>> NewestTo(ProjectId project, wire::AccountKind kind,
                                                    std::uint64_t id, std::size_t limit) = 0;
  // Final grants of claims with an alarm (credit::kClaimRising), of all projects: at least the newest `limit` places of
  // each partition, in order of partition and offset.
  virtual Result<std::vector<LedgerPlace>> Alarms(std::size_t limit) = 0;
  // All records at the place.
  virtual Status ReadGrant(const LedgerPlace& place, const Visit& visit) = 0;
  virtual Status ReadPosting(const LedgerPlace& place, const Visit& visit) = 0;

  // Refused records, numbered from 0 in their order in the topic.
  [[nodiscard]] virtual std::uint64_t refused() = 0;
  virtual Status ReadRefused(
      std::uint64_t from,
      const std::function<bool(std::uint64_t number, std::string_view record)>& visit) = 0;

  // In ascending order of epoch. kRetry: as above.
  virtual Result<std::vector<credit::ScaleTable>> Epochs(ProjectId project, const EpochsWanted& wanted) = 0;
};

}  // namespace cobblestone::view
