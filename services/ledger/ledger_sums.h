// What the ledger comes to for each account, up to a place in each partition of `grants` and `postings`: the other side of the
// control totals of an export (control_totals.h). It is kept in a file and goes on from there, so that a ledger is read once.
// 32 bytes in memory for each account.
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

namespace cobblestone {

// By partition, where to read on: what lies before has been read.
struct LedgerPlaces {
  std::vector<std::uint64_t> grants;
  std::vector<std::uint64_t> postings;

  friend bool operator==(const LedgerPlaces&, const LedgerPlaces&) = default;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.grants, s.postings);
  }
};

// Whose sum. Of a team its postings, and apart from them its opening balance, which lies among the grants.
enum class LedgerAccount : std::uint8_t { kHost, kUser, kTeam, kTeamOpening };

// Of all accounts of a kind, by where their credit came from.
struct LedgerTotal {
  credit::MicroTotal opening = 0;
  credit::MicroTotal granted = 0;
  credit::MicroTotal moved =
      0;  // that came from another partition with its host, and was counted there before

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
    LedgerTotal teams;  // openings are not among them: which ones count the state must say

    template <class Self, class F>
    static void Fields(Self& s, F&& f) {
      f(s.project, s.hosts, s.users, s.teams);
    }
  };
  using Progress = std::function<void(std::uint64_t done, std::uint64_t all)>;

  // From where these sums end up to `to`, which lies nowhere before that. What lies behind is read for openings of teams alone,
  // which the state may know already. kCorrupted: the ledger ends before `to`, or holds what is no record.
  Status ReadUpTo(const IndexedLogOf& log_of, const LedgerPlaces& to, const Progress& progress);

  [[nodiscard]] const LedgerPlaces& places() const { return places_; }
  // Ascending by project, kind and id, each once.
  [[nodiscard]] std::vector<Entry>& entries() { return entries_; }
  // Of teams, from behind the places.
  [[nodiscard]] const std::vector<Entry>& late_openings() const { return late_; }
  [[nodiscard]] ProjectTotals TotalsOf(ProjectId project) const;

  // kNotFound: there is no such file. kCorrupted: it is not as it was written.
  static Result<LedgerSums> Load(const std::string& path);
  Status Save(const std::string& path) const;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.places_, s.totals_, s.entries_, s.late_);
  }

 private:
  Status ReadOn(stream::embedded::IndexedLog& log, stream::TopicPartition where, std::uint64_t to,
                const std::function<void(std::uint64_t)>& step);
  Status ReadLate(stream::embedded::IndexedLog& log, std::uint32_t partition);
  // False: it does not decode.
  bool TakeGrant(std::string_view record);
  bool TakePosting(std::string_view record);
  ProjectTotals& Of(ProjectId project);
  void Add(ProjectId project, LedgerAccount account, std::uint64_t id, credit::MicroTotal micro);
  void Settle();

  LedgerPlaces places_;
  std::vector<ProjectTotals> totals_;  // few
  std::vector<Entry> entries_;
  std::vector<Entry> late_;
  std::size_t settled_ = 0;  // of entries_, in order; what was read since lies behind them as it came
};

// The ledger's sums up to just these places, in the file `path`: from what that file has, or, where it has nothing that could be
// gone on from (or `anew`), from the beginning.
Status KeepLedgerSums(const std::string& path, const IndexedLogOf& log_of, const LedgerPlaces& to, bool anew,
                      const LedgerSums::Progress& progress);

}  // namespace cobblestone
