#include "services/fleet/work_fetch.h"

namespace cobblestone::fleet {

WorkRequest ShareProportional::Choose(std::span<const AttachedProject> projects,
                                      const Shortfall& shortfall) const {
  WorkRequest request;
  double least = 0;
  for (std::uint32_t i = 0; i < projects.size(); ++i) {
    const AttachedProject& project = projects[i];
    const bool supplies =
        (project.may_ask[0] && shortfall.seconds[0] > 0) || (project.may_ask[1] && shortfall.seconds[1] > 0);
    if (!supplies) continue;
    const double used =
        (project.used_seconds[0] * shortfall.speed[0] + project.used_seconds[1] * shortfall.speed[1]) /
        project.share;
    if (request.project != WorkRequest::kNobody && used >= least) continue;
    least = used;
    request.project = i;
  }
  if (request.project == WorkRequest::kNobody) return request;
  for (const int resource : {0, 1}) {
    if (projects[request.project].may_ask[resource]) request.seconds[resource] = shortfall.seconds[resource];
  }
  return request;
}

const WorkFetch* WorkFetchByName(std::string_view name) {
  static const ShareProportional kSimple;
  static const LibraryFetch kLibrary[] = {LibraryFetch(workfetch::Variant::kSeed),
                                          LibraryFetch(workfetch::Variant::kRec),
                                          LibraryFetch(workfetch::Variant::kHybrid)};
  if (name == "simple") return &kSimple;
  for (std::size_t i = 0; i < workfetch::kVariants.size(); ++i)
    if (name == workfetch::NameOf(workfetch::kVariants[i])) return &kLibrary[i];
  return nullptr;
}

}  // namespace cobblestone::fleet
