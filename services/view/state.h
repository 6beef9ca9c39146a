// The committed state of all stages, row by row, for people and exports. A seam: a running pipeline read
// between two commits, its state on disk, or a follower of checkpoints.
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

  // The commit of the rows.
  [[nodiscard]] virtual Result<stream::SlotMeta> Meta() const = 0;
  // The stored bytes; kNotFound if absent.
  virtual Status Get(std::uint8_t table, const stream::Key& key, std::string* value) const = 0;
  // Several keys in order; all as of one commit if that costs nothing extra. `each` receives the index of a
  // key and the result of Get().
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
  // All rows of the table. A status from `visit` that is not Ok ends the scan and is returned. `value` is
  // valid until `visit` returns.
  using Visit = std::function<Status(const stream::Key& key, std::string_view value)>;
  virtual Status Scan(std::uint8_t table, const Visit& visit) const = 0;
  // All rows of a project.
  virtual Status ScanProject(std::uint8_t table, ProjectId project, const Visit& visit) const {
    return Scan(table, [&](const stream::Key& key, std::string_view value) {
      return key.project == project.value ? visit(key, value) : Status::Ok();
    });
  }
  // All rows of one id of a project, whatever their `sub`.
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
  // The newest available rows; `partition` 0 for the coordinator. For state on disk, everything read through
  // one Rows is of one commit, and holding the Rows costs disk space. kRetry: no state exists yet.
  virtual Result<std::shared_ptr<const Rows>> Of(Stage stage, std::uint32_t partition) = 0;
  // The topic partitions that the numbers in SlotMeta::next refer to.
  [[nodiscard]] virtual std::vector<stream::TopicPartition> InputsOf(Stage stage,
                                                                     std::uint32_t partition) const = 0;
};

// The row with that key; an absent row is not an error.
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

// Adds to `days`, from the row with that key, the older days in the rows of `table`
// (services/stage/day_rows.h). If the state changes during the reads, the older days may contain a
// grant that the row does not.
template <class Sum>
Status AddOlderDays(const Rows& rows, const stream::TableSpec<credit::DayBlock<Sum>>& table,
                    const stream::Key& key, std::vector<Sum>& days, std::uint32_t history = 0) {
  if (days.empty()) return Status::Ok();
  std::array<stream::Key, credit::kBlockRows> keys;
  std::array<std::optional<credit::DayBlock<Sum>>, credit::kBlockRows> found;
  for (std::uint32_t row = 0; row < credit::kBlockRows; ++row) keys[row] = stage::DayKey(key, history, row);
  Status read = rows.GetEach(table.id, keys, [&](std::size_t n, Status status, std::string_view value) {
    if (status.code() == StatusCode::kNotFound) return Status::Ok();
    if (!status.ok()) return status;
    return stream::DecodeRow(table, value, found[n].emplace());
  });
  if (!read.ok()) return read;
  credit::AddOlderBlocks(days, [&](std::uint32_t row) { return found[row] ? &*found[row] : nullptr; });
  return Status::Ok();
}

// All rows: visit(key, value) returns a Status. The visitor may modify the value until it returns.
template <class Value, class Visit>
Status ForEach(const Rows& rows, const stream::TableSpec<Value>& table, Visit&& visit) {
  Value value{};
  return rows.Scan(table.id, [&](const stream::Key& key, std::string_view bytes) -> Status {
    if (Status s = stream::DecodeRow(table, bytes, value); !s.ok()) return s;
    return visit(key, value);
  });
}

}  // namespace cobblestone::view
