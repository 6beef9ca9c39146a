#include "services/kafka/refusal_watch.h"

#include <algorithm>

#include "common/wire/control/topics.h"
#include "common/wire/ledger/refused_codec.h"
#include "common/wire/proto_reader.h"

namespace cobblestone::kafka {

namespace {

constexpr std::uint64_t kFewest = 100;

// Envelope.project, one of the first fields that our encoders write.
ProjectId ProjectOf(std::string_view envelope) {
  wire::ProtoReader reader(envelope);
  while (const std::uint32_t tag = reader.NextTag()) {
    if (tag == wire::VarintTag(2)) return ProjectId(reader.Uint32());
    reader.Skip(tag);
  }
  return {};
}

// The number of records that the share refers to.
std::uint64_t AllOf(const ProjectRefusals& refusals) { return std::max(refusals.records, refusals.refused); }

}  // namespace

void RefusalWatch::Taken(std::string_view record) {
  const ProjectId project = ProjectOf(record);
  const std::lock_guard lock(mutex_);
  if (of_last_ == nullptr || project != last_) {
    of_last_ = &counts_[project];
    last_ = project;
  }
  ++of_last_->records;
}

void RefusalWatch::Made(stream::TopicIndex topic, std::string_view record) {
  if (topic != wire::kRefused) return;
  wire::Refused refused;
  if (!wire::DecodeRefused(record, &refused)) return;  // only counted here
  const std::lock_guard lock(mutex_);
  ProjectRefusals& of = counts_[refused.project];
  ++of.refused;
  ++of.reasons[refused.refusal.reason];
}

void RefusalWatch::MoveTo(RefusalsByProject* counts) {
  const std::lock_guard lock(mutex_);
  for (const auto& [project, more] : counts_) {
    ProjectRefusals& of = (*counts)[project];
    of.records += more.records;
    of.refused += more.refused;
    for (const auto& [reason, count] : more.reasons) of.reasons[reason] += count;
  }
  counts_.clear();
  of_last_ = nullptr;
}

RefusalsByProject AboveShare(const RefusalsByProject& counts, std::uint32_t percent) {
  RefusalsByProject above;
  for (const auto& [project, refusals] : counts)
    if (AllOf(refusals) >= kFewest && refusals.refused * 100 > AllOf(refusals) * percent)
      above[project] = refusals;
  return above;
}

std::string RefusalAlarm(ProjectId project, const ProjectRefusals& refusals) {
  std::string reasons;
  for (const auto& [reason, count] : refusals.reasons)
    reasons += (reasons.empty() ? "" : ", ") + std::string(wire::RefusalReasonName(reason)) + " " +
               std::to_string(count);
  return (project == ProjectId{} ? "without a project, "
                                 : "project " + std::to_string(project.value) + ", ") +
         std::to_string(refusals.refused) + " of " + std::to_string(AllOf(refusals)) +
         " records were refused: " + reasons +
         ". `cobblestone refused list` shows the details. Correct the sender, then send "
         "recoverable events again with `cobblestone refused resubmit`";
}

}  // namespace cobblestone::kafka
