#include "common/credit/scales/scales.h"

#include "common/credit/scales/scales_boinc.h"
#include "common/credit/scales/scales_creditnew.h"

namespace cobblestone::credit {
namespace {

bool AsBoinc(PolicyKind kind) { return kind == PolicyKind::kBoinc || kind == PolicyKind::kRuntime; }

bool IsHeld(std::uint64_t version, const ScaleState& state) {
  for (const auto& [app, copies] : state.validators) {
    for (const ValidatorCopy& copy : copies) {
      if (copy.version == version) return true;
    }
  }
  return false;
}

}  // namespace

void ApplyTick(double now, std::span<const Sample> samples, const Catalogue& catalogue, ScaleState& state) {
  std::map<std::uint64_t, std::vector<Sample>> by_app;  // keeps the order within an app
  for (const Sample& sample : samples) by_app[sample.app.value].push_back(sample);
  for (const auto& [id, app] : catalogue.apps) {
    const std::vector<Sample>& of_app = by_app[id];
    if (AsBoinc(app.policy.kind)) {
      ApplyTickBoinc(now, AppId(id), of_app, catalogue, state);
    } else {
      ApplyTickCreditNew(now, AppId(id), of_app, catalogue, state);
    }
  }
  state.table.epoch += 1;
  state.table.time = now;
}

void ApplyCatalogue(const Catalogue& catalogue, ScaleState& state) {
  ScaleTable& table = state.table;
  for (const auto& [id, version] : catalogue.versions) {
    if (!version.deleted) table.versions.try_emplace(id);
  }
  std::erase_if(table.versions, [&](const auto& entry) {
    const AppVersionId id(static_cast<std::int64_t>(entry.first));
    return catalogue.FindVersion(id) == nullptr && !IsHeld(entry.first, state);
  });
  for (const auto& [id, app] : catalogue.apps) {
    const auto [it, is_new] = table.apps.try_emplace(id);
    if (is_new && app.min_avg_pfc.has_value()) {
      it->second.min_avg_pfc = *app.min_avg_pfc;
      it->second.defined = true;
    }
  }
  table.epoch += 1;
}

void ApplyValidatorRestart(ScaleState& state) {
  for (const auto& [app, copies] : state.validators) {
    for (const ValidatorCopy& copy : copies) {
      const auto it = state.table.versions.find(copy.version);
      if (it == state.table.versions.end()) continue;
      it->second.cached = false;
      it->second.cached_pfc = {};
      it->second.cached_scale = 0;
    }
  }
  state.validators.clear();
  state.table.epoch += 1;
}

}  // namespace cobblestone::credit
