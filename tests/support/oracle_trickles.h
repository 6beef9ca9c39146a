// The oracle's own reading of trickles (docs/rules.md, sections 35 to 41): what a job that runs has earned, and what its decision
// makes of that. Of scales it knows nothing: it is for traffic in which no version and no host has enough samples for one.
// Nor of limits of devices: none are set. Inside tests/support only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schemas/events.pb.h"

namespace cobblestone::testing {

// A job that is paid while it runs, at the terms of its dispatch.
class OracleJob {
 public:
  struct Terms {
    v1::Envelope dispatch;
    std::vector<v1::TrickleRule> rules;
    double cobblestones_per_gflops_day = 200;
    double project_cap = 0;  // Cobblestones; 0: none
    double host_speed = 0;   // FLOP/s
    bool anonymous = false;  // no version of the catalogue
  };
  explicit OracleJob(Terms terms);

  // The reason of its refusal, or null and what it earns that was not paid before, micro-credits.
  const char* Hear(const v1::Trickle& message, double time, std::int64_t* micro);
  // Other rules and speeds of credit for all that it has told, and will: the reason why not, or null. Only where they come to `expected`
  // micro-credits by now. Speeds of hosts are limited as they were.
  const char* Reprice(const std::vector<v1::TrickleRule>& rules, double cobblestones_per_gflops_day,
                      std::int64_t expected);
  [[nodiscard]] std::int64_t paid() const { return paid_; }

 private:
  struct Heard {
    double best = 0;                             // s, steps, fraction, days: within all bounds
    std::map<std::uint64_t, double> increments;  // s, by sequence
    double latest = 0;                           // UNIX s, of the increments
  };

  [[nodiscard]] double CreditOf(double flops) const;
  [[nodiscard]] double Worth(const v1::TrickleRule& rule, double mark) const;
  [[nodiscard]] double Within(const v1::TrickleRule& rule, double mark, double wall) const;

  Terms terms_;
  double sent_ = 0;
  double cpus_ = 1;
  std::map<std::string, Heard> heard_;  // by variety
  std::int64_t paid_ = 0;
};

// Who was paid for a job, in the order of their first payment.
struct OraclePartials {
  std::uint64_t user = 0;
  std::int64_t micro = 0;
  double newest = 0;          // the time of the last of them
  std::int64_t reversed = 0;  // operators have taken it back, while the job ran
};
using OraclePaid = std::vector<OraclePartials>;

// What is taken back of each where the job was worth `worth`, all told, and was not before; by place in `paid`.
std::vector<std::int64_t> TakenBack(const OraclePaid& paid, std::int64_t worth,
                                    const std::string& settlement);

const char* BadTrickle(const v1::Trickle& trickle);

}  // namespace cobblestone::testing
