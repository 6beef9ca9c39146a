// The accounts of all projects as a federation hub keeps them: rows for readers of the store.
//
// A row has the account as of the newest edition, and as of the edition before. Accounts of an edition arrive over
// minutes; a reader shows the older version until FEEDS has the edition as complete (ProjectRow::complete), so that
// nobody sees half an edition. One edition of a project arrives at a time, so two versions are enough.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/credit/accounts/account.h"
#include "common/credit/accounts/day_history.h"
#include "common/stream/table.h"
#include "common/stream/watermarks.h"
#include "common/wire/events/event_stamp.h"
#include "common/wire/events/feeds.h"

namespace cobblestone::members {

// An account, or none. Bytes and fingerprint are those of a std::optional. Most rows have none, and with space for one a
// row in memory would be nearly twice as large.
class EarlierAccount {
 public:
  EarlierAccount() = default;
  EarlierAccount(wire::FeedAccount account)  // NOLINT(google-explicit-constructor): as std::optional
      : account_(std::make_unique<wire::FeedAccount>(std::move(account))) {}
  EarlierAccount(const EarlierAccount& other) : account_(Copy(other)) {}
  EarlierAccount(EarlierAccount&&) noexcept = default;
  EarlierAccount& operator=(const EarlierAccount& other) {
    if (this != &other) account_ = Copy(other);
    return *this;
  }
  EarlierAccount& operator=(EarlierAccount&&) noexcept = default;
  ~EarlierAccount() = default;

  explicit operator bool() const { return account_ != nullptr; }
  const wire::FeedAccount& operator*() const { return *account_; }
  const wire::FeedAccount* operator->() const { return account_.get(); }

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    bool there = s.account_ != nullptr;
    f(there);
    if constexpr (!std::is_const_v<Self>)
      s.account_ = there ? std::make_unique<wire::FeedAccount>() : nullptr;
    if (there) f(*s.account_);
  }

 private:
  static std::unique_ptr<wire::FeedAccount> Copy(const EarlierAccount& other) {
    return other ? std::make_unique<wire::FeedAccount>(*other) : nullptr;
  }

  std::unique_ptr<wire::FeedAccount> account_;
};

struct MemberRow {
  wire::EventStamp stamp;  // of the event with `now`
  wire::FeedAccount now;
  EarlierAccount before;  // none: `now` is the first edition with the account
  // Credit that the account had when the hub first saw it: no day's credit.
  credit::MicroCredit opening_micro = 0;
  // opening_micro plus the sum of all days. An account that is gone keeps it.
  credit::MicroCredit counted_micro = 0;
  // Part of the days that came with `now.edition`: readers subtract it while the edition is not complete.
  credit::DaySum arriving;
  std::vector<credit::DaySum> days;  // the newest; older days are in rows of their own (member_days.h)
  std::int64_t oldest_day = 0;       // of the whole history; without meaning while `days` is empty

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.stamp, s.now, s.before, s.opening_micro, s.counted_micro, s.arriving, s.days, s.oldest_day);
  }
};

// What MEMBERS knows of a project, from FEEDS.
struct ProjectRow {
  std::uint64_t complete = 0;  // the last complete edition; 0: none
  std::uint64_t whole = 0;     // the last complete edition with which all accounts were sent
  double whole_time = 0;       // UNIX s
  std::uint64_t searched = 0;  // the whole edition whose absent accounts are in AbsentRow
  double erase_after = 0;      // s; 0: wire::kEraseAfter
  bool has_tombstones = false;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.complete, s.whole, s.whole_time, s.searched, s.erase_after, s.has_tombstones);
  }
};

// An account that an edition did not contain. If it is absent still when `since` + erase_after has passed, it is erased.
struct AbsentRow {
  double since = 0;           // UNIX s: time of the edition
  std::uint64_t edition = 0;  // the first one without the account

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.since, s.edition);
  }
};

// A user who was erased, under a hash (federation::DeletionKeyOf). Events of up to that time are about the erased account.
struct TombstoneRow {
  double until = 0;  // UNIX s

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.until);
  }
};

// Tables of a slot, as stored (numbers are unique over all stages), by id of the account.
inline constexpr stream::TableSpec<MemberRow> kHostsTable{.id = 88, .version = 1};
inline constexpr stream::TableSpec<MemberRow> kUsersTable{.id = 89, .version = 1};
inline constexpr stream::TableSpec<MemberRow> kTeamsTable{.id = 90, .version = 1};
inline constexpr stream::TableSpec<credit::DayBlock<credit::DaySum>> kHostDaysTable{.id = 91, .version = 1};
inline constexpr stream::TableSpec<credit::DayBlock<credit::DaySum>> kUserDaysTable{.id = 92, .version = 1};
inline constexpr stream::TableSpec<credit::DayBlock<credit::DaySum>> kTeamDaysTable{.id = 93, .version = 1};
// One row: the watermarks that this partition has passed.
inline constexpr stream::TableSpec<stream::WatermarkProgress> kWatermarksTable{.id = 94, .version = 1};
inline constexpr stream::TableSpec<ProjectRow> kProjectsTable{.id = 95, .version = 1};
inline constexpr stream::TableSpec<AbsentRow> kAbsentTable{.id = 96, .version = 1};
inline constexpr stream::TableSpec<TombstoneRow> kTombstonesTable{.id = 97, .version = 1};

inline stream::Key ProjectKey(ProjectId project) { return {.project = project.value, .id = 0, .sub = 0}; }
inline stream::Key AbsentKey(const stream::Key& account, wire::AccountKind kind) {
  return {.project = account.project, .id = account.id, .sub = static_cast<std::uint64_t>(kind)};
}

// The account as of the project's last complete edition; null if that edition does not contain it. `whole`: the last
// complete edition with which all accounts were sent. An account of edition 0 is seen at once.
inline const wire::FeedAccount* SeenOf(const MemberRow& row, std::uint64_t complete, std::uint64_t whole) {
  const bool now = row.now.edition <= complete;
  if (!now && !row.before) return nullptr;
  const wire::FeedAccount& seen = now ? row.now : *row.before;
  const bool left = seen.gone || (seen.edition != 0 && seen.edition < whole);
  return left ? nullptr : &seen;
}

// Whether a complete edition lacks the account. `now` of a later edition says nothing yet.
inline bool IsAbsent(const MemberRow& row, const ProjectRow& project) {
  if (row.now.edition > project.complete) return false;
  return row.now.gone || (row.now.edition != 0 && row.now.edition < project.whole);
}

// What a reader must not see yet of the account's days.
inline credit::DaySum HiddenOf(const MemberRow& row, std::uint64_t complete) {
  return row.now.edition <= complete ? credit::DaySum{} : row.arriving;
}

// Removes it from a whole history.
inline void HideArriving(const MemberRow& row, std::uint64_t complete, std::vector<credit::DaySum>& days) {
  const credit::DaySum hidden = HiddenOf(row, complete);
  if (hidden.micro != 0) credit::AddDay({.micro = -hidden.micro, .day = hidden.day}, days, credit::kEveryDay);
}

}  // namespace cobblestone::members
