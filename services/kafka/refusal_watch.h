// Share of refused records per project. Raises an alarm for operators and has no other effect.
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

namespace cobblestone::kafka {

struct ProjectRefusals {
  std::uint64_t records = 0;  // received records
  std::uint64_t refused = 0;  // may exceed `records`: some are refused only after a wait
  std::map<wire::RefusalReason, std::uint64_t> reasons{};
};
// Project 0: records whose project cannot be decoded.
using RefusalsByProject = std::map<ProjectId, ProjectRefusals>;

// Counts the records of one stream thread. A call costs about 1 % of the processing of a record.
class RefusalWatch final : public stream::kafka::RecordWatch {
 public:
  void Taken(std::string_view record) override;
  void Made(stream::TopicIndex topic, std::string_view record) override;
  // Any thread. Moves what was counted since the last call into *counts, adding to its values.
  void MoveTo(RefusalsByProject* counts);

 private:
  std::mutex mutex_;
  RefusalsByProject counts_;  // guarded by mutex_
  // Guarded by mutex_. Most records have the same project as the record before.
  ProjectId last_;
  ProjectRefusals* of_last_ = nullptr;  // guarded by mutex_
};

// Projects with more than `percent` refused records, out of at least 100: fewer records are no evidence.
RefusalsByProject AboveShare(const RefusalsByProject& counts, std::uint32_t percent);

// The alarm as one line of the log.
std::string RefusalAlarm(ProjectId project, const ProjectRefusals& refusals);

}  // namespace cobblestone::kafka
