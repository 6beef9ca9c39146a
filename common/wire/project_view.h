// A project as a stage sees it: catalogue and scales as relayed by the coordinator, and the time that has passed.
#pragma once

#include <cstdint>
#include <map>

#include "common/base/status.h"
#include "common/credit/catalogue.h"
#include "common/wire/control_codec.h"

namespace cobblestone::wire {

struct ProjectView {
  credit::Catalogue catalogue;
  credit::ScaleTable scales;
  // Every policy version that was ever in force, by app and version: old claims name theirs.
  std::map<std::uint64_t, std::map<std::uint32_t, credit::PolicyVersion>> policies;
  double time = 0;  // of the last tick, UNIX s

  // The constants that `version` of the app's policy had; null when there never was one.
  [[nodiscard]] const credit::PolicyVersion* FindPolicy(AppId app, std::uint32_t version) const;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.catalogue, s.scales, s.policies, s.time);
  }
};

// Applies a catalogue event or an epoch; a tick moves the time. kCorrupted for what the coordinator cannot have relayed.
Status ApplyControl(const ControlView& control, ProjectView& view);

}  // namespace cobblestone::wire
