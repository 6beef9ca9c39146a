// The state of all stages, row by row, as people and exports may see it: committed, and nothing else. A seam: a running
// pipeline asked between two commits, its state on disk, or a follower of checkpoints.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/stream/slot.h"
#include "common/stream/table.h"

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
  // All rows of the table; a status from `visit` ends it and is returned. The view holds until `visit` returns.
  virtual Status Scan(
      std::uint8_t table,
      const std::function<Status(const stream::Key& key, std::string_view value)>& visit) const = 0;
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
