// What the pipeline must grant, computed a second time: a plain batch computation over a list of events,
// without topics, partitions, time-outs of its own or state that outlives it. It shares no code with
// common/credit, the stages or the hand-written codecs; its formulas are written down anew from the rules of
// credit, so that an error would have to be made twice.
//
// Policies whose credit does not depend on the order of other results (benchmark, reported-flops, runtime,
// assigned, none) are computed to the micro-credit. For the others (creditnew, creditnew-v2, boinc) it says
// which results get a grant, and to which accounts; CheckCreditNewLedger() then checks the amounts of
// creditnew by what the ledger recorded. Trickles are for apps of the first kind.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace cobblestone::testing {

__extension__ using BigMicro = __int128;

// Numbers of one project never touch another's: the project is part of every key.
struct ResultKey {
  std::uint32_t project = 0;
  std::uint64_t result = 0;

  friend auto operator<=>(const ResultKey&, const ResultKey&) = default;
};

enum class OracleAccountKind { kHost, kUser, kTeam };

struct AccountKey {
  std::uint32_t project = 0;
  OracleAccountKind kind = OracleAccountKind::kHost;
  std::uint64_t account = 0;

  friend auto operator<=>(const AccountKey&, const AccountKey&) = default;
};

struct GrantOutcome {
  std::uint64_t workunit = 0;
  std::uint64_t host = 0;
  std::uint64_t user = 0;
  std::uint64_t app = 0;
  std::int64_t micro = 0;  // micro-credits
  bool priced = true;      // false: the amount is not the oracle's business
  bool late = false;
  // Which accounts it is posted to; only the oracle says so. A host or user of 0: to none.
  std::uint64_t to_host = 0;
  std::uint64_t to_user = 0;
  std::uint64_t to_team = 0;
  std::int64_t day = 0;  // of that
};

// What trickles of a result earned one user.
struct PartialOutcome {
  std::int64_t paid = 0;     // micro-credits
  std::int64_t settled = 0;  // of it, by the decision
  std::int64_t taken = 0;    // back, of that

  friend bool operator==(const PartialOutcome&, const PartialOutcome&) = default;
};

// What operators made of a result for one user.
struct CorrectionOutcome {
  std::int64_t micro = 0;  // more than before
  std::uint64_t count = 0;

  friend bool operator==(const CorrectionOutcome&, const CorrectionOutcome&) = default;
};

inline constexpr std::int64_t kDaysKept = 400;

struct AccountOutcome {
  BigMicro micro = 0;
  BigMicro provisional = 0;  // part of it
  BigMicro shown = 0;
  std::uint64_t grants = 0;
  std::map<std::uint64_t, std::pair<BigMicro, std::uint64_t>> apps;  // micro-credits and grants by app
  std::map<std::int64_t, std::pair<BigMicro, std::uint64_t>>
      days;  // the same by UNIX day, the last kDaysKept

  friend bool operator==(const AccountOutcome&, const AccountOutcome&) = default;
};

// What one host has done for one owner, by its account manager's word.
struct EstimateKey {
  std::uint32_t project = 0;
  std::uint64_t user = 0;  // 0: nobody
  std::uint64_t host = 0;

  friend auto operator<=>(const EstimateKey&, const EstimateKey&) = default;
};

struct EstimateDayOutcome {
  BigMicro micro = 0;
  BigMicro run_time = 0;
  std::uint64_t jobs = 0;
  std::uint64_t failed_jobs = 0;
  BigMicro failed_run_time = 0;

  friend bool operator==(const EstimateDayOutcome&, const EstimateDayOutcome&) = default;
};

struct EstimateOutcome {
  BigMicro micro = 0;
  BigMicro run_time = 0;  // microseconds, as all times here
  std::uint64_t jobs = 0;
  std::uint64_t failed_jobs = 0;
  BigMicro failed_run_time = 0;
  BigMicro granted = 0;  // since the first estimate; which one was first only an order of time tells
  std::map<std::int64_t, EstimateDayOutcome> days;

  friend bool operator==(const EstimateOutcome&, const EstimateOutcome&) = default;
};

// What was granted, posted and refused; by the oracle or by a pipeline.
struct Outcome {
  std::map<ResultKey, GrantOutcome> grants;
  std::vector<ResultKey> granted_twice;                                    // always empty for the oracle
  std::map<std::pair<ResultKey, std::uint64_t>, PartialOutcome> partials;  // by result and user
  std::map<std::pair<ResultKey, std::uint64_t>, CorrectionOutcome> corrections;
  std::map<AccountKey, AccountOutcome> accounts;  // those with a posting or an opening
  std::map<EstimateKey, EstimateOutcome> estimates;
  std::map<std::string, std::uint64_t> refusals;  // count by the reason's name in the schema
};

// A grant as the topic `grants` holds it, into outcome->grants; openings are left out. False: the bytes are
// no grant.
bool AddLedgerRecord(std::string_view grant, Outcome* outcome);
// The same record for people, in one line.
std::string DescribeLedgerRecord(std::string_view grant);
// A refusal as the topic `refused` holds it, for people, and the id of the event that was refused; 0: it has none.
std::pair<std::uint64_t, std::string> DescribeRefusal(std::string_view refused);
// A refusal as the topic `refused` holds it. False: the bytes are none.
bool AddRefusedRecord(std::string_view refused, Outcome* outcome);

class Oracle {
 public:
  Oracle();
  ~Oracle();

  // In order of arrival.
  void Add(std::string_view envelope);
  // Everything so far. More may be added afterwards.
  [[nodiscard]] Outcome Finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Outcome RunOracle(std::span<const std::string> envelopes);

// Where two outcomes differ, the first `limit` places in words; empty: nowhere. Amounts of grants that
// `expected` has not priced are taken from `actual`, and the accounts must be their sums.
std::string Differences(const Outcome& expected, const Outcome& actual, std::size_t limit = 10);
// As Differences, but for grants, accounts and what was estimated alone: where the order of arrival decides how an input is
// refused, and what was granted before a first estimate.
std::string GrantDifferences(const Outcome& expected, const Outcome& actual, std::size_t limit = 10);

// Grants of policy creditnew with default constants, as the topic `grants` holds them: each claim from the
// inputs that it records, each credit from the claims of its workunit, its rounding, and the averages of each
// host and version as a chain: what one claim added must be what the next one saw. Other policies' grants are
// passed over. Empty: all is well. `*checked`: how many grants were checked.
std::string CheckCreditNewLedger(std::span<const std::string> grants, std::size_t* checked);

}  // namespace cobblestone::testing
