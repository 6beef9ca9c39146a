// Whether a statistics file that was read without a problem takes effect, or is held because what it says is not
// plausible against tables.xml and against the last file that took effect. Pure functions, for any thread.
//
// Invariant: a file that is not accepted changes nothing: totals, names and ranks stay those of the last accepted file,
// and the project is "unknown since" that file, never at zero.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/credit/accounts/account.h"
#include "common/stream/hash128.h"
#include "services/hub/feeds/statistics_reader.h"
#include "services/hub/feeds/tables_file.h"

namespace cobblestone::hub {

struct AcceptanceLimits {
  // Share of the records of the last file that may be missing, or about other accounts. Projects that introduced consent
  // lost most of their users overnight; a truncated query looks the same.
  double disappeared = 0.05;
  // Share of the last total by which the total may fall.
  double total_falls = 0.02;
  // Relative difference between the sum of the figures and tables.xml, which is a sum of doubles.
  double sum_differs = 1e-6;
  // Cobblestones a day that one host can earn: 24 h at 1 PFLOPS give 2 x 10^8.
  double host_per_day = 2e8;
  // A user or a team: the speed of all of BOINC, 100 PFLOPS.
  double account_per_day = 2e10;
  // Share of the records that at least doubled. In a young project most may; the second fetch an hour later confirms them.
  double multiplied = 0.5;
  // Shares of the compared records that may have less credit, or another cross-project id. On any day a few in a hundred do.
  double fell = 0.5;
  double other_ids = 0.5;
  // Shares of fewer records than these say nothing.
  std::uint64_t fewest_compared = 10;
  // Share of the records whose credit changed, from which on these are compared with each other (ChangedTotals). Elsewhere
  // about one record in twenty changes in a day.
  double changed = 0.1;
  // Share of the changed totals that another account had in the last file. Where all totals are multiples of one number,
  // this is at most 1/e of them by chance.
  double of_others = 2.0 / 3;
  std::uint64_t fewest_changed = 30;
  double clock_ahead = 86400;  // s
  // s between two fetches with the same contents of which the second confirms the first.
  double confirm_after = 3600;
};

// A sample of the totals that changed, at most kMost, evenly from the whole file. Two questions about it, whose answers are
// no in the files of any day: are these the totals that other accounts had, and did all change by the same factor?
class ChangedTotals {
 public:
  static constexpr std::size_t kMost = 4096;

  void Note(credit::MicroCredit before, credit::MicroCredit now);
  // Behind the last Note(): every total of the last file, in any order.
  void NoteOld(credit::MicroCredit total);

  [[nodiscard]] std::uint64_t changed() const { return changed_; }
  [[nodiscard]] std::size_t sampled() const { return sample_.size(); }
  // Of the sample: how many have the total that exactly one account had in the last file.
  [[nodiscard]] std::size_t OfOthers() const;
  // The factor by which most of the sample changed, and how many did by it, to the last digit of their totals.
  struct Scaled {
    double factor = 1;
    std::size_t count = 0;
  };
  [[nodiscard]] Scaled SameFactor() const;

 private:
  struct Change {
    credit::MicroCredit before = 0;
    credit::MicroCredit now = 0;
  };

  std::vector<Change> sample_;
  std::uint64_t changed_ = 0;
  std::uint64_t every_ = 1;  // one in so many is sampled
  // How many accounts of the last file had each total of the sample.
  std::unordered_map<credit::MicroCredit, std::uint32_t> holders_;
};

// How the records differ from those of the last accepted file; the caller, who knows those, calls Note for each record
// of the new file that is not `repeated`, and sets `missing` at the end.
struct RecordChanges {
  std::uint64_t missing = 0;   // ids of the last file that are not in this one
  std::uint64_t appeared = 0;  // ids that are new, or were missing
  std::uint64_t compared = 0;  // ids that are in both
  // Of those, records with another LastingElement(): they are about other accounts.
  std::uint64_t replaced = 0;
  // Of those, users or hosts with another cross-project id.
  std::uint64_t other_ids = 0;
  std::uint64_t fell = 0;  // of those, records whose total is smaller than before
  credit::MicroTotal fallen = 0;
  std::uint64_t multiplied = 0;          // of those, records that had credit, and have at least twice as much
  credit::MicroCredit largest_rise = 0;  // of those
  std::uint64_t largest_rise_id = 0;
  ChangedTotals totals{};

  // `before`: the total in the last accepted file, absent if it has no such id.
  void Note(std::uint64_t id, std::optional<credit::MicroCredit> before, credit::MicroCredit now);
  // So many totals changed that the caller passes all totals of the last file to totals.NoteOld().
  [[nodiscard]] bool ManyChanged(const AcceptanceLimits& limits) const;
};

struct AcceptedFile {
  FileSummary summary{};
  std::uint64_t update_time = 0;             // of its tables.xml; 0: it had none
  std::optional<std::uint64_t> announced{};  // records, by tables.xml
};

// One fetch of a file, all of whose records were read without a problem.
struct FetchedFile {
  FileSummary summary{};
  // Fetched before and behind the file; absent: not there or refused.
  std::optional<TablesFile> tables_before{};
  std::optional<TablesFile> tables_after{};
  // Absent if no file was accepted before.
  std::optional<RecordChanges> changes{};
  double fetched = 0;  // UNIX s
};

// An earlier fetch that was held.
struct HeldFetch {
  stream::Hash128 contents{};
  double fetched = 0;
};

// The numbers never change: they are stored with held files.
enum class HoldReason : std::uint8_t {
  kNoTables = 1,
  kTablesChanged = 2,      // between the two fetches of tables.xml: file and tables are of two exports
  kEmpty = 3,              // no record, where there were some or tables.xml announces some
  kDisappeared = 4,        // too many records of the last file are missing
  kTotalFell = 5,          // of the project, or of most records
  kImpossibleRise = 6,     // of one record
  kMoreThanAnnounced = 7,  // records than tables.xml announces
  kTeamsDiffer = 8,
  kSumDiffers = 9,  // from tables.xml
  kTimeBack = 10,   // update_time is before that of the last accepted file
  kFromTheFuture = 11,
  kSameTime = 12,  // other contents, but the update_time of the last accepted file
  kOtherAccounts =
      13,  // ids of many records, or the credit or cross-project ids of many, are those of other accounts
  kMultiplied = 14,  // most records have several times their total
};
// "disappeared".
std::string_view HoldReasonName(HoldReason reason);
// Whether a second fetch with the same contents shows that the reason was not damage on the way: then the project means
// it. Otherwise an operator decides.
bool Confirmable(HoldReason reason);

struct Hold {
  HoldReason reason{};
  std::string text{};  // for people, with the numbers and the limit
};

struct Judgement {
  bool accepted = false;
  // The reasons to hold the file. If an operator released it or a second fetch confirmed it, the reasons that were
  // overruled.
  std::vector<Hold> holds{};
  bool confirmed = false;  // by a second fetch
  bool released = false;   // by an operator

  // The texts, joined; "" without holds.
  [[nodiscard]] std::string Text() const;
};

// `last`: null for the first file of the project and kind. `held`: the earlier fetch that is held now, or null.
// `released`: contents that an operator has released, or null; a release is for these bytes alone.
Judgement JudgeFile(const FetchedFile& file, const AcceptedFile* last, const HeldFetch* held,
                    const stream::Hash128* released, const AcceptanceLimits& limits);

}  // namespace cobblestone::hub
