// The oracle's own implementation of trickles (docs/rules.md, sections 35 to 41): the earnings of a running job, and
// their settlement. It does not know scales, so no version and no host of the traffic may have enough samples for
// one. It does not know limits of devices either, so none may be set. Inside tests/support only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schemas/events.pb.h"

namespace cobblestone::testing {

// A job that is paid while it runs, under the terms at its dispatch.
class OracleJob {
 public:
  struct Terms {
    v1::Envelope dispatch;
    std::vector<v1::TrickleRule> rules;
    double cobblestones_per_gflops_day = 200;
    double project_cap = 0;  // Cobblestones; 0: none
    double host_speed = 0;   // FLOP/s
    bool anonymous = false;  // without an app version in the catalogue
  };
  explicit OracleJob(Terms terms);

  // Returns the reason of the refusal, or null and the newly earned micro-credits.
  const char* Apply(const v1::Trickle& message, double time, std::int64_t* micro);
  // Applies other rules and another credit rate to all messages, past and future, if the job is then worth `expected`
  // micro-credits. Returns the reason of the refusal, or null. Limits of host speeds are unchanged.
  const char* Reprice(const std::vector<v1::TrickleRule>& rules, double cobblestones_per_gflops_day,
                      std::int64_t expected);
  [[nodiscard]] std::int64_t paid() const { return paid_; }

 private:
  struct Received {
    double best = 0;  // within all bounds; unit by rule: s, steps, fraction or days
    std::map<std::uint64_t, double> increments;  // s, by sequence
    double latest = 0;                           // UNIX s, of the increments
  };

  [[nodiscard]] double CreditOf(double flops) const;
  [[nodiscard]] double Worth(const v1::TrickleRule& rule, double mark) const;
  [[nodiscard]] double Within(const v1::TrickleRule& rule, double mark, double wall) const;

  Terms terms_;
  double sent_ = 0;
  double cpus_ = 1;
  std::map<std::string, Received> received_;  // by variety
  std::int64_t paid_ = 0;
};

// Users who were paid for a job, in the order of their first payment.
struct OraclePartials {
  std::uint64_t user = 0;
  std::int64_t micro = 0;
  double newest = 0;          // time of the user's last payment
  std::int64_t reversed = 0;  // by operators, while the job ran
};
using OraclePaid = std::vector<OraclePartials>;

// The amounts to reverse, by index in `paid`, if the job was worth `worth` in total.
std::vector<std::int64_t> ReversedShares(const OraclePaid& paid, std::int64_t worth,
                                         const std::string& settlement);

const char* BadTrickle(const v1::Trickle& trickle);

}  // namespace cobblestone::testing
