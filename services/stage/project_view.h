// A project as a stage sees it: catalogue and scales as relayed by the coordinator, and the project's event time.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/base/status.h"
#include "common/credit/model/catalogue.h"
#include "common/stream/table.h"
#include "common/wire/control/control_codec.h"

namespace cobblestone::stage {

// The times since which an app's events and workunits are remembered. A horizon never goes back, however the
// app's window changes: older state was deleted under the shorter window, so a repeat could not be
// distinguished from a new event.
struct Horizon {
  double results = 0;    // UNIX s: a result that was sent before it is too late
  double workunits = 0;  // UNIX s: a workunit that was decided before it is forgotten
  // s. A completion is accepted within the window after its result was sent, and may wait as long again for its
  // validation. During that time CLAIMS may send another record of the result, under another host; and the
  // window may have been longer then.
  double longest_window = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.results, s.workunits, s.longest_window);
  }
};

struct ProjectView {
  credit::Catalogue catalogue;
  credit::ScaleTable scales;
  // Every policy version that was ever in force, by app and version: old claims name older versions.
  std::map<std::uint64_t, std::map<std::uint32_t, credit::PolicyVersion>> policies;
  double time = 0;                            // of the last tick that has passed, UNIX s
  std::uint64_t since = 0;                    // number of the project's first record of `control`
  std::map<std::uint64_t, Horizon> horizons;  // by app

  [[nodiscard]] const Horizon& HorizonOf(AppId app) const;
  // `version` of the app's policy; null: no such version was ever in force.
  [[nodiscard]] const credit::PolicyVersion* FindPolicy(AppId app, std::uint32_t version) const;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.catalogue, s.scales, s.policies, s.time, s.since, s.horizons);
  }
};

// Applies a catalogue event or an epoch, and raises the horizons. kCorrupted: the coordinator cannot have relayed the
// record.
Status ApplyControl(const wire::ControlView& control, ProjectView& view);

// The projects whose time a watermark moves, ascending: the watermark's project, or every project that the
// coordinator knew when it sent the watermark. Time never moves back, so all stages and the coordinator agree
// on the time of each project at each watermark. A project whose time already equals the watermark's time is
// included, because a stage that processes a watermark in several commits calls this function again.
std::vector<std::uint32_t> MovedBy(const wire::Watermark& watermark,
                                   const stream::Table<ProjectView>& projects);
// Moves the project's time to that of a watermark that has passed, and raises the horizons.
void MoveTime(double time, ProjectView& view);

}  // namespace cobblestone::stage
