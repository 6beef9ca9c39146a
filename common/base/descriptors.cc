#include "common/base/descriptors.h"

#include <sys/resource.h>

#include <algorithm>

namespace cobblestone {
namespace {

constexpr rlim_t kMaxDescriptors = 65536;
constexpr std::size_t kFewestConnections = 8;

}  // namespace

void RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t most = std::min(limit.rlim_max, kMaxDescriptors);
  if (limit.rlim_cur >= most) return;
  limit.rlim_cur = most;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);  // on failure DescriptorsFor() uses the unchanged limit
}

std::size_t DescriptorsFor(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  if (limit.rlim_cur < kReservedDescriptors + kFewestConnections) return 0;
  return std::min<std::size_t>(wanted, limit.rlim_cur - kReservedDescriptors);
}

}  // namespace cobblestone
