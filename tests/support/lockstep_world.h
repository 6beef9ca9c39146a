// A whole pipeline in memory for tests: events in; ledger, accounts, refusals and state out. Broadcasts and the
// members of users and teams are barriers, as in a replay.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/stream/runtime/lockstep.h"
#include "services/pipeline/pipeline.h"
#include "tests/support/oracle.h"

namespace cobblestone::testing {

class LockstepWorld {
 public:
  explicit LockstepWorld(std::uint32_t partitions);

  // Adds the next event, with the next line number. Throws std::runtime_error with the status if the pipeline stops.
  void Add(std::string_view envelope);
  void Add(std::span<const std::string> envelopes);
  // Adds an event with a given line number, which must not decrease. A repeat with an old line number leaves the
  // numbers of all other events unchanged.
  void AddAt(std::uint64_t line, std::string_view envelope);
  // The last barrier: every added event has taken effect.
  void Finish();

  // After Finish(): grants, postings and refusals.
  [[nodiscard]] Outcome outcome();
  // Records of the topic `grants` that do not depend on partitions, in order of project, result and bytes. Moves of
  // hosts between partitions depend on them and are left out.
  [[nodiscard]] std::vector<std::string> SortedLedger() const;
  // Records of the ledger, of postings to teams and of broadcasts, in order of appending.
  [[nodiscard]] const std::vector<std::string>& ledger() const { return ledger_; }
  [[nodiscard]] const std::vector<std::string>& postings() const { return postings_; }
  [[nodiscard]] const std::vector<std::string>& control() const { return control_; }
  [[nodiscard]] const std::vector<std::string>& refused() const { return refused_; }
  // The bytes of every account (with recent average, apps and days), by its name. Throws if an account is in two
  // partitions.
  [[nodiscard]] std::map<std::string, std::string> AccountRows() const;
  // Every state row by key, of one partition and the coordinator; with one partition: all state. Positions of
  // watermarks are left out, because each barrier advances them.
  [[nodiscard]] std::map<std::string, std::string> StateRows();

  [[nodiscard]] std::uint64_t duplicates() const;
  [[nodiscard]] std::vector<pipeline::PipelineSlot>& slots() { return slots_; }

 private:
  static void Must(const Status& status);
  void Barrier();

  std::uint32_t partitions_;
  std::vector<pipeline::PipelineSlot> slots_;
  std::unique_ptr<stream::Lockstep> lockstep_;
  std::uint64_t next_line_ = 0;
  std::uint64_t barriers_ = 0;
  std::uint64_t moved_ = 0;  // hosts moved between partitions since the last barrier
  std::vector<std::string> ledger_;
  std::vector<std::string> refused_;
  std::vector<std::string> postings_;
  std::vector<std::string> control_;  // of partition 0
};

// The first row in which two states differ: table, key and bytes in hex. Empty: none.
std::string StateDifference(const std::map<std::string, std::string>& a,
                            const std::map<std::string, std::string>& b);
// The first account in which two runs differ. Empty: none.
std::string AccountDifference(const std::map<std::string, std::string>& a,
                              const std::map<std::string, std::string>& b);
// The first grant in which two sorted ledgers differ, as text. Empty: none.
std::string LedgerDifference(std::span<const std::string> a, std::span<const std::string> b);

}  // namespace cobblestone::testing
