// COORDINATOR, one partition: relays broadcasts (catalogue, settings) to every partition in one order, makes a mark of each
// tick and barrier (stream/marks.h), gathers the samples of all claims stages, and at each tick publishes the next epoch of
// scales.
//
// A tick goes out as a mark and comes back from every claims stage behind its samples; only when it has come back from all
// is the tick applied, to the samples that each source sent before. So an epoch depends on what lies before its tick in the
// inputs, not on how fast a partition was.
//
// Lockstep: one mark at a time. What comes behind it on `catalogue` waits until every claims stage has said that it has
// passed; so samples are all here, and a tick's epoch is on `control`, before anything that comes later is.
//
// In: catalogue, samples. Out: control (every partition), marks to every topic that others append to, refused.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/credit/model/catalogue.h"
#include "common/credit/scales/scales.h"
#include "common/stream/processor.h"
#include "common/stream/table.h"
#include "common/wire/control/topics.h"
#include "common/wire/events/events.h"
#include "common/wire/events/word.h"
#include "services/coordinator/profiles.h"

namespace cobblestone::coordinator {

struct MarkedTick {
  std::uint64_t mark = 0;
  double time = 0;  // UNIX s

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.mark, s.time);
  }
};

struct ProjectState {
  credit::Catalogue catalogue;
  credit::ScaleState scales;
  std::vector<MarkedTick> ticks;  // not yet applied, in order
  double last_tick = 0;
  std::uint64_t applied = 0;          // ticks applied so far
  std::vector<std::uint64_t> passed;  // per source: ticks that it has passed
  std::uint64_t next_batch = 0;       // number of the next row of samples
  std::uint64_t sequence = 0;         // of control records
  // Every word that was taken, by kind and subject: they are few, and a repeat of an old one must not come into
  // force again (a version that was deleted since, a policy that was replaced).
  std::map<std::string, std::vector<wire::Word>> said;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.catalogue, s.scales, s.ticks, s.last_tick, s.applied, s.passed, s.next_batch, s.sequence, s.said);
  }
};

// Samples as they came, until their tick is applied.
struct PendingSamples {
  std::uint64_t period = 0;  // ticks that their source had passed before
  std::string bytes;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.period, s.bytes);
  }
};

// `order: lockstep`: claims stages that have not said yet that they have passed the last mark. One row.
struct AwaitedStages {
  std::uint32_t stages = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.stages);
  }
};

// Of all projects: one row.
struct RelayState {
  std::uint64_t number = 0;  // of the last record of `control`
  std::uint64_t marks = 0;   // made so far

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.number, s.marks);
  }
};

// Tables of a slot, as stored (numbers are unique over all stages).
inline constexpr stream::TableSpec<ProjectState> kProjectsTable{.id = 64, .version = 2};
inline constexpr stream::TableSpec<PendingSamples> kSamplesTable{.id = 65, .version = 1};
inline constexpr stream::TableSpec<RelayState> kRelayTable{.id = 66, .version = 1};
inline constexpr stream::TableSpec<AwaitedStages> kAwaitedTable{.id = 67, .version = 1};

struct CoordinatorOptions {
  std::uint32_t partitions = 1;
  double future_limit = 3600;  // s: an event may be so much later than the time at which it was appended
  bool lockstep = false;       // `order: lockstep`
};

class CoordinatorStage final : public stream::Stage {
 public:
  enum Input : std::size_t { kCatalogue, kSamples };
  static std::vector<stream::TopicPartition> Inputs();

  CoordinatorStage(const CoordinatorOptions& options, stream::TableHost& tables);

  [[nodiscard]] bool Ready(std::size_t input) const override { return input != kCatalogue || !awaits_; }
  void Process(std::size_t input, const stream::RecordView& record, stream::Emitter& out) override;
  Status Opened() override;
  [[nodiscard]] std::vector<stream::TableBase*> tables() override;

  stream::Table<ProjectState>& projects() { return projects_; }
  stream::Table<wire::ProjectProfileRow>& profiles() { return profiles_; }
  stream::Table<RelayState>& relay() { return relay_; }
  // Made so far: each has a record in every partition of each topic that others append to.
  [[nodiscard]] std::uint64_t marks();

 private:
  void OnEvent(const stream::RecordView& record, stream::Emitter& out);
  void OnProfile(const stream::RecordView& record, const wire::EventHead& head, wire::ProjectProfile profile,
                 stream::Emitter& out);
  void OnName(const stream::RecordView& record, const wire::EventHead& head, wire::ProjectName told,
              stream::Emitter& out);
  void OnTick(ProjectId project, double time, stream::Emitter& out);
  void EmitMark(wire::Mark mark, stream::Emitter& out);
  void OnSamples(const stream::RecordView& record, stream::Emitter& out);
  void ApplyTicks(ProjectId project, std::uint32_t source, std::uint64_t mark, stream::Emitter& out);
  void DropSamples(ProjectId project);
  void PublishEpoch(ProjectId project, ProjectState& state, stream::Emitter& out);
  // The number of the next record of `control`.
  std::uint64_t NextNumber() { return ++relay_.Mutable({}).number; }
  void Relay(std::string_view record, stream::Emitter& out);
  // False: a repeat, or refused as one with other contents.
  bool IsNews(const stream::RecordView& record, const wire::Event& event, stream::Emitter& out);
  void Remember(const stream::RecordView& record, const wire::Event& event, ProjectState& state);

  CoordinatorOptions options_;
  stream::Table<ProjectState> projects_;
  stream::Table<PendingSamples> pending_;
  stream::Table<RelayState> relay_;
  stream::Table<AwaitedStages> awaited_;
  stream::Table<wire::ProjectProfileRow> profiles_;
  stream::Table<ProjectNameRow> names_;
  bool awaits_ = false;                  // derived: awaited_ says that some have not
  std::vector<credit::Sample> samples_;  // reused
  std::string bytes_;
};

}  // namespace cobblestone::coordinator
