// Probation: how far a host's own speed record may be believed (S000, 'One-time cheats', 'Cherry picking';
// docs/rules.md, section 12). Pure: the state is host_scale_time and scale_probation of a HostVersion; events
// that are repeated or come in another order only move host_scale_time forward.
// Invariant: Trusted implies that a result was validated after host_scale_time, or that no rule of the app
// ever set it.
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

// What a rule of probation looks at besides the row.
struct ProbationTerms {
  bool host_scale_check = false;  // the app's cherry-picking check
  double now = 0;                 // UNIX s: time of the event
  double delay_bound = 0;         // s, 'X'
};

// On scale probation, as the app has it: rows start on probation, but without the app's check only a one-time
// cheat puts a host there, which is seen from its host_scale_time.
[[nodiscard]] bool OnProbation(const HostVersion& row, bool host_scale_check);

// How far the host scale of a claim made at `now` may go; from what a claim records.
[[nodiscard]] HostTrust TrustOf(bool on_probation, double host_scale_time, double now);

// A job was sent at terms.now: "if scale_probation is true, set host_scale_time to now+X". Check on only.
void NoteDispatch(const ProbationTerms& terms, HostVersion& row);
// A job ended in error, was discarded, timed out or failed to validate (the last one is S001's): probation.
// Check on only.
void NoteUnreliable(const ProbationTerms& terms, HostVersion& row);
// A peak FLOP count beyond one_time_cheat_factor x PFCmean(V): probation and initial error rate, check on or
// off.
void NoteOneTimeCheat(const ProbationTerms& terms, const Constants& constants, HostVersion& row);
// A result was validated; to be called after its claim was made: off probation if host_scale_time has passed.
void NoteValidated(const ProbationTerms& terms, HostVersion& row);

}  // namespace cobblestone::credit
