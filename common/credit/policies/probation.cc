#include "common/credit/policies/probation.h"

#include <algorithm>

namespace cobblestone::credit {
namespace {

// Never moves back: dispatches and errors of one host may arrive out of order.
void DelayScale(const ProbationTerms& terms, HostVersion& row) {
  row.host_scale_time = std::max(row.host_scale_time, terms.now + terms.delay_bound);
}

}  // namespace

bool OnProbation(const HostVersion& row, bool host_scale_check) {
  return row.scale_probation && (host_scale_check || row.host_scale_time > 0);
}

HostTrust TrustOf(bool on_probation, double host_scale_time, double now) {
  if (now < host_scale_time) return HostTrust::kNoScale;
  return on_probation ? HostTrust::kAtMostOne : HostTrust::kTrusted;
}

void NoteDispatch(const ProbationTerms& terms, HostVersion& row) {
  if (terms.host_scale_check && row.scale_probation) DelayScale(terms, row);
}

void NoteUnreliable(const ProbationTerms& terms, HostVersion& row) {
  if (!terms.host_scale_check) return;
  row.scale_probation = true;
  DelayScale(terms, row);
}

void NoteOneTimeCheat(const ProbationTerms& terms, const Constants& constants, HostVersion& row) {
  row.error_rate = constants.error_rate_initial;
  row.scale_probation = true;
  DelayScale(terms, row);
}

void NoteValidated(const ProbationTerms& terms, HostVersion& row) {
  if (terms.now > row.host_scale_time) row.scale_probation = false;
}

}  // namespace cobblestone::credit
