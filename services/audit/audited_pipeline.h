// What an audit reads of a pipeline. A seam: the running or stopped pipeline of a data directory, or a
// deployment on Kafka.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/stream/index/indexed_log.h"
#include "services/view/ledger.h"
#include "services/view/state.h"

namespace cobblestone::audit {

// One partition of the stages. The rows of each stage are of one commit; where a slot has all stages, they are
// of the same commit.
struct AuditedState {
  const view::Rows& claims;
  const view::Rows& grants;
  const view::Rows& accounts;
  const view::Rows& teams;
  // The next records that `accounts` reads in `grants`, and `teams` in `postings`.
  std::uint64_t grants_end = 0;
  std::uint64_t postings_end = 0;
};

// Threads: one.
class AuditedPipeline {
 public:
  virtual ~AuditedPipeline() = default;

  [[nodiscard]] virtual std::uint32_t partitions() const = 0;
  [[nodiscard]] virtual bool lockstep() const = 0;
  // Calls `look` once with the state of the partition and returns its status. The state is valid during the
  // call. All records before its positions are durable. Partitions may stand at different commits.
  virtual Status Look(std::uint32_t partition, const std::function<Status(const AuditedState&)>& look) = 0;
  // A reader of one topic. The pipeline must outlive the result.
  virtual std::unique_ptr<stream::IndexedLog> LogOf(stream::TopicIndex topic) = 0;
  // Finds the records of one result. The first call may index the ledger.
  virtual Result<view::Ledger*> ledger() = 0;
};

}  // namespace cobblestone::audit
