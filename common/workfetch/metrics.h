// The five figures of merit of BOINC's client emulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/workfetch/client.h"

namespace cobblestone::workfetch {

struct Metrics {
  double wasted = 0;           // share of the peak FLOPs that went into jobs that missed their deadline
  double idle = 0;             // share of the peak FLOPs that no job used
  double share_violation = 0;  // sum over projects of |FLOPs got - FLOPs due by share|, by the FLOPs of all
  double monotony = 0;  // 0: projects take turns at once; towards 1: a project waits long until it runs again
  double rpcs_per_job = 0;  // work requests per job received
};

// Adds up what a client does. Times in which the host is off count for nothing.
class Meter {
 public:
  explicit Meter(const Client& client);

  // Jobs that run did so for `seconds`.
  void Ran(const Client& client, double seconds);
  void Finished(const Client& client, const Job& job, double now);
  void Asked(std::size_t jobs) { ++rpcs_, jobs_ += jobs; }

  Metrics Result(const Client& client) const;

 private:
  double on_ = 0;  // s
  double wasted_ = 0;
  std::vector<double> flops_;         // per project; FLOPs of one CPU-second are 1
  std::vector<double> last_ran_;      // on_ when the project last ran
  std::vector<double> square_waits_;  // integral of (time since the project ran)^2
  std::uint64_t rpcs_ = 0;
  std::uint64_t jobs_ = 0;
};

}  // namespace cobblestone::workfetch
