// Places of a result's grants and postings in the ledger: indexes of the topics `grants` and `postings` by
// (project, result). The indexes are derived from the topics and rebuilt when lost.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/stream/index/topic_index.h"
#include "common/wire/ledger/account_codec.h"
#include "services/view/ledger.h"

namespace cobblestone::ledger {

using view::LedgerPlace;

// Opens the topic's log for one reader.
using IndexedLogOf = std::function<std::unique_ptr<stream::IndexedLog>(stream::TopicIndex topic)>;

class LedgerIndex {
 public:
  // The index uses logs from `log_of` until the index is destroyed.
  static Result<std::unique_ptr<LedgerIndex>> Open(const std::string& path, IndexedLogOf log_of,
                                                   std::uint32_t partitions);

  // In order of partition and offset; covers all durable records of the log.
  Result<std::vector<LedgerPlace>> Grants(ProjectId project, ResultId result);
  // Trickles of the result that paid nothing: the last `limit` of each partition.
  Result<std::vector<LedgerPlace>> Trickles(ProjectId project, ResultId result, std::size_t limit);
  Result<std::vector<LedgerPlace>> Postings(ProjectId project, ResultId result);

  // Indexes all records that are durable now, so that a lookup does not find the index far behind (kRetry).
  Status Flush();

  // Also indexes grants and postings by account, and epochs by project, from now on: a gateway's queries need
  // these indexes. The first call indexes the whole ledger.
  Status IndexForPeople();
  // Grants to a host or a user, or postings to a team: the last `limit` of each partition. kRetry without
  // IndexForPeople().
  Result<std::vector<LedgerPlace>> NewestTo(ProjectId project, wire::AccountKind kind, std::uint64_t id,
                                            std::size_t limit);
  // Final grants of claims with an alarm (credit::kClaimRising), of all projects: the last `limit` of each partition.
  // kRetry: as above.
  Result<std::vector<LedgerPlace>> Alarms(std::size_t limit);
  // Places of the project's epochs in `control`, partition 0. kRetry: as above.
  Result<std::vector<LedgerPlace>> Epochs(ProjectId project);

 private:
  LedgerIndex(std::string path, IndexedLogOf log_of, std::uint32_t partitions)
      : path_(std::move(path)), log_of_(std::move(log_of)), partitions_(partitions) {}

  const std::string path_;
  const IndexedLogOf log_of_;
  const std::uint32_t partitions_;
  std::unique_ptr<stream::KeyIndex> grants_;
  std::unique_ptr<stream::KeyIndex> postings_;
  std::unique_ptr<stream::KeyIndex> grants_to_;    // by user, by host, and those with alarms
  std::unique_ptr<stream::KeyIndex> postings_to_;  // by team
  std::unique_ptr<stream::KeyIndex> epochs_;       // by project
};

}  // namespace cobblestone::ledger
