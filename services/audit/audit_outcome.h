// The outcome of an audit, for metrics.
#pragma once

#include <cstdint>

namespace cobblestone::audit {

struct AuditOutcome {
  double at = 0;       // UNIX s, end of the audit
  double seconds = 0;  // duration
  std::uint64_t problems = 0;
  std::uint64_t grants = 0;          // re-derived grants
  std::uint64_t waiting_grants = 0;  // grants that wait for an event about their user
  std::uint64_t expired_grants = 0;  // grants whose user's event never arrived
  // Results with a completion and no validation, or the other way round.
  std::uint64_t waiting_results = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.at, s.seconds, s.problems, s.grants, s.waiting_grants, s.expired_grants, s.waiting_results);
  }
};

}  // namespace cobblestone::audit
