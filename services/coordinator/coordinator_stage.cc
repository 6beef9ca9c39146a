#include "services/coordinator/coordinator_stage.h"

#include <algorithm>
#include <tuple>

#include "common/wire/control/catalogue_codec.h"
#include "common/wire/control/control_codec.h"
#include "common/wire/control/sample_source.h"
#include "common/wire/control/scale_codec.h"
#include "common/wire/events/event_check.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/events/event_line.h"
#include "services/stage/refuse.h"

namespace cobblestone::coordinator {

using stream::Emitter;
using stream::Key;
using stream::RecordView;
using wire::RefusalReason;

namespace {

// Topics that external producers append to and that stages other than the coordinator read.
constexpr wire::Topic kWatermarkedTopics[] = {wire::kHosts,       wire::kDispatches, wire::kCompletions,
                                              wire::kValidations, wire::kTrickles,   wire::kUsers,
                                              wire::kTeams};

Key ProjectKey(ProjectId project) { return {.project = project.value, .id = 0, .sub = 0}; }

// The subject of a catalogue event. The event's id is unique within its kind and subject.
std::string SubjectOf(const wire::Event& event) {
  std::string subject(wire::EventKindName(event.kind()));
  if (const auto* app = std::get_if<wire::AppChange>(&event.body))
    return subject + " " + std::to_string(app->app.value);
  if (const auto* version = std::get_if<wire::AppVersionChange>(&event.body))
    return subject + " " + std::to_string(version->row.id);
  if (const auto* factor = std::get_if<wire::PlanClassFactor>(&event.body))
    return subject + " " + factor->plan_class;
  if (const auto* opening = std::get_if<wire::OpeningAppVersion>(&event.body))
    return subject + " " + std::to_string(opening->app_version);
  if (const auto* opening = std::get_if<wire::OpeningApp>(&event.body))
    return subject + " " + std::to_string(opening->app.value);
  return subject;
}

// Total order, because sums depend on the order: samples of two hosts that claim one result agree
// in the first three fields.
bool SampleOrder(const credit::Sample& a, const credit::Sample& b) {
  const auto rank = [](const credit::Sample& s) {
    return std::tie(s.time, s.validation_id, s.result, s.host, s.line, s.app, s.version, s.flags, s.pfc,
                    s.credit, s.credit_start, s.weight);
  };
  return rank(a) < rank(b);
}

}  // namespace

std::vector<stream::TopicPartition> CoordinatorStage::Inputs() {
  return {{wire::kCatalogue, 0}, {wire::kSamples, 0}};
}

CoordinatorStage::CoordinatorStage(const CoordinatorOptions& options, stream::TableHost& tables)
    : options_(options),
      projects_(tables, kProjectsTable, true),
      pending_(tables, kSamplesTable, false),
      relay_(tables, kRelayTable, options.partitions, kWatermarkedTopics),
      awaited_(tables, kAwaitedTable, true),
      profiles_(tables, kProfileTable, false),
      names_(tables, kNameTable, false),
      factor_origins_(tables, kFactorOriginsTable, false) {
  pending_.MarkWaiting("samples");
}

std::vector<stream::TableBase*> CoordinatorStage::tables() {
  return {&projects_, &pending_, relay_.table(), &awaited_, &profiles_, &names_, &factor_origins_};
}

Status CoordinatorStage::Opened() {
  const AwaitedStages* awaited = awaited_.Find({});
  awaits_ = awaited != nullptr && awaited->stages > 0;
  return Status::Ok();
}

void CoordinatorStage::Process(std::size_t input, const RecordView& record, Emitter& out) {
  if (input == kCatalogue) {
    OnEvent(wire::WithoutLine(record), out);
  } else {
    OnSamples(record, out);
  }
}

void CoordinatorStage::PublishEpoch(ProjectId project, ProjectState& state, Emitter& out) {
  bytes_.clear();
  wire::EncodeControlEpoch(
      {.project = project, .sequence = ++state.sequence, .line = 0, .number = relay_.NextNumber()},
      state.scales.table, &bytes_);
  relay_.Send(bytes_, out);
}

bool CoordinatorStage::IsNews(const RecordView& record, const wire::Event& event, Emitter& out) {
  const ProjectState* known = projects_.Find(ProjectKey(event.head.project));
  if (known == nullptr) return true;
  const auto stamps = known->stamps.find(SubjectOf(event));
  if (stamps == known->stamps.end()) return true;
  const wire::EventStamp stamp = wire::StampOf(event.head, record.value);
  for (const wire::EventStamp& before : stamps->second) {
    if (before.id != stamp.id) continue;
    if (before.hash != stamp.hash)
      stage::Refuse(record, event.head.project, RefusalReason::kDuplicateWithOtherContents,
                    "another event of this kind and subject has this id", out);
    return false;
  }
  return true;
}

void CoordinatorStage::Remember(const RecordView& record, const wire::Event& event, ProjectState& state) {
  state.stamps[SubjectOf(event)].push_back(wire::StampOf(event.head, record.value));
}

void CoordinatorStage::OnEvent(const RecordView& record, Emitter& out) {
  auto event = wire::ParseEvent(record.value);
  if (!event.ok())
    return stage::Refuse(record, {}, RefusalReason::kUndecodable, event.status().message(), out);
  const ProjectId project = event->head.project;
  if (auto refusal = wire::CheckEvent(*event))
    return stage::Refuse(record, project, refusal->reason, std::move(refusal->detail), out);
  double time = event->head.time;
  if (const auto* tick = std::get_if<wire::Tick>(&event->body)) time = std::max(time, tick->time);
  if (auto refusal = stage::FromTheFuture(record, time, options_.future_limit))
    return stage::Refuse(record, project, refusal->reason, std::move(refusal->detail), out);
  // A tick is compared with the last tick by time only, because time never goes back. A repeated barrier is a
  // new barrier.
  if (std::holds_alternative<wire::Tick>(event->body))
    return OnTick(project, std::get<wire::Tick>(event->body).time, out);
  if (const auto* barrier = std::get_if<wire::Barrier>(&event->body))
    return void(EmitWatermark({.barrier = event->head.id, .ends_period = barrier->ends_period}, out));
  if (auto* profile = std::get_if<wire::ProjectProfile>(&event->body))
    return OnProfile(record, event->head, std::move(*profile), out);
  if (auto* name = std::get_if<wire::ProjectName>(&event->body))
    return OnName(record, event->head, std::move(*name), out);
  if (!IsNews(record, *event, out)) return;
  switch (event->kind()) {
    case wire::EventKind::kApp:
    case wire::EventKind::kAppVersion:
    case wire::EventKind::kSettings:
    case wire::EventKind::kPlanClassFactor: {
      credit::Catalogue changed;
      if (const ProjectState* known = projects_.Find(ProjectKey(project))) changed = known->catalogue;
      if (auto refusal = wire::ApplyCatalogueEvent(*event, changed))
        return stage::Refuse(record, project, refusal->reason, std::move(refusal->detail), out);
      ProjectState& state = projects_.Mutable(ProjectKey(project));
      state.passed.resize(options_.partitions);
      state.catalogue = std::move(changed);
      Remember(record, *event, state);
      if (const auto* factor = std::get_if<wire::PlanClassFactor>(&event->body))
        factor_origins_.Mutable(ProjectKey(project)).origins[factor->plan_class] = {
            .time = event->head.time, .provenance = factor->provenance};
      bytes_.clear();
      wire::EncodeControlEvent({.project = project,
                                .sequence = ++state.sequence,
                                .line = record.line,
                                .number = relay_.NextNumber()},
                               record.value, &bytes_);
      relay_.Send(bytes_, out);
      credit::ApplyCatalogue(state.catalogue, state.scales);
      return PublishEpoch(project, state, out);
    }
    case wire::EventKind::kValidatorRestart: {
      if (projects_.Find(ProjectKey(project)) == nullptr)
        return stage::Refuse(record, project, RefusalReason::kUnknownApp, "the project has no apps", out);
      DropSamples(project);
      ProjectState& state = projects_.Mutable(ProjectKey(project));
      Remember(record, *event, state);
      credit::ApplyValidatorRestart(state.scales);
      return PublishEpoch(project, state, out);
    }
    case wire::EventKind::kOpeningAppVersion: {
      const auto& opening = std::get<wire::OpeningAppVersion>(event->body);
      const ProjectState* known = projects_.Find(ProjectKey(project));
      if (known == nullptr || known->catalogue.versions.count(opening.app_version) == 0)
        return stage::Refuse(record, project, RefusalReason::kUnknownAppVersion,
                             std::to_string(opening.app_version), out);
      ProjectState& state = projects_.Mutable(ProjectKey(project));
      Remember(record, *event, state);
      credit::VersionScale& row = state.scales.table.versions[opening.app_version];
      row.pfc = opening.pfc;
      row.scale = opening.pfc_scale;
      row.expavg_credit = opening.expavg_credit;
      row.expavg_time = opening.expavg_time;
      ++state.scales.table.epoch;
      return PublishEpoch(project, state, out);
    }
    case wire::EventKind::kOpeningApp: {
      const auto& opening = std::get<wire::OpeningApp>(event->body);
      const ProjectState* known = projects_.Find(ProjectKey(project));
      if (known == nullptr || known->catalogue.apps.count(opening.app.value) == 0)
        return stage::Refuse(record, project, RefusalReason::kUnknownApp, std::to_string(opening.app.value),
                             out);
      ProjectState& state = projects_.Mutable(ProjectKey(project));
      Remember(record, *event, state);
      credit::AppScale& row = state.scales.table.apps[opening.app.value];
      row.defined = opening.min_avg_pfc.has_value();
      row.min_avg_pfc = opening.min_avg_pfc.value_or(0);
      ++state.scales.table.epoch;
      return PublishEpoch(project, state, out);
    }
    default:
      return stage::Refuse(record, project, RefusalReason::kNotSupported,
                           "events of this kind are not allowed on this topic", out);
  }
}

void CoordinatorStage::OnProfile(const RecordView& record, const wire::EventHead& head,
                                 wire::ProjectProfile profile, Emitter& out) {
  const wire::EventStamp stamp = wire::StampOf(head, record.value);
  if (const stage::ProjectProfileRow* before = profiles_.Find(ProjectKey(head.project))) {
    const wire::StampOrder standing = wire::CompareStamps(stamp, before->stamp);
    if (standing == wire::StampOrder::kOtherContents)
      return stage::Refuse(record, head.project, RefusalReason::kDuplicateWithOtherContents,
                           "another profile of the project has this id", out);
    if (standing != wire::StampOrder::kNewer) return;
  }
  profiles_.Mutable(ProjectKey(head.project)) = {.stamp = stamp, .profile = std::move(profile)};
}

// Name and URL are each set by the newest event that contains them.
void CoordinatorStage::OnName(const RecordView& record, const wire::EventHead& head, wire::ProjectName change,
                              Emitter& out) {
  const wire::EventStamp stamp = wire::StampOf(head, record.value);
  static const ProjectNameRow kNothing;
  const ProjectNameRow* found = names_.Find(ProjectKey(head.project));
  const ProjectNameRow& before = found != nullptr ? *found : kNothing;
  const wire::StampOrder name = wire::CompareStamps(stamp, before.name_stamp);
  const wire::StampOrder url = wire::CompareStamps(stamp, before.url_stamp);
  if (name == wire::StampOrder::kOtherContents || url == wire::StampOrder::kOtherContents)
    return stage::Refuse(record, head.project, RefusalReason::kDuplicateWithOtherContents,
                         "another name of the project has this id", out);
  const bool new_name = !change.name.empty() && name == wire::StampOrder::kNewer;
  const bool new_url = !change.url.empty() && url == wire::StampOrder::kNewer;
  if (!new_name && !new_url) return;
  ProjectNameRow& row = names_.Mutable(ProjectKey(head.project));
  if (new_name) {
    row.name_stamp = stamp;
    row.name = std::move(change.name);
  }
  if (new_url) {
    row.url_stamp = stamp;
    row.url = std::move(change.url);
  }
}

// A tick without a project is a tick of every project.
void CoordinatorStage::OnTick(ProjectId project, double time, Emitter& out) {
  std::vector<Key> moved;  // time never goes back; a repeat has no effect
  projects_.ForEach([&](const Key& key, const ProjectState& state) {
    if ((!project || key.project == project.value) && time > state.last_tick) moved.push_back(key);
  });
  if (moved.empty()) return;
  std::sort(moved.begin(), moved.end());
  const std::uint64_t watermark = EmitWatermark({.project = project, .time = time}, out);
  for (const Key& key : moved) {
    ProjectState& state = projects_.Mutable(key);
    state.last_tick = time;
    state.ticks.push_back({.watermark = watermark, .time = time});
  }
}

std::uint64_t CoordinatorStage::EmitWatermark(const wire::Watermark& watermark, Emitter& out) {
  if (options_.lockstep) {
    awaited_.Mutable({}).stages = options_.partitions;
    awaits_ = true;
  }
  return relay_.SendWatermark(watermark, out);
}

void CoordinatorStage::OnSamples(const RecordView& record, Emitter& out) {
  wire::SampleSource source;
  if (!wire::DecodeSampleSource(record.value, &source))
    return out.Fail(Status::Corrupted("a batch of samples cannot be decoded"));
  if (source.partition >= options_.partitions)
    return out.Fail(Status::Corrupted("samples of an unknown partition"));
  if (source.passed_watermark != 0) {
    std::vector<std::uint32_t> waiting;
    projects_.ForEach([&](const Key& key, const ProjectState& state) {
      if (!state.ticks.empty()) waiting.push_back(key.project);
    });
    std::sort(waiting.begin(), waiting.end());
    for (const std::uint32_t project : waiting)
      ApplyTicks(ProjectId(project), source.partition, source.passed_watermark, out);
    if (options_.lockstep) awaits_ = --awaited_.Mutable({}).stages > 0;
    return;
  }
  if (projects_.Find(ProjectKey(source.project)) == nullptr)
    return out.Fail(Status::Corrupted("samples of an unknown project"));
  ProjectState& state = projects_.Mutable(ProjectKey(source.project));
  PendingSamples& row =
      pending_.Mutable({.project = source.project.value, .id = state.next_batch++, .sub = source.partition});
  row.period = state.passed[source.partition];
  row.bytes = record.value;
}

// Records that partition `source` of CLAIMS has passed `watermark`, and applies each tick that all partitions
// have passed.
void CoordinatorStage::ApplyTicks(ProjectId project, std::uint32_t source, std::uint64_t watermark,
                                  Emitter& out) {
  const std::vector<AnnouncedTick>& ticks = projects_.Need(ProjectKey(project)).ticks;
  if (std::none_of(ticks.begin(), ticks.end(),
                   [watermark](const AnnouncedTick& tick) { return tick.watermark == watermark; }))
    return;
  ProjectState& state = projects_.Mutable(ProjectKey(project));
  ++state.passed[source];
  while (!state.ticks.empty() &&
         *std::min_element(state.passed.begin(), state.passed.end()) > state.applied) {
    std::vector<Key> keys;
    samples_.clear();
    pending_.WalkProject(project.value, [&](const Key& key, const PendingSamples& row) {
      if (row.period > state.applied) return;
      keys.push_back(key);
      ProjectId named;
      if (!wire::DecodeSampleBatch(row.bytes, &named, &samples_))
        pending_.Damaged(key, "a batch of samples in the row cannot be decoded");
    });
    std::sort(samples_.begin(), samples_.end(), SampleOrder);
    std::sort(keys.begin(), keys.end());
    for (const Key& key : keys) pending_.Erase(key);
    credit::ApplyTick(state.ticks.front().time, samples_, state.catalogue, state.scales);
    state.ticks.erase(state.ticks.begin());
    ++state.applied;
    PublishEpoch(project, state, out);
  }
}

void CoordinatorStage::DropSamples(ProjectId project) {
  std::vector<Key> keys;
  pending_.WalkProject(project.value, [&](const Key& key, const PendingSamples&) { keys.push_back(key); });
  std::sort(keys.begin(), keys.end());
  for (const Key& key : keys) pending_.Erase(key);
}

}  // namespace cobblestone::coordinator
