// The debt of one slot: the work since its last state write began, by which its state in memory is ahead of its
// state on disk. The debt bounds the work that an open re-executes, and the memory of objects that cannot be
// evicted before they are written.
//
// Threads: one at a time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/stream/embedded/runner/runner_options.h"

namespace cobblestone::stream::embedded {

class StateDebt {
 public:
  // `slots` share the limit of records.
  StateDebt(const RunnerOptions& options, std::uint32_t slots)
      : slots_(slots),
        most_records_(options.flush_debt_records),
        most_bytes_(options.flush_debt_bytes > 0 ? options.flush_debt_bytes
                                                 : std::max(options.object_bytes, kLeastBytes)) {}

  // Adds the debt of a commit: SlotCommit::debt and debt_bytes.
  void Add(std::uint64_t records, std::uint64_t bytes) {
    records_ += records;
    bytes_ += bytes;
  }
  // A state write begins.
  void Clear() { records_ = bytes_ = 0; }

  [[nodiscard]] bool empty() const { return records_ == 0; }
  // Whether the debt has reached `times` the limit.
  [[nodiscard]] bool Due(std::uint64_t times) const {
    return records_ * slots_ >= times * most_records_ || bytes_ >= times * most_bytes_;
  }

 private:
  // A smaller state write would cost more than the memory that it frees is worth.
  static constexpr std::uint64_t kLeastBytes = 4u << 20;

  std::uint64_t slots_;
  std::uint64_t most_records_;
  std::uint64_t most_bytes_;
  std::uint64_t records_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace cobblestone::stream::embedded
