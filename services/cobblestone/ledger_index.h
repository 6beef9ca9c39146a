// Where a result's grants, and its postings to a team, lie in the ledger: indexes of the topics `grants` and `postings`
// by (project, result), derived from them and built again when lost.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/stream/embedded/log.h"
#include "common/stream/embedded/topic_index.h"

namespace cobblestone {

struct LedgerPlace {
  std::uint32_t partition = 0;
  std::uint64_t offset = 0;
};

class LedgerIndex {
 public:
  // `log` must outlive the index.
  static Result<std::unique_ptr<LedgerIndex>> Open(const std::string& path, stream::embedded::Log& log,
                                                   std::uint32_t partitions);

  // In order of partition and offset; covers all that is durable in the log.
  Result<std::vector<LedgerPlace>> Grants(ProjectId project, ResultId result);
  Result<std::vector<LedgerPlace>> Postings(ProjectId project, ResultId result);

 private:
  LedgerIndex() = default;

  std::unique_ptr<stream::embedded::KeyIndex> grants_;
  std::unique_ptr<stream::embedded::KeyIndex> postings_;
};

}  // namespace cobblestone
