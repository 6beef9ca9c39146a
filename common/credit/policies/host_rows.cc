#include "common/credit/policies/host_rows.h"

#include <utility>

#include "common/credit/policies/reliability.h"

namespace cobblestone::credit {

const HostVersion* PredecessorOf(const HostRecord& host, AppVersionId id, const Catalogue& catalogue) {
  const AppVersionRow* version = catalogue.FindVersion(id);
  if (version == nullptr) return nullptr;
  const HostVersion* best = nullptr;
  std::uint32_t best_number = 0;
  for (const HostVersion& row : host.versions) {
    const AppVersionRow* other = catalogue.FindVersion(row.version);
    if (other == nullptr || other->app != version->app || other->platform != version->platform ||
        other->plan_class != version->plan_class || other->version_num >= version->version_num) {
      continue;
    }
    if (best == nullptr || other->version_num > best_number) {
      best = &row;
      best_number = other->version_num;
    }
  }
  return best;
}

const HostVersion* FindHostVersion(const HostRecord& host, AppId app, AppVersionId version) {
  for (const HostVersion& row : host.versions) {
    if (row.version == version && (!version.anonymous() || row.app == app)) return &row;
  }
  return nullptr;
}

HostVersion* FindHostVersion(HostRecord& host, AppId app, AppVersionId version) {
  return const_cast<HostVersion*>(FindHostVersion(std::as_const(host), app, version));
}

HostVersion& HostVersionFor(HostRecord& host, const AppRow& app, AppVersionId version,
                            const Catalogue& catalogue) {
  if (HostVersion* row = FindHostVersion(host, app.id, version)) return *row;

  HostVersion made;
  const HostVersion* older = PredecessorOf(host, version, catalogue);
  if (older != nullptr) {
    made = *older;
  } else {
    made.error_rate = app.policy.constants.error_rate_initial;
    made.max_jobs_per_day = FullQuota(catalogue.settings, host, IsGpuVersion(version, catalogue));
  }
  made.app = app.id;
  made.version = version;
  std::erase_if(host.versions, [&catalogue](const HostVersion& row) {
    return !row.version.anonymous() && catalogue.FindVersion(row.version) == nullptr;
  });
  host.versions.push_back(made);
  return host.versions.back();
}

}  // namespace cobblestone::credit
