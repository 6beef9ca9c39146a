// A whole pipeline in memory for tests: events in, ledger, accounts, refusals and state out. Broadcasts and
// the members of users and teams are barriers, as in a replay.
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

  // The next event, with the next line number. Throws std::runtime_error with the status where the pipeline
  // stops.
  void Add(std::string_view envelope);
  void Add(std::span<const std::string> envelopes);
  // An event on a line of its own choice, which must not go back: repeats of a line leave the numbers of all
  // others.
  void AddAt(std::uint64_t line, std::string_view envelope);
  // The last barrier: all that was added has had its effect.
  void Finish();

  // After Finish(): what was granted, posted and refused.
  [[nodiscard]] Outcome outcome();
  // Records of the topic `grants` in order of project, result and bytes: what does not depend on partitions.
  // Moves of hosts between partitions do, and are left out.
  [[nodiscard]] std::vector<std::string> SortedLedger() const;
  // Records of the ledger, of what reached teams, and of what was broadcast, each as it came.
  [[nodiscard]] const std::vector<std::string>& ledger() const { return ledger_; }
  [[nodiscard]] const std::vector<std::string>& postings() const { return postings_; }
  [[nodiscard]] const std::vector<std::string>& control() const { return control_; }
  [[nodiscard]] const std::vector<std::string>& refused() const { return refused_; }
  // Every account to the last bit (recent average, apps, days too), by its name. Throws where a host has two.
  [[nodiscard]] std::map<std::string, std::string> AccountRows() const;
  // Every row of every state table by key, of one partition and the coordinator; with one partition: all
  // state. But for how far watermarks have come: each barrier counts one up.
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
  std::uint64_t moved_ = 0;  // between partitions, since the last one
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
