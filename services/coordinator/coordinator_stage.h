// COORDINATOR, one partition: relays broadcasts (catalogue, settings) to every partition in one order, sends a
// watermark for each barrier and each tick that moves time (stream/watermarks.h), collects the samples of all CLAIMS
// partitions, and publishes the next epoch of scales at each tick.
//
// A tick is sent as a watermark. Each CLAIMS partition reports the watermark after its samples. Once all
// partitions have reported the watermark, the tick is applied to the samples that each partition sent before
// its report. An epoch therefore depends on the records before its tick in the inputs, not on the speed of a
// partition.
//
// Lockstep: one watermark at a time. `catalogue` is not read further until every CLAIMS partition has reported
// the watermark. All samples have therefore arrived, and a tick's epoch is on `control`, before any later event
// is relayed.
//
// In: catalogue, samples. Out: control (every partition), watermarks to every topic that external producers
// append to and other stages read, refused.
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
#include "common/wire/events/event_stamp.h"
#include "common/wire/events/events.h"
#include "services/coordinator/profiles.h"
#include "services/stage/relay.h"

namespace cobblestone::coordinator {

struct AnnouncedTick {
  std::uint64_t watermark = 0;
  double time = 0;  // UNIX s

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.watermark, s.time);
  }
};

struct ProjectState {
  credit::Catalogue catalogue;
  credit::ScaleState scales;
  std::vector<AnnouncedTick> ticks;  // not yet applied, ascending
  double last_tick = 0;
  std::uint64_t applied = 0;          // ticks applied so far
  std::vector<std::uint64_t> passed;  // by CLAIMS partition: count of ticks passed
  std::uint64_t next_batch = 0;       // number of the next row of samples
  std::uint64_t sequence = 0;         // of the project's last control record
  // The identities of all applied events, by kind and subject. All are kept, because they are few and a repeat
  // of an old event must not be applied again (an app version deleted since, a policy replaced since).
  std::map<std::string, std::vector<wire::EventStamp>> stamps;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.catalogue, s.scales, s.ticks, s.last_tick, s.applied, s.passed, s.next_batch, s.sequence, s.stamps);
  }
};

// One batch of samples as received, kept until its tick is applied.
struct PendingSamples {
  std::uint64_t period = 0;  // count of ticks that the source had passed before the batch
  std::string bytes;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.period, s.bytes);
  }
};

// `order: lockstep`: count of CLAIMS partitions that have not yet reported the last watermark. One row.
struct AwaitedStages {
  std::uint32_t stages = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.stages);
  }
};

// Tables of a slot, as stored (numbers are unique over all stages).
inline constexpr stream::TableSpec<ProjectState> kProjectsTable{.id = 64, .version = 1};
inline constexpr stream::TableSpec<PendingSamples> kSamplesTable{.id = 65, .version = 1};
inline constexpr stream::TableSpec<stage::RelayState> kRelayTable{.id = 66, .version = 1};
inline constexpr stream::TableSpec<AwaitedStages> kAwaitedTable{.id = 67, .version = 1};

struct CoordinatorOptions {
  std::uint32_t partitions = 1;
  double future_limit = 3600;  // s: most that an event's time may be after the time of its append
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
  stream::Table<stage::ProjectProfileRow>& profiles() { return profiles_; }
  stage::Relay& relay() { return relay_; }
  // stage::Relay::watermarks()
  [[nodiscard]] std::uint64_t watermarks() { return relay_.watermarks(); }

 private:
  void OnEvent(const stream::RecordView& record, stream::Emitter& out);
  void OnProfile(const stream::RecordView& record, const wire::EventHead& head, wire::ProjectProfile profile,
                 stream::Emitter& out);
  void OnName(const stream::RecordView& record, const wire::EventHead& head, wire::ProjectName change,
              stream::Emitter& out);
  void OnTick(ProjectId project, double time, stream::Emitter& out);
  std::uint64_t EmitWatermark(const wire::Watermark& watermark, stream::Emitter& out);
  void OnSamples(const stream::RecordView& record, stream::Emitter& out);
  void ApplyTicks(ProjectId project, std::uint32_t source, std::uint64_t watermark, stream::Emitter& out);
  void DropSamples(ProjectId project);
  void PublishEpoch(ProjectId project, ProjectState& state, stream::Emitter& out);
  // False for a repeat, and for an event whose id is known with other contents, which is refused here.
  bool IsNews(const stream::RecordView& record, const wire::Event& event, stream::Emitter& out);
  void Remember(const stream::RecordView& record, const wire::Event& event, ProjectState& state);

  CoordinatorOptions options_;
  stream::Table<ProjectState> projects_;
  stream::Table<PendingSamples> pending_;
  stage::Relay relay_;
  stream::Table<AwaitedStages> awaited_;
  stream::Table<stage::ProjectProfileRow> profiles_;
  stream::Table<ProjectNameRow> names_;
  stream::Table<FactorOriginsRow> factor_origins_;
  bool awaits_ = false;                  // derived: the row of `awaited_` is not 0
  std::vector<credit::Sample> samples_;  // reused
  std::string bytes_;
};

}  // namespace cobblestone::coordinator
