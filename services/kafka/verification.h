// Checks a deployment by re-execution (`cobblestone verify`): the outputs of each commit, the state of each slot, and the
// records in the output topics. Changes nothing on the cluster. Workers may run, except for CompareOutputs().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "common/stream/kafka/catch_up.h"
#include "common/stream/record.h"

namespace cobblestone::kafka {

// Sum of a set of records, independent of their order; duplicates count.
struct RecordSum {
  std::uint64_t records = 0;
  unsigned __int128 hashes = 0;

  // The records of one output of a slot, or of one message.
  void Add(std::string_view payload);
  void Add(const RecordSum& other);
  // The hashes as 32 hexadecimal digits.
  [[nodiscard]] std::string HashText() const;
  friend bool operator==(const RecordSum&, const RecordSum&) = default;
};
using OutputSums = std::map<stream::TopicPartition, RecordSum>;

// What the re-execution of a slot shows. The slot is sound if both statuses are OK and `difference` is empty.
struct SlotVerdict {
  std::uint32_t slot = 0;
  // Commits since the checkpoint. kCorrupted: outputs with another fingerprint; then nothing below is set.
  Status from_checkpoint;
  std::uint64_t after_checkpoint = 0;  // commits re-executed since the checkpoint
  std::uint64_t commits = 0;           // sequence of the last commit
  // All commits. Not OK where the journal does not begin with the first one, too.
  Status from_beginning;
  std::uint64_t oldest = 0;  // sequence of the first commit in the journal; 0: the journal is empty
  std::uint64_t rows = 0;    // of the state
  std::string difference;    // key of the first row that differs between both states; empty: none
};

struct VerifyOptions {
  std::vector<std::uint32_t> slots;  // empty: all
  std::string scratch;               // directory for the re-executed states; the caller removes it
  OutputSums* outputs = nullptr;     // receives the outputs of all commits; null: not wanted
  std::function<void(const std::string&)> report;
  std::function<void(const stream::kafka::TaskStatus&)> progress;
  std::function<void(const SlotVerdict&)> verdict;  // once for each slot
};
// `role`: the settings of one role (AllRolesOf). kNotFound: there is no such slot.
Status VerifySlots(const settings::RunSettings& role, const VerifyOptions& options);

// How the records of an output topic compare with the re-executed outputs.
struct TopicVerdict {
  std::string topic;
  RecordSum executed;  // of all partitions
  // The first partition that has other records than the commits produced; none: `there` is unset.
  struct Difference {
    std::uint32_t partition = 0;
    RecordSum there;
    RecordSum executed;
  };
  std::optional<Difference> difference;
};
// `made`: the outputs of all slots. Calls `verdict` once for each output topic.
Status CompareOutputs(const settings::RunSettings& settings, OutputSums made,
                      const std::function<void(const std::string&)>& report,
                      const std::function<void(const TopicVerdict&)>& verdict);

}  // namespace cobblestone::kafka
