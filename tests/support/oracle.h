// A second computation of what the pipeline must grant: a plain batch computation over a list of events, without
// topics, partitions, timers or persistent state. It shares no code with common/credit, the stages or the
// hand-written codecs. Its formulas are written independently from the rules of credit, so that an error would have
// to be made twice.
//
// Policies whose credit does not depend on the order of other results (benchmark, reported-flops, runtime, assigned,
// none) are computed to the micro-credit. For the others (creditnew, creditnew-v2, boinc) the oracle computes which
// results get a grant, and to which accounts; CheckCreditNewLedger() then checks the amounts of creditnew against the
// inputs that the ledger recorded. Trickles are computed for apps of the first kind.
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

// Ids of one project never affect another one: the project is part of every key.
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
  bool priced = true;      // false: the oracle does not compute the amount
  bool late = false;
  // Accounts that the grant is posted to; set by the oracle only. A host or user of 0: none.
  std::uint64_t to_host = 0;
  std::uint64_t to_user = 0;
  std::uint64_t to_team = 0;
  std::int64_t day = 0;  // of that posting
};

// Payments for trickles of a result to one user.
struct PartialOutcome {
  std::int64_t paid = 0;      // micro-credits
  std::int64_t settled = 0;   // by the decision, of `paid`
  std::int64_t reversed = 0;  // of `paid`

  friend bool operator==(const PartialOutcome&, const PartialOutcome&) = default;
};

// Corrections of a result for one user.
struct CorrectionOutcome {
  std::int64_t micro = 0;  // change of the credit
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

// Work of one host for one owner, as its account manager reports it.
struct EstimateKey {
  std::uint32_t project = 0;
  std::uint64_t user = 0;  // 0: no owner
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
  BigMicro granted = 0;  // since the first estimate, which is determined by the order of event times
  std::map<std::int64_t, EstimateDayOutcome> days;

  friend bool operator==(const EstimateOutcome&, const EstimateOutcome&) = default;
};

// Grants, postings and refusals, by the oracle or by a pipeline.
struct Outcome {
  std::map<ResultKey, GrantOutcome> grants;
  std::vector<ResultKey> granted_twice;                                    // always empty for the oracle
  std::map<std::pair<ResultKey, std::uint64_t>, PartialOutcome> partials;  // by result and user
  std::map<std::pair<ResultKey, std::uint64_t>, CorrectionOutcome> corrections;
  std::map<AccountKey, AccountOutcome> accounts;  // those with a posting or an opening
  std::map<EstimateKey, EstimateOutcome> estimates;
  std::map<std::string, std::uint64_t> refusals;  // count by the reason's name in the schema
};

// Adds a record of the topic `grants` to outcome->grants; openings are left out. False: the bytes are no grant.
bool AddLedgerRecord(std::string_view grant, Outcome* outcome);
// The same record as one readable line.
std::string DescribeLedgerRecord(std::string_view grant);
// A record of the topic `refused` as readable text, with the id of the refused event; 0: it has none.
std::pair<std::uint64_t, std::string> DescribeRefusal(std::string_view refused);
// Adds a record of the topic `refused`. False: the bytes are no refusal.
bool AddRefusedRecord(std::string_view refused, Outcome* outcome);

class Oracle {
 public:
  Oracle();
  ~Oracle();

  // Events in order of arrival.
  void Add(std::string_view envelope);
  // The outcome so far. More events may be added afterwards.
  [[nodiscard]] Outcome Finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Outcome RunOracle(std::span<const std::string> envelopes);

// The first `limit` differences between two outcomes as text; empty: none. Amounts that `expected` leaves unpriced
// are taken from `actual`, and the accounts must be their sums.
std::string Differences(const Outcome& expected, const Outcome& actual, std::size_t limit = 10);
// As Differences, but only for grants, accounts and estimates. For traffic whose order of arrival decides the reason
// of a refusal and the credit granted before a first estimate.
std::string GrantDifferences(const Outcome& expected, const Outcome& actual, std::size_t limit = 10);

// Checks grants of policy creditnew with default constants, as the topic `grants` holds them: each claim from its
// recorded inputs, each credit from the claims of its workunit, its rounding, and the averages of each host and
// version as a chain, in which one claim's result is the next claim's input. Grants of other policies are skipped.
// Empty: no error. `*checked`: the number of checked grants.
std::string CheckCreditNewLedger(std::span<const std::string> grants, std::size_t* checked);

}  // namespace cobblestone::testing
