// Work of unlimited size in commits of bounded size. Any number of rows can be due at one watermark, or wait for one
// host or user. A stage processes them in parts, one per commit. Between the parts the slot consumes no record
// (stream::Stage::Unfinished), so the outcome is that of one large commit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "common/stream/table.h"

namespace cobblestone::stage {

// The work that one stage may do in one commit beyond the records that the commit consumes.
class CommitBudget {
 public:
  static constexpr std::size_t kRows = 5000;
  static constexpr std::uint64_t kBytes = 2u << 20;  // of the rows' contents

  explicit CommitBudget(std::size_t rows = kRows) : most_(rows), rows_(rows) {}
  // Counts one row of `bytes` bytes.
  void Take(std::uint64_t bytes) {
    rows_ -= std::min<std::size_t>(rows_, 1);
    bytes_ -= std::min(bytes_, bytes);
  }
  [[nodiscard]] bool spent() const { return rows_ == 0 || bytes_ == 0; }
  // Call when a commit ends.
  void Renew() { *this = CommitBudget(most_); }

 private:
  std::size_t most_;
  std::size_t rows_;
  std::uint64_t bytes_ = kBytes;
};

// Expires the due rows of a project, table by table, each in ascending order of keys. The position is in memory only:
// after a restart the scan starts again at the first table, and continues with the same row, because expired rows are
// erased and no input is processed in between.
class Expiry {
 public:
  // Starts with the rows of `project` that are due before `now`. A call with the same arguments continues.
  void Begin(std::uint32_t project, double now) {
    if (project_ == project && now_ == now) return;
    *this = Expiry();
    project_ = project;
    now_ = now;
  }
  // Table number `number` of the project, from 0 on. due_at(key, row) gives the time in UNIX s after which a row is
  // due; infinity: never. expire(key, row) emits the consequences and returns the row's size in bytes; the row is
  // then erased. False: the budget is spent.
  template <class Table, class DueAt, class Expire>
  bool Rows(std::size_t number, Table& table, CommitBudget& budget, DueAt&& due_at, Expire&& expire) {
    if (number < table_) return true;
    for (;;) {
      for (; next_ < keys_.size(); ++next_) {
        if (budget.spent()) return false;
        const stream::Key& key = keys_[next_];
        budget.Take(expire(key, table.Need(key)));
        table.Erase(key);
      }
      if (last_) break;
      const stream::Key from =
          keys_.empty() ? stream::Key{.project = project_, .id = 0, .sub = 0} : Behind(keys_.back());
      keys_ = table.FirstKeys(from, kKeys, [&](const stream::Key& key, const auto& row) {
        const double due = due_at(key, row);
        if (due < now_) return true;
        first_due_ = std::min(first_due_, due);
        return false;
      });
      next_ = 0;
      last_ = keys_.size() < kKeys;
    }
    ++table_;
    keys_.clear();
    next_ = 0;
    last_ = false;
    return true;
  }
  // Call after all tables. Returns the time before which no remaining row is due; infinity: no row remains.
  double End() {
    const double first = first_due_;
    *this = Expiry();
    return first;
  }

 private:
  static constexpr std::size_t kKeys = 50000;  // due rows per scan

  static stream::Key Behind(stream::Key key) {
    if (++key.sub == 0) ++key.id;
    return key;
  }

  std::uint32_t project_ = 0;
  double now_ = -std::numeric_limits<double>::infinity();
  std::size_t table_ = 0;          // number of the current table
  std::vector<stream::Key> keys_;  // of due rows, ascending
  std::size_t next_ = 0;           // in keys_
  bool last_ = false;              // the table has no due row after keys_
  double first_due_ = std::numeric_limits<double>::infinity();
};

}  // namespace cobblestone::stage
