#include "common/credit/scales/scales_boinc.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/credit/accounts/account.h"
#include "common/credit/model/average.h"
#include "common/credit/policies/boinc_quirks.h"

namespace cobblestone::credit {
namespace {

bool IsStored(std::uint64_t version, const Catalogue& catalogue) {
  return catalogue.FindVersion(AppVersionId(static_cast<std::int64_t>(version))) != nullptr;
}

void ReadRow(const VersionScale& stored, ValidatorCopy& copy) {
  copy.pfc = stored.pfc;
  copy.scale = stored.scale;
  copy.expavg_credit = stored.expavg_credit;
  copy.expavg_time = stored.expavg_time;
}

// The validator's copy of a version; the first use reads the stored row into the copy. Null: no row exists.
ValidatorCopy* CopyOf(std::uint64_t version, const Catalogue& catalogue, ScaleTable& table,
                      std::vector<ValidatorCopy>& copies) {
  for (ValidatorCopy& copy : copies) {
    if (copy.version == version) return &copy;
  }
  if (!IsStored(version, catalogue)) return nullptr;
  ValidatorCopy& copy = copies.emplace_back();
  copy.version = version;
  ReadRow(table.versions[version], copy);
  return &copy;
}

void AddKept(double now, const Constants& constants, PolicyKind kind, ValidatorCopy& copy) {
  const AverageRule rule = VersionAverageRule(constants, kind);
  for (const Sample& sample : copy.kept) {
    if ((sample.flags & kSamplePfc) != 0) AddSample(rule, sample.pfc, copy.pfc);
  }
  RecentAverage recent{.value = copy.expavg_credit, .time = copy.expavg_time};
  for (const Sample& sample : copy.kept) {
    if ((sample.flags & kSampleCredit) == 0) continue;
    UpdateAverage(now, sample.credit_start, sample.credit, kRecentAverageHalfLife, recent);
  }
  copy.expavg_credit = recent.value;
  copy.expavg_time = recent.time;
}

bool IsFiniteCopy(const ValidatorCopy& copy) {
  return IsFinite(copy.pfc) && std::isfinite(copy.scale) && std::isfinite(copy.expavg_credit) &&
         std::isfinite(copy.expavg_time);
}

// Item 24. False: the row cannot be written, which ends the validator's flush (item 27).
bool Flush(double now, const AppRow& app, const Catalogue& catalogue, ScaleTable& table,
           ValidatorCopy& copy) {
  for (int attempt = 0; attempt < quirks::kFlushTries; ++attempt) {
    // copy.scale is the remembered scale too: only ReadRow() changes it.
    const double remembered_n = copy.pfc.n;
    const double remembered_credit = copy.expavg_credit;
    AddKept(now, app.policy.constants, app.policy.kind, copy);
    const bool writable =
        IsFiniteCopy(copy) && std::isfinite(remembered_n) && std::isfinite(remembered_credit);
    if (!writable || !IsStored(copy.version, catalogue)) return false;
    VersionScale& stored = table.versions[copy.version];
    if (stored.pfc.n == remembered_n &&
        std::abs(stored.expavg_credit - remembered_credit) < quirks::kCreditTolerance &&
        std::abs(stored.scale - copy.scale) < quirks::kScaleTolerance) {
      stored.pfc = copy.pfc;
      stored.expavg_credit = copy.expavg_credit;
      stored.expavg_time = copy.expavg_time;
      return true;
    }
    ReadRow(stored, copy);
  }
  return false;
}

void FlushApp(double now, const AppRow& app, std::span<const Sample> samples, const Catalogue& catalogue,
              ScaleState& state) {
  std::vector<ValidatorCopy>& copies = state.validators[app.id.value];
  for (const Sample& sample : samples) {
    if (sample.version.value <= 0) continue;
    ValidatorCopy* copy =
        CopyOf(static_cast<std::uint64_t>(sample.version.value), catalogue, state.table, copies);
    if (copy != nullptr && (sample.flags & (kSamplePfc | kSampleCredit)) != 0) copy->kept.push_back(sample);
  }
  for (ValidatorCopy& copy : copies) {
    if (copy.kept.empty()) continue;
    const bool written = Flush(now, app, catalogue, state.table, copy);
    copy.kept.clear();
    if (!written) break;
  }
}

// Item 25: the versions that count (the newest of each platform and plan class), by platform and id.
std::vector<const AppVersionRow*> NewestVersions(AppId app, const Catalogue& catalogue) {
  std::vector<const AppVersionRow*> newest;
  for (const auto& [id, version] : catalogue.versions) {
    if (version.app != app || version.deprecated || version.deleted) continue;
    const auto same =
        std::find_if(newest.begin(), newest.end(), [&version = version](const AppVersionRow* other) {
          return other->platform == version.platform && other->plan_class == version.plan_class;
        });
    if (same == newest.end()) {
      newest.push_back(&version);
    } else if (version.version_num > (*same)->version_num) {
      *same = &version;
    }
  }
  std::sort(newest.begin(), newest.end(), [](const AppVersionRow* a, const AppVersionRow* b) {
    return a->platform != b->platform ? a->platform < b->platform : a->id < b->id;
  });
  return newest;
}

// Mean of one kind, weighted by samples.
struct KindMean {
  int versions = 0;
  double sum = 0;
  double samples = 0;

  [[nodiscard]] double Mean() const { return versions > 0 ? sum / samples : 0; }
};

// Items 25 and 26.
void UpdateScales(const AppRow& app, const Catalogue& catalogue, ScaleTable& table) {
  const Constants& constants = app.policy.constants;
  const std::vector<const AppVersionRow*> newest = NewestVersions(app.id, catalogue);
  KindMean cpu;
  KindMean gpu;
  for (const AppVersionRow* version : newest) {
    const Average& pfc = table.versions[version->id].pfc;
    if (!(pfc.n > constants.version_average_samples)) continue;
    KindMean& kind = version->IsGpu() ? gpu : cpu;
    kind.versions += 1;
    kind.sum += pfc.mean * pfc.n;
    kind.samples += pfc.n;
  }
  AppScale& scale = table.apps[app.id.value];
  scale.cpu_mean = cpu.Mean();
  scale.gpu_mean = gpu.Mean();

  double target = 0;
  if (cpu.versions > 0 && gpu.versions > 0) {
    target = scale.cpu_mean < scale.gpu_mean ? scale.cpu_mean : scale.gpu_mean;
  } else if (cpu.versions > 1) {
    target = scale.cpu_mean;
  } else if (gpu.versions > 0) {
    target = scale.gpu_mean * constants.gpu_only_factor;
  } else {
    return;
  }
  // Item 27: a row accepts only finite numbers.
  for (const AppVersionRow* version : newest) {
    VersionScale& row = table.versions[version->id];
    if (row.pfc.n < constants.version_average_samples) continue;
    const double version_scale = target / row.pfc.mean;
    if (std::isfinite(version_scale)) row.scale = version_scale;
  }
  if (!std::isfinite(target)) return;
  scale.min_avg_pfc = target;
  scale.defined = true;
}

// Publishes the copies that price claims until the next tick.
void PublishCopies(const std::vector<ValidatorCopy>& copies, ScaleTable& table) {
  for (const ValidatorCopy& copy : copies) {
    VersionScale& published = table.versions[copy.version];
    published.cached = true;
    published.cached_pfc = copy.pfc;
    published.cached_scale = copy.scale;
  }
}

}  // namespace

void ApplyTickBoinc(double now, AppId app_id, std::span<const Sample> samples_of_app,
                    const Catalogue& catalogue, ScaleState& state) {
  const AppRow* app = catalogue.FindApp(app_id);
  if (app == nullptr) return;
  FlushApp(now, *app, samples_of_app, catalogue, state);
  UpdateScales(*app, catalogue, state.table);
  PublishCopies(state.validators[app_id.value], state.table);
}

}  // namespace cobblestone::credit
