// Sorts records by a key, in bounded memory: sorted runs in a file without a name, which the system deletes even if the
// process is killed, and a merge of the runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace cobblestone::hub {

// Records in the order of their keys, then of their values, as bytes. Several readers at once are allowed.
class SortedRecords {
 public:
  class Reader {
   public:
    ~Reader();
    Reader(Reader&& other) noexcept;
    Reader& operator=(Reader&&) = delete;

    // The next record; false at the end. kFatal: the file cannot be read.
    Result<bool> Next();
    // Of the record, until the next call of Next().
    [[nodiscard]] std::string_view key() const;
    [[nodiscard]] std::string_view value() const;

   private:
    friend class SortedRecords;
    struct State;
    explicit Reader(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
  };

  ~SortedRecords();
  SortedRecords(SortedRecords&& other) noexcept;
  SortedRecords& operator=(SortedRecords&& other) noexcept;

  // From the first record. The records must outlive it. Memory: 64 KiB for each run.
  [[nodiscard]] Reader Read() const;
  [[nodiscard]] std::uint64_t size() const { return records_; }

 private:
  friend class SpillSort;
  struct Run {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  SortedRecords() = default;

  int file_ = -1;
  std::vector<Run> runs_;
  std::uint64_t records_ = 0;
};

class SpillSort {
 public:
  // `directory`: where the file is created. `memory`: bytes of records that are sorted at a time.
  explicit SpillSort(std::string directory, std::size_t memory = std::size_t{64} << 20);

  // Key and value: less than 4 GiB. kFull, kFatal: the file cannot be written.
  Status Add(std::string_view key, std::string_view value);
  // Call once.
  Result<SortedRecords> Finish();

 private:
  struct Entry {
    std::size_t at = 0;  // in bytes_: the key, then the value
    std::uint32_t key = 0;
    std::uint32_t value = 0;
  };
  [[nodiscard]] std::string_view KeyOf(const Entry& entry) const;
  [[nodiscard]] std::string_view ValueOf(const Entry& entry) const;
  Status Spill();

  const std::string directory_;
  const std::size_t memory_;
  std::string bytes_;
  std::vector<Entry> entries_;
  SortedRecords sorted_;
};

}  // namespace cobblestone::hub
