// What a result's trickles were paid, span by span of its marks, and what another version of the policy makes of each: of the records
// of the ledger alone. Of those that were paid to several owners or teams, or taken back in part.
#pragma once

#include <string>
#include <vector>

#include "services/corrections/correction_worth.h"

namespace cobblestone {

struct TrickleSpan {
  ResultOwner owner;
  const ResultRecord* record = nullptr;  // a partial grant
  bool taken = false;                    // by operators, while the job ran
  // What the version makes of the whole job, where the span begins and where it ends.
  credit::MicroCredit begin = 0;
  credit::MicroCredit end = 0;
};

struct TrickleSpans {
  std::vector<TrickleSpan>
      spans;            // in the order in which they were paid; sums of them are exactly those of the whole
  std::string problem;  // why they cannot be told; empty: they can
};

// `then`: the version by which the dispatch priced them. Points into `result`.
TrickleSpans SpansAnew(const LedgerResult& result, const credit::PolicyVersion& then,
                       const credit::PolicyVersion& version);

// What a job's trickles are worth in all: of those that the decision knew, and with those that came behind it.
struct TrickleWorth {
  credit::MicroCredit before = 0;
  credit::MicroCredit all = 0;
  std::string problem;
};
TrickleWorth TricklesAnew(const LedgerResult& result, const credit::PolicyVersion& then,
                          const credit::PolicyVersion& version);

// What of a job that runs one owner and team are to have.
struct RunningShareAnew {
  ResultOwner owner;
  RunningShare now;
  credit::MicroCredit paid = 0;   // by the version
  credit::MicroCredit taken = 0;  // of that by operators
};
struct RunningAnew {
  std::vector<RunningShareAnew> shares;  // all that the job has paid
  std::string problem;
};
// By `version`, which the app's policy has had.
RunningAnew PriceRunning(const LedgerResult& result, const wire::ProjectView& view, std::uint32_t version);

}  // namespace cobblestone
