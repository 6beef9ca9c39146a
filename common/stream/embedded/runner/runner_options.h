// The options of a runner (runner.h), shared by all objects of the runner.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/stream/commit_watch.h"
#include "common/stream/record.h"

namespace cobblestone::stream::embedded {

struct RunnerOptions {
  std::string directory;  // holds state/ and checkpoints/; the log is beside them
  std::uint32_t threads = 2;
  std::vector<TopicSpec> topics;                     // the log's manifest
  TopicIndex journal = 0;                            // one partition per slot, in order of slots
  std::chrono::microseconds commit_interval{10000};  // least time between starts of waves
  std::uint64_t commit_records = 20000;              // at most, per commit
  std::uint64_t commit_bytes = 4u << 20;             // of the outputs of a commit, about
  std::chrono::milliseconds flush_interval{5000};
  // Records over all slots. A state write is due when this many were processed since the last write began. At
  // twice as many, a write no longer waits for another slot's write. While a write is active, the slot stops
  // at twice as many more. An open thus re-executes at most four times as many records, and two commits per
  // slot.
  std::uint64_t flush_debt_records = 1000000;
  // The same limit in bytes of records, per slot, because objects that a record changed cannot be evicted
  // before they are written. 0: object_bytes, but at least 4 MiB.
  std::uint64_t flush_debt_bytes = 0;
  // A slot with at least this many waiting records at open reads its hot tables first.
  std::uint64_t warm_records = 10000;
  std::chrono::milliseconds checkpoint_interval{60000};
  int checkpoints_kept = 2;
  bool verify_checkpoints = true;  // what the oldest one does not have is read back before one counts
  // Approximate limit of clean objects in memory per slot. At open, half as much is used for rows of waiting
  // tables.
  std::uint64_t object_bytes = 256u << 20;
  // The same of the last slot, which has the stages with one partition. 0: object_bytes.
  std::uint64_t last_object_bytes = 0;
  std::chrono::milliseconds trim_interval{60000};  // also trims while no input arrives
  double inputs_age = 3 * 86400.0;           // s; inputs before the checkpoints are kept at least this long
  std::uint64_t inputs_bytes = 50ull << 30;  // unless the log is larger than this
  // Event time of a record, UNIX s. Among several inputs of a stage the smallest is consumed first; on a tie, the
  // input registered first.
  std::function<double(TopicIndex topic, std::string_view record)> peek_time;
  bool lockstep = false;  // strict order by event time, independent of arrival
  std::uint64_t block_cache_bytes = 256u << 20;
  std::function<double()> clock;  // UNIX s; empty: the wall clock
  // By slot, for metrics: observes each commit as it is appended. Empty: no observer, and commits are not
  // timed.
  std::vector<CommitWatch*> watches;
  // A count from the tables of a slot's stages, for SlotStatus::counted; called with the slot's lock. Empty:
  // 0.
  std::function<std::uint64_t(std::uint32_t slot)> count;

  [[nodiscard]] std::uint64_t ObjectBytesOf(std::uint32_t slot, std::uint32_t slots) const {
    return slot + 1 == slots && last_object_bytes > 0 ? last_object_bytes : object_bytes;
  }
};

}  // namespace cobblestone::stream::embedded
