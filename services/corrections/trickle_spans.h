// The trickle payments of a result as spans between high-water marks, and the worth of each span under
// another version of the policy, from the ledger alone. Spans are needed if several owners or teams were
// paid, or if operators revoked a part of the payments.
#pragma once

#include <string>
#include <vector>

#include "services/corrections/correction_worth.h"

namespace cobblestone::corrections {

struct TrickleSpan {
  ResultOwner owner;
  const ResultRecord* record = nullptr;  // a partial grant
  bool taken = false;                    // revoked by operators while the job ran
  // Worth of the whole job under the version, at the begin and at the end of the span.
  credit::MicroCredit begin = 0;
  credit::MicroCredit end = 0;
};

struct TrickleSpans {
  std::vector<TrickleSpan> spans;  // in order of payment; their worths sum exactly to the worth of the whole
  std::string problem;             // the reason why no spans can be computed; empty: computed
};

// `then`: the version that priced the trickles at the dispatch. The spans point into `result`.
TrickleSpans RepriceSpans(const LedgerResult& result, const credit::PolicyVersion& then,
                          const credit::PolicyVersion& version);

// The worth of a job's trickles: `before` counts trickles up to the decision, `all` also the later ones.
struct TrickleWorth {
  credit::MicroCredit before = 0;
  credit::MicroCredit all = 0;
  std::string problem;
};
TrickleWorth RepriceTrickleWorth(const LedgerResult& result, const credit::PolicyVersion& then,
                                 const credit::PolicyVersion& version);

// The new share of one owner and team in a running job.
struct RepricedRunningShare {
  ResultOwner owner;
  RunningShare now;
  credit::MicroCredit paid = 0;   // under the version
  credit::MicroCredit taken = 0;  // the part of `paid` that operators revoked
};
struct RepricedRunning {
  std::vector<RepricedRunningShare> shares;  // of all owners and teams that the job paid
  std::string problem;
};
// The shares under `version`. A version that `view` does not contain is a problem in the result.
RepricedRunning RepriceRunning(const LedgerResult& result, const stage::ProjectView& view,
                               std::uint32_t version);

}  // namespace cobblestone::corrections
