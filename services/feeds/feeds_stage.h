// FEEDS, one partition, leads the stages of a federation hub, as the coordinator leads those of a project: it keeps
// the projects, the editions of their statistics and their app versions, computes the factors of plan classes once a day
// (common/federation/factors.h), and sends a watermark for each barrier.
//
// The hub's time is that of ticks of project 0. Ticks of a single project are ignored: no project moves the hub's time.
// The first tick of each day is a watermark, by which MEMBERS erases what is due.
//
// In: catalogue. Out: control (every partition): watermarks, complete editions, and how long a project's texts are kept;
// watermarks to every topic that external producers append to; identity-facts, refused.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/stream/processor.h"
#include "common/stream/table.h"
#include "common/wire/control/identity_fact.h"
#include "common/wire/events/events.h"
#include "services/feeds/feed_rows.h"
#include "services/stage/relay.h"

namespace cobblestone::feeds {

inline constexpr stream::TableSpec<stage::RelayState> kRelayTable{.id = 82, .version = 1};

struct FeedsOptions {
  std::uint32_t partitions = 1;
  double future_limit = 3600;  // s: most that an event's time may be after the time of its append
};

class FeedsStage final : public stream::Stage {
 public:
  static std::vector<stream::TopicPartition> Inputs();

  FeedsStage(const FeedsOptions& options, stream::TableHost& tables);

  void Process(std::size_t input, const stream::RecordView& record, stream::Emitter& out) override;
  [[nodiscard]] std::vector<stream::TableBase*> tables() override;

  // stage::Relay::watermarks()
  [[nodiscard]] std::uint64_t watermarks() { return relay_.watermarks(); }

 private:
  void OnProject(const stream::RecordView& record, const wire::EventHead& head, wire::FeedProject project,
                 stream::Emitter& out);
  void OnEdition(const stream::RecordView& record, const wire::EventHead& head, wire::FeedEdition edition,
                 stream::Emitter& out);
  // Adds what the edition says of the project's users to its day.
  void CountDay(const wire::EventHead& head, const wire::FeedEdition& edition, ProjectRow& project);
  // Notes a new row of an edition, and drops the oldest one that nothing refers to if there are too many.
  void NoteEdition(ProjectId project, std::uint64_t edition, const ProjectRow& row);
  void OnVersions(const stream::RecordView& record, const wire::EventHead& head, wire::FeedVersions versions,
                  stream::Emitter& out);
  void OnDecision(const stream::RecordView& record, const wire::EventHead& head,
                  const wire::IdentityDecision& decision, stream::Emitter& out);
  void OnProof(const stream::RecordView& record, const wire::EventHead& head,
               const wire::OwnershipProof& proof, stream::Emitter& out);
  void SendFact(const wire::IdentityFact& fact, stream::Emitter& out);
  // To every partition of MEMBERS.
  void RelayEvent(const wire::EventHead& head, wire::EventBody body, stream::Emitter& out);
  void OnTick(double time, stream::Emitter& out);
  void ComputeFactorsAt(double time);
  void OnHealth(const stream::RecordView& record, const wire::EventHead& head, wire::FeedHealth health,
                stream::Emitter& out);

  FeedsOptions options_;
  stream::Table<ProjectRow> projects_;
  stream::Table<EditionRow> editions_;
  stream::Table<EditionList> edition_lists_;
  stream::Table<ProjectDayRow> days_;
  stream::Table<FactorsRow> factors_;
  stream::Table<FactorsState> factors_state_;  // one row
  stage::Relay relay_;
  std::string bytes_;  // reused
};

}  // namespace cobblestone::feeds
