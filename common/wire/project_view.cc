#include "common/wire/project_view.h"

#include <algorithm>

#include "common/wire/catalogue_codec.h"
#include "common/wire/event_codec.h"
#include "common/wire/scale_codec.h"

namespace cobblestone::wire {

const credit::PolicyVersion* ProjectView::FindPolicy(AppId app, std::uint32_t version) const {
  const auto of_app = policies.find(app.value);
  if (of_app == policies.end()) return nullptr;
  const auto found = of_app->second.find(version);
  return found == of_app->second.end() ? nullptr : &found->second;
}

Status ApplyControl(const ControlView& control, ProjectView& view) {
  switch (control.kind) {
    case ControlKind::kEvent: {
      const auto event = ParseEvent(control.body);
      if (!event.ok())
        return Status::Corrupted("a relayed event does not decode: " + event.status().message());
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
        return Status::Corrupted("a scale epoch does not decode");
      return Status::Ok();
    }
    case ControlKind::kTick: view.time = std::max(view.time, control.tick_time); return Status::Ok();
    case ControlKind::kNone: break;
  }
  return Status::Corrupted("a control record of no known kind");
}

}  // namespace cobblestone::wire
