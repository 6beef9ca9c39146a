// The state of all stages, row by row, as people and exports may see it: committed, and nothing else. A seam: a running
// pipeline asked between two commits, its state on disk, or a follower of checkpoints.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/stream/runtime/slot.h"
#include "common/stream/table.h"
#include "services/stage/day_rows.h"

namespace cobblestone::view {

enum class Stage : std::uint8_t { kClaims, kGrants, kAccounts, kTeams, kCoordinator };

// Rows of one stage's partition. Threads: any.
class Rows {
 public:
  virtual ~Rows() = default;

  // Of which commit they are.
  [[nodiscard]] virtual Result<stream::SlotMeta> Meta() const = 0;
  // As it is stored; kNotFound when absent.
  virtual Status Get(std::uint8_t table, const stream::Key& key, std::string* value) const = 0;
  // Several, one after the other; of one commit where that costs no more. `each` gets the number of a key, and what Get() would give.
  virtual Status GetEach(
      std::uint8_t table, std::span<const stream::Key> keys,
      const std::function<Status(std::size_t n, Status found, std::string_view value)>& each) const {
    std::string value;
    for (std::size_t n = 0; n < keys.size(); ++n) {
      value.clear();
      Status found = Get(table, keys[n], &value);
      if (Status s = each(n, std::move(found), value); !s.ok()) return s;
    }
    return Status::Ok();
  }
  // All rows of the table; a status from `visit` ends it and is returned. The view holds until `visit` returns.
  using Visit = std::function<Status(const stream::Key& key, std::string_view value)>;
  virtual Status Scan(std::uint8_t table, const Visit& visit) const = 0;
  // Those of one number of a project, whatever their `sub`.
  virtual Status ScanOf(std::uint8_t table, ProjectId project, std::uint64_t id, const Visit& visit) const {
    return Scan(table, [&](const stream::Key& key, std::string_view value) {
      return key.project == project.value && key.id == id ? visit(key, value) : Status::Ok();
    });
  }
};

// Threads: any.
class State {
 public:
  virtual ~State() = default;

  [[nodiscard]] virtual std::uint32_t partitions() const = 0;
  // The newest that may be seen; `partition` 0 for the coordinator. Of state on disk all that is read through one Rows is of
  // one commit, and holding it costs disk space. kRetry: there is none yet.
  virtual Result<std::shared_ptr<const Rows>> Of(Stage stage, std::uint32_t partition) = 0;
  // What the numbers in SlotMeta::next are of.
  [[nodiscard]] virtual std::vector<stream::TopicPartition> InputsOf(Stage stage,
                                                                     std::uint32_t partition) const = 0;
};

// The row with that key; none is no error.
template <class Value>
Result<std::optional<Value>> Find(const Rows& rows, const stream::TableSpec<Value>& table,
                                  const stream::Key& key) {
  std::string bytes;
  const Status status = rows.Get(table.id, key, &bytes);
  if (status.code() == StatusCode::kNotFound) return std::optional<Value>();
  if (!status.ok()) return status;
  std::optional<Value> found(std::in_place);
  if (Status s = stream::DecodeRow(table, bytes, *found); !s.ok()) return s;
  return found;
}

// To `days`, of the row with that key, what rows of `table` have of the days before them (services/stage/day_rows.h). Where the state
// goes on meanwhile, a grant for one of those days may be in them that is not in the row.
template <class Sum>
Status AddOlderDays(const Rows& rows, const stream::TableSpec<credit::DayBlock<Sum>>& table,
                    const stream::Key& key, std::vector<Sum>& days, std::uint32_t history = 0) {
  if (days.empty()) return Status::Ok();
  std::array<stream::Key, credit::kBlockRows> keys;
  std::array<std::optional<credit::DayBlock<Sum>>, credit::kBlockRows> found;
  for (std::uint32_t row = 0; row < credit::kBlockRows; ++row) keys[row] = wire::DayKey(key, history, row);
  Status read = rows.GetEach(table.id, keys, [&](std::size_t n, Status status, std::string_view value) {
    if (status.code() == StatusCode::kNotFound) return Status::Ok();
    if (!status.ok()) return status;
    return stream::DecodeRow(table, value, found[n].emplace());
  });
  if (!read.ok()) return read;
  credit::AddOlderBlocks(days, [&](std::uint32_t row) { return found[row] ? &*found[row] : nullptr; });
  return Status::Ok();
}

// All rows: visit(key, value) returns a Status. The value is the visitor's until it returns.
template <class Value, class Visit>
Status ForEach(const Rows& rows, const stream::TableSpec<Value>& table, Visit&& visit) {
  Value value{};
  return rows.Scan(table.id, [&](const stream::Key& key, std::string_view bytes) -> Status {
    if (Status s = stream::DecodeRow(table, bytes, value); !s.ok()) return s;
    return visit(key, value);
  });
}

}  // namespace cobblestone::view
