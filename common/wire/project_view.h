// A project as a stage sees it: catalogue and scales as relayed by the coordinator, and the time that has passed.
#pragma once

#include <cstdint>
#include <map>

#include "common/base/status.h"
#include "common/credit/catalogue.h"
#include "common/wire/control_codec.h"

namespace cobblestone::wire {

// Since when an app's events and workunits are remembered. Never goes back, however the app's window changes: what lies
// before was forgotten under a shorter window, so a repeat of it could not be told from news.
struct Horizon {
  double results = 0;    // UNIX s: what was sent before it is too late
  double workunits = 0;  // UNIX s: what was decided before it is forgotten
  // s. A completion is taken in within the window after its result was sent, and may wait as long for its validation: so
  // long CLAIMS may say something of a result once more, under another host; and a window may have been longer then.
  double longest_window = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.results, s.workunits, s.longest_window);
  }
};

struct ProjectView {
  credit::Catalogue catalogue;
  credit::ScaleTable scales;
  // Every policy version that was ever in force, by app and version: old claims name theirs.
  std::map<std::uint64_t, std::map<std::uint32_t, credit::PolicyVersion>> policies;
  double time = 0;                            // of the last tick, UNIX s
  std::map<std::uint64_t, Horizon> horizons;  // by app

  [[nodiscard]] const Horizon& HorizonOf(AppId app) const;
  // The constants that `version` of the app's policy had; null when there never was one.
  [[nodiscard]] const credit::PolicyVersion* FindPolicy(AppId app, std::uint32_t version) const;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.catalogue, s.scales, s.policies, s.time, s.horizons);
  }
};

// Applies a catalogue event or an epoch; a tick moves the time. Horizons follow. kCorrupted for what the coordinator cannot have relayed.
Status ApplyControl(const ControlView& control, ProjectView& view);

}  // namespace cobblestone::wire
