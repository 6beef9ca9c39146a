// How much of what each project sends is refused. An alarm for operators, and nothing else: it stops nobody.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/stream/kafka/task.h"
#include "common/wire/ledger/refusal.h"

namespace cobblestone {

struct ProjectRefusals {
  std::uint64_t records = 0;  // that came
  std::uint64_t refused = 0;  // may be more: some only after a wait
  std::map<wire::RefusalReason, std::uint64_t> reasons{};
};
// Project 0: the bytes do not tell.
using RefusalsByProject = std::map<ProjectId, ProjectRefusals>;

// Counts what one stream thread processes. Each call costs a hundredth of what a record does.
class RefusalWatch final : public stream::kafka::RecordWatch {
 public:
  void Taken(std::string_view record) override;
  void Made(stream::TopicIndex topic, std::string_view record) override;
  // Any thread. What came since the last call, on top of what `counts` has.
  void MoveTo(RefusalsByProject* counts);

 private:
  std::mutex mutex_;
  RefusalsByProject counts_;  // guarded by mutex_
  ProjectId last_;            // guarded by mutex_: most records are of the project of the one before
  ProjectRefusals* of_last_ = nullptr;  // guarded by mutex_
};

// Those of which more than `percent` is refused, of a hundred records at least: fewer say nothing.
RefusalsByProject AboveShare(const RefusalsByProject& counts, std::uint32_t percent);

// One line for the log.
std::string RefusalAlarm(ProjectId project, const ProjectRefusals& refusals);

}  // namespace cobblestone
