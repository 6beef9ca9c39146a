// The coordinator's arithmetic: version averages from sorted samples, version scales, min_avg_pfc
// (docs/rules.md, section 8; boinc: golden README, items 24 to 27). Pure: the state is a value.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "common/credit/model/catalogue.h"
#include "common/credit/model/model.h"
#include "common/credit/scales/work_median.h"

namespace cobblestone::credit {

// boinc: one version in the memory of its app's validator.
struct ValidatorCopy {
  std::uint64_t version = 0;
  Average pfc;  // as of the last flush, unrounded
  double scale = 0;
  double expavg_credit = 0;
  double expavg_time = 0;
  // Not yet flushed: the last flush stopped at a version before this one in the list (item 27).
  std::vector<Sample> kept;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.version, s.pfc, s.scale, s.expavg_credit, s.expavg_time, s.kept);
  }
};

// The coordinator's state of a project between ticks, except the samples since the last tick.
struct ScaleState {
  ScaleTable table;                                                // the last published table
  std::map<std::uint64_t, std::vector<ValidatorCopy>> validators;  // boinc: by app, in order of first use
  std::map<std::uint64_t, std::map<std::uint64_t, Average>> host_means;  // median option: by version, by host
  // robust: follows from host_means, by version; made at the first tick after the state was read.
  std::map<std::uint64_t, WorkMedian> work_medians;
  // robust, by app: X / what the medians give. 0: the app had another policy before, and has no medians yet.
  std::map<std::uint64_t, double> levels;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.table, s.validators, s.host_means, s.levels);
  }
};

// One tick at `now`: applies `samples` (sorted by (time, validation_id, result), all apps together) to the
// averages of versions and apps, then computes new scales. state.table is then the next epoch: epoch + 1,
// time = now. Samples of apps that are not in the catalogue are dropped.
void ApplyTick(double now, std::span<const Sample> samples, const Catalogue& catalogue, ScaleState& state);

// Updates the table to a changed catalogue: a new version has empty averages; a deleted version is removed
// unless a validator of `boinc` holds a copy; a new app has its start value of min_avg_pfc. Increments the
// epoch, which is to be published at once.
void ApplyCatalogue(const Catalogue& catalogue, ScaleState& state);

// boinc: every validator restarts: its copies and kept samples are lost. The caller drops the samples since
// the last tick. Increments the epoch, which is to be published at once.
void ApplyValidatorRestart(ScaleState& state);

}  // namespace cobblestone::credit
