// Ledger sums of each account, up to a place in each partition of `grants` and `postings`: the ledger side of
// the control totals of an export (control_totals.h). A file keeps the sums, and later calls continue from
// the file, so that the ledger is read once. Memory: 32 bytes per account.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/credit/accounts/account.h"
#include "services/ledger/ledger_index.h"

namespace cobblestone::ledger {

// Next place to read, by partition; all records before this place have been read.
struct LedgerPlaces {
  std::vector<std::uint64_t> grants;
  std::vector<std::uint64_t> postings;

  friend bool operator==(const LedgerPlaces&, const LedgerPlaces&) = default;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.grants, s.postings);
  }
};

// Kind of account. For a team: its postings, and separately its opening balance, which is a record of `grants`.
enum class LedgerAccount : std::uint8_t { kHost, kUser, kTeam, kTeamOpening };

// Totals of all accounts of a kind, by origin of the credit.
struct LedgerTotal {
  credit::MicroTotal opening = 0;
  credit::MicroTotal granted = 0;
  // Credit that arrived with a host from another partition. The other partition already counted this credit.
  credit::MicroTotal moved = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.opening, s.granted, s.moved);
  }
};

class LedgerSums {
 public:
  struct Entry {
    std::uint32_t project = 0;
    LedgerAccount account = LedgerAccount::kHost;
    std::uint64_t id = 0;
    credit::MicroTotal micro = 0;

    template <class Self, class F>
    static void Fields(Self& s, F&& f) {
      f(s.project, s.account, s.id, s.micro);
    }
  };
  struct ProjectTotals {
    std::uint32_t project = 0;
    LedgerTotal hosts;
    LedgerTotal users;
    // Without openings: the state decides which openings count.
    LedgerTotal teams;

    template <class Self, class F>
    static void Fields(Self& s, F&& f) {
      f(s.project, s.hosts, s.users, s.teams);
    }
  };
  using Progress = std::function<void(std::uint64_t done, std::uint64_t all)>;

  // Reads from places() up to `to`, which must not be before places() in any partition. Records after `to`
  // are read only for openings of teams, which the state may already include. kCorrupted: the ledger ends
  // before `to`, or a record does not decode. kRetry: the end of the ledger is unavailable.
  Status ReadUpTo(const IndexedLogOf& log_of, const LedgerPlaces& to, const Progress& progress);

  [[nodiscard]] const LedgerPlaces& places() const { return places_; }
  // In ascending order of project, kind and id; unique.
  [[nodiscard]] std::vector<Entry>& entries() { return entries_; }
  // Openings of teams in records after places().
  [[nodiscard]] const std::vector<Entry>& late_openings() const { return late_; }
  [[nodiscard]] ProjectTotals TotalsOf(ProjectId project) const;

  // kNotFound: the file cannot be read. kCorrupted: the file does not match its checksum or format.
  static Result<LedgerSums> Load(const std::string& path);
  Status Save(const std::string& path) const;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.places_, s.totals_, s.entries_, s.late_);
  }

 private:
  Status ReadOn(stream::IndexedLog& log, stream::TopicPartition where, std::uint64_t to,
                const std::function<void(std::uint64_t)>& step);
  Status ReadLate(stream::IndexedLog& log, std::uint32_t partition);
  // False: the record does not decode.
  bool TakeGrant(std::string_view record);
  bool TakePosting(std::string_view record);
  ProjectTotals& Of(ProjectId project);
  void Add(ProjectId project, LedgerAccount account, std::uint64_t id, credit::MicroTotal micro);
  void Settle();

  LedgerPlaces places_;
  std::vector<ProjectTotals> totals_;  // few
  std::vector<Entry> entries_;
  std::vector<Entry> late_;
  // Length of the sorted part of entries_; entries read since follow unsorted.
  std::size_t settled_ = 0;
};

// Brings the sums in the file `path` to exactly these places: continues from the file, or starts from the
// beginning if the file cannot be continued (or `from_start`).
Status KeepLedgerSums(const std::string& path, const IndexedLogOf& log_of, const LedgerPlaces& to,
                      bool from_start, const LedgerSums::Progress& progress);

}  // namespace cobblestone::ledger
