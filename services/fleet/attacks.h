// What an attacker does: how it invents claims, which jobs it keeps, and when it takes a new identity. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone::fleet {

// How the claim of the n-th job of an identity (n from 0) follows from an honest claim.
enum class ClaimPattern : std::uint8_t {
  kHonest,
  kConstant,    // times `factor`
  kRamp,        // times growth^n, at most `factor`
  kSawtooth,    // times growth^(n mod period), at most `factor`
  kSpike,       // times `factor` for every `period`-th job, else honest
  kSandbag,     // divided by `factor` for the first `first_jobs` jobs, then honest
  kVolatility,  // times `factor` and divided by `factor`, in turn
  // The elapsed time is `factor` times the one estimated for the job, whatever the job needed: a constant PFC/E.
  kEstimate,
};

// What a false claim changes.
enum class ClaimChannel : std::uint8_t {
  kTime,       // the elapsed time, at most the time since the dispatch
  kBenchmark,  // the speed that the client reports; the server cannot compare it with anything
};

enum class NewIdentity : std::uint8_t {
  kHost,     // a new host of the same account
  kAccount,  // a new host of a new account
};

// What becomes of a job that the attacker does not want.
enum class Unwanted : std::uint8_t {
  kAbortedByUser,
  kAbortedByProject,  // as if the project had cancelled it (exit status 202)
  kWithheld,          // never reported: it is in progress until it times out at its deadline
  // The client detaches, or looks as if it had been reset: the server ends the job as a client's error.
  kDetached,
};

struct Attack {
  std::uint32_t start = 0;  // jobs of an identity before the attack begins
  ClaimPattern pattern = ClaimPattern::kHonest;
  ClaimChannel channel = ClaimChannel::kTime;
  double factor = 10;
  double growth = 1.01;
  std::uint32_t period = 30;      // jobs
  std::uint32_t first_jobs = 12;  // jobs
  double benchmark = 0;    // FLOP/s that the client reports instead of the measured speed; 0: the measured
  bool anonymous = false;  // the client runs the version on the anonymous platform
  bool fabricate = false;  // invented outputs after a hundredth of the run time
  double fabricate_share = 1;  // of the jobs, at random
  // Outputs are invented only while the identity has so many replicated valid results since its last invalid one.
  std::uint32_t build = 0;
  // The attacker keeps this share of the jobs, those of the smallest size for their estimate, and ends the others at
  // their start.
  double keep_share = 1;
  Unwanted unwanted = Unwanted::kAbortedByUser;
  std::uint32_t fail_every = 0;  // the last of so many jobs ends at its start with an error; 0: none
  std::uint32_t late_every =
      0;  // the last of so many jobs is returned half a delay bound after its deadline; 0: none
  bool one_account = false;  // all attackers are machines of one account, so that they never share a workunit
  bool rehome = false;       // of two attackers the one with the more efficient version reports all results
  std::uint32_t version_every =
      0;  // jobs, then the attacker takes the app's next CPU version; 0: the newest only
  // Trickles instead of each one, each of which claims another 100 h of elapsed time; 0: the true one.
  std::uint32_t trickles = 0;
  std::uint32_t repeat = 0;  // further copies of each completion and validation; they are also replayed later
  // After so many dispatched jobs the attacker waits until none is in progress, and takes a new identity; 0: never.
  std::uint32_t recycle_every = 0;
  NewIdentity identity = NewIdentity::kHost;
  // An account manager reports so many times the machine's CPUs, their speed, and its work.
  double reports = 1;

  friend bool operator==(const Attack&, const Attack&) = default;
};

// none, inflate (ten times the elapsed time) or fabricate. InvalidArgument names them.
Result<Attack> AttackByName(std::string_view name);

// What the honest claim of the n-th job of an identity is multiplied by.
double ClaimFactor(const Attack& attack, std::uint32_t n);

// Whether the attacker computes the job. `size_rank`: share of all jobs that are smaller for their estimate.
enum class JobFate : std::uint8_t { kComputed, kUnwanted, kFailed };
JobFate FateOf(const Attack& attack, std::uint32_t n, double size_rank);

}  // namespace cobblestone::fleet
