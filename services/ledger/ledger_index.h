// Where a result's grants, and its postings to a team, lie in the ledger: indexes of the topics `grants` and `postings`
// by (project, result), derived from them and built again when lost.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/stream/embedded/topic_index.h"
#include "common/wire/ledger/account_codec.h"
#include "services/view/ledger.h"

namespace cobblestone {

using view::LedgerPlace;

// The topic's log, for one reader.
using IndexedLogOf = std::function<std::unique_ptr<stream::embedded::IndexedLog>(stream::TopicIndex topic)>;

class LedgerIndex {
 public:
  // What `log_of` gives is used as long as the index lives.
  static Result<std::unique_ptr<LedgerIndex>> Open(const std::string& path, IndexedLogOf log_of,
                                                   std::uint32_t partitions);

  // In order of partition and offset; covers all that is durable in the log.
  Result<std::vector<LedgerPlace>> Grants(ProjectId project, ResultId result);
  // Trickles of it that brought nothing: of each partition the last `limit`.
  Result<std::vector<LedgerPlace>> Trickles(ProjectId project, ResultId result, std::size_t limit);
  Result<std::vector<LedgerPlace>> Postings(ProjectId project, ResultId result);

  // From now on also grants and postings by account, and epochs by project: what a gateway asks for. Made of the whole
  // ledger when it never was before.
  Status IndexForPeople();
  // Grants to a host or a user, postings to a team: of each partition the last `limit`. kRetry without IndexForPeople().
  Result<std::vector<LedgerPlace>> NewestTo(ProjectId project, wire::AccountKind kind, std::uint64_t id,
                                            std::size_t limit);
  // Where in `control`, partition 0, the project's epochs are. As above.
  Result<std::vector<LedgerPlace>> Epochs(ProjectId project);

 private:
  LedgerIndex(std::string path, IndexedLogOf log_of, std::uint32_t partitions)
      : path_(std::move(path)), log_of_(std::move(log_of)), partitions_(partitions) {}

  const std::string path_;
  const IndexedLogOf log_of_;
  const std::uint32_t partitions_;
  std::unique_ptr<stream::embedded::KeyIndex> grants_;
  std::unique_ptr<stream::embedded::KeyIndex> postings_;
  std::unique_ptr<stream::embedded::KeyIndex> grants_to_;    // by user and by host
  std::unique_ptr<stream::embedded::KeyIndex> postings_to_;  // by team
  std::unique_ptr<stream::embedded::KeyIndex> epochs_;       // by project
};

}  // namespace cobblestone
