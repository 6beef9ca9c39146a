#include "services/stage/project_view.h"

#include <algorithm>

#include "common/wire/control/catalogue_codec.h"
#include "common/wire/control/scale_codec.h"
#include "common/wire/events/event_codec.h"

namespace cobblestone::stage {

using wire::AppChange;
using wire::ApplyCatalogueEvent;
using wire::ControlKind;
using wire::ControlView;
using wire::DecodeEpoch;
using wire::ParseEvent;
using wire::Watermark;

namespace {

void RaiseHorizons(ProjectView& view) {
  for (const auto& [id, app] : view.catalogue.apps) {
    Horizon& horizon = view.horizons[id];
    horizon.longest_window = std::max(horizon.longest_window, app.Window());
    horizon.results = std::max(horizon.results, view.time - app.Window());
    horizon.workunits = std::max(horizon.workunits, view.time - 2 * horizon.longest_window);
  }
}

Status Apply(const ControlView& control, ProjectView& view) {
  switch (control.kind) {
    case ControlKind::kEvent: {
      const auto event = ParseEvent(control.body);
      if (!event.ok())
        return Status::Corrupted("a relayed event cannot be decoded: " + event.status().message());
      if (const auto refusal = ApplyCatalogueEvent(*event, view.catalogue))
        return Status::Corrupted("the coordinator relayed a catalogue event that does not apply: " +
                                 refusal->detail);
      if (const auto* change = std::get_if<AppChange>(&event->body)) {
        if (const credit::AppRow* app = view.catalogue.FindApp(change->app))
          view.policies[app->id.value][app->policy.version] = app->policy;
      }
      return Status::Ok();
    }
    case ControlKind::kEpoch: {
      ProjectId project;
      if (!DecodeEpoch(control.body, &project, &view.scales))
        return Status::Corrupted("a scale epoch cannot be decoded");
      return Status::Ok();
    }
    case ControlKind::kWatermark:
    case ControlKind::kNone: break;
  }
  return Status::Corrupted("a control record of an unknown kind");
}

}  // namespace

const Horizon& ProjectView::HorizonOf(AppId app) const {
  static const Horizon none;
  const auto found = horizons.find(app.value);
  return found == horizons.end() ? none : found->second;
}

const credit::PolicyVersion* ProjectView::FindPolicy(AppId app, std::uint32_t version) const {
  const auto of_app = policies.find(app.value);
  if (of_app == policies.end()) return nullptr;
  const auto found = of_app->second.find(version);
  return found == of_app->second.end() ? nullptr : &found->second;
}

Status ApplyControl(const ControlView& control, ProjectView& view) {
  Status applied = Apply(control, view);
  if (view.since == 0) view.since = control.head.number;
  if (applied.ok()) RaiseHorizons(view);
  return applied;
}

std::vector<std::uint32_t> MovedBy(const Watermark& watermark, const stream::Table<ProjectView>& projects) {
  std::vector<std::uint32_t> moved;
  if (watermark.time <= 0) return moved;  // a barrier
  projects.ForEach([&](const stream::Key& key, const ProjectView& view) {
    const bool named = !watermark.project || watermark.project.value == key.project;
    if (named && view.since < watermark.number && view.time <= watermark.time) moved.push_back(key.project);
  });
  std::sort(moved.begin(), moved.end());
  return moved;
}

void MoveTime(double time, ProjectView& view) {
  view.time = std::max(view.time, time);
  RaiseHorizons(view);
}

}  // namespace cobblestone::stage
