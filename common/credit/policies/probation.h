// Probation: how far a host's own speed record is trusted (S000, 'One-time cheats', 'Cherry picking';
// docs/rules.md, section 12). Pure: the state is host_scale_time and scale_probation of a HostVersion.
// Repeated or reordered events can only move host_scale_time forward.
// Invariant: kTrusted implies that a result was validated after host_scale_time, or that no rule of the app
// ever set host_scale_time.
#pragma once

#include <cstdint>

#include "common/credit/model/constants.h"
#include "common/credit/model/model.h"

namespace cobblestone::credit {

enum class HostTrust : std::uint8_t {
  kTrusted,    // the host scale applies
  kAtMostOne,  // on probation, host_scale_time has passed: the host scale is limited to 1
  kNoScale,    // before host_scale_time: no host scale
};

// The inputs of a probation rule besides the row.
struct ProbationTerms {
  bool host_scale_check = false;  // the app's cherry-picking check
  double now = 0;                 // UNIX s: time of the event
  double delay_bound = 0;         // s; 'X' in S000
};

// Whether scale probation is effective. Every row starts with scale_probation set; without the app's check only
// a one-time cheat makes probation effective, and a host_scale_time above 0 shows the cheat.
[[nodiscard]] bool OnProbation(const HostVersion& row, bool host_scale_check);

// The limit on the host scale of a claim priced at `now`, from values that the claim records.
[[nodiscard]] HostTrust TrustOf(bool on_probation, double host_scale_time, double now);

// A job was sent at terms.now: "if scale_probation is true, set host_scale_time to now+X". Only with the app's
// check on.
void NoteDispatch(const ProbationTerms& terms, HostVersion& row);
// A job ended in error, was discarded, timed out or failed to validate (the last case from S001): probation
// starts. Only with the app's check on.
void NoteUnreliable(const ProbationTerms& terms, HostVersion& row);
// A PFC/E above one_time_cheat_factor x PFCmean(V): probation starts and the error rate is reset to the initial
// value, with the app's check on or off.
void NoteOneTimeCheat(const ProbationTerms& terms, const Constants& constants, HostVersion& row);
// A result was valid: probation ends if host_scale_time has passed. Call after the result's claim is priced.
void NoteValidated(const ProbationTerms& terms, HostVersion& row);

}  // namespace cobblestone::credit
