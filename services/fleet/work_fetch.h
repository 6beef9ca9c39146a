// The client's decision which project to ask for work, and for how much. The simulator knows a policy by this interface only.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string_view>

#include "common/workfetch/client.h"

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
  // The scheduler sends jobs of a resource while it lacks seconds or instances.
  double seconds[2] = {};
  double instances[2] = {};
};

// What a client with a memory keeps between two decisions: a few bytes, because a fleet has a million of them. The other values
// of its state (workfetch::Client) follow from the host and its jobs.
struct ClientState {
  struct AtProject {
    std::array<float, 2> debt{};     // instance-seconds
    std::array<float, 2> used{};     // instance-seconds of the jobs that ended since the last decision
    std::array<float, 2> backoff{};  // s, the interval
    std::array<std::uint32_t, 2> backoff_until{};
    float recent_flops = 0;
  };
  std::array<AtProject, 3> projects;
  std::uint32_t decided = 0;  // when
  float on_fraction = 1;
};

// A job that the host has not finished.
struct QueuedJob {
  std::uint32_t project = 0;
  bool gpu = false;
  double threads = 1;
  double estimate = 0;   // s of execution, by the server
  double duration = 0;   // s of execution, in truth
  double remaining = 0;  // of the duration
  double used = 0;       // instance-seconds since the last decision
  double end = 0;        // when it ends
};

// What a client with a memory decides by.
struct HostNow {
  double now = 0;
  std::span<const AttachedProject> projects;
  std::span<const QueuedJob> jobs;  // in order of arrival
  double instances[2] = {};
  double speed[2] = {};     // FLOP/s of one instance
  bool at_limit[2] = {};    // schedulers send no further job
  double buffer_min = 0;    // s
  double buffer_extra = 0;  // s
};

class WorkFetch {
 public:
  // Sends the request, and returns the number of jobs that it brought.
  using Ask = std::function<std::array<std::uint32_t, 2>(const WorkRequest&)>;

  virtual ~WorkFetch() = default;

  // Whether clients have a memory: then the simulator calls Decide, otherwise Choose.
  [[nodiscard]] virtual bool remembers() const { return false; }

  // Pure: the same arguments give the same request. A request asks only for resources with may_ask.
  [[nodiscard]] virtual WorkRequest Choose(std::span<const AttachedProject> /*projects*/,
                                           const Shortfall& /*shortfall*/) const {
    return {};
  }

  // At most one request. Depends on its arguments only, and updates the state. Returns when to decide again, unless a job
  // arrives or the host is no longer at a limit before.
  virtual double Decide(const HostNow& host, const Ask& /*ask*/, ClientState* /*state*/) const {
    return host.now;
  }
};

// Asks the project that has used least in proportion to its share; the first of equals.
class ShareProportional final : public WorkFetch {
 public:
  [[nodiscard]] WorkRequest Choose(std::span<const AttachedProject> projects,
                                   const Shortfall& shortfall) const override;
};

// A client that decides by common/workfetch.
class LibraryFetch final : public WorkFetch {
 public:
  explicit LibraryFetch(workfetch::Variant variant) : variant_(variant) {}

  [[nodiscard]] bool remembers() const override { return true; }
  double Decide(const HostNow& host, const Ask& ask, ClientState* state) const override;

 private:
  workfetch::Variant variant_;
};

// simple (ShareProportional), seed, rec, hybrid; null: unknown. Lives as long as the program.
const WorkFetch* WorkFetchByName(std::string_view name);

}  // namespace cobblestone::fleet
