// The client's decision which project to ask for work, and for how much. The simulator knows a policy by this interface only.
#pragma once

#include <cstdint>
#include <span>

namespace cobblestone::fleet {

// A project to which a host is attached, as its client sees it. CPU first, then GPU.
struct AttachedProject {
  double share = 1;             // resource share
  double used_seconds[2] = {};  // instance-seconds of the jobs that it has sent
  bool may_ask[2] = {};         // it has apps for the resource, and no backoff is in force
};

// What the host lacks to fill its buffer, instance-seconds. Both 0: nothing to ask.
struct Shortfall {
  double seconds[2] = {};
  double speed[2] = {};  // FLOP/s of one instance
};

struct WorkRequest {
  static constexpr std::uint32_t kNobody = ~0u;

  std::uint32_t project = kNobody;  // index of the attached project
  double seconds[2] = {};
};

class WorkFetch {
 public:
  virtual ~WorkFetch() = default;
  // Pure: the same arguments give the same request. A request asks only for resources with may_ask.
  [[nodiscard]] virtual WorkRequest Choose(std::span<const AttachedProject> projects,
                                           const Shortfall& shortfall) const = 0;
};

// Asks the project that has used least in proportion to its share; the first of equals.
class ShareProportional final : public WorkFetch {
 public:
  [[nodiscard]] WorkRequest Choose(std::span<const AttachedProject> projects,
                                   const Shortfall& shortfall) const override;
};

}  // namespace cobblestone::fleet
