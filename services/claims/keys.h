// Keys of the tables of CLAIMS.
#pragma once

#include <cstdint>

#include "common/base/ids.h"
#include "common/stream/table.h"

namespace cobblestone::claims {

inline stream::Key HostKey(std::uint32_t project, HostId host) {
  return {.project = project, .id = host.value, .sub = 0};
}
inline stream::Key HostKey(ProjectId project, HostId host) { return HostKey(project.value, host); }
// The key includes the host. Otherwise a completion with a wrong host would block the right one if both hosts are in
// one partition, and only then.
inline stream::Key ResultKey(std::uint32_t project, std::uint64_t result, HostId host) {
  return {.project = project, .id = result, .sub = host.value};
}
inline stream::Key ResultKey(ProjectId project, ResultId result, HostId host) {
  return ResultKey(project.value, result.value, host);
}
inline stream::Key ProjectKey(std::uint32_t project) { return {.project = project, .id = 0, .sub = 0}; }
inline stream::Key ProjectKey(ProjectId project) { return ProjectKey(project.value); }

}  // namespace cobblestone::claims
