// What the hub last accepted of one kind of a project's accounts: for each the hash of its record and its total, in a
// file sorted by id. With it an import finds the few records that differ from those of the edition before, and the
// accounts that are gone, without asking the pipeline.
//
// The index is derived from an edition that was sent. If it is lost, the next edition is sent whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/credit/accounts/account.h"
#include "common/stream/hash128.h"

namespace cobblestone::hub {

// What an index keeps of values whose change in many records shows that a file is shifted. 0: the record has no such value.
// Two different values have the same mark in one of 255 cases.
struct RecordMarks {
  std::uint8_t lasting = 0;           // of the LastingElement()
  std::uint8_t cross_project_id = 0;  // of a user or host
};
// 1 to 255 for a value; 0 for none.
constexpr std::uint8_t MarkOf(std::string_view value) {
  if (value.empty()) return 0;
  std::uint64_t mixed = 0;
  for (const char c : value) mixed = (mixed ^ static_cast<unsigned char>(c)) * 0x9e3779b97f4a7c15;
  return static_cast<std::uint8_t>(1 + (mixed >> 32) % 255);
}

// 48 bits of the hash of all bytes of a record, and its marks.
constexpr std::uint64_t MarkedHash(std::uint64_t hash, RecordMarks marks) {
  return (hash & ~std::uint64_t{0xffff}) | static_cast<std::uint64_t>(marks.cross_project_id) << 8 |
         marks.lasting;
}
constexpr RecordMarks MarksOf(std::uint64_t marked) {
  return {.lasting = static_cast<std::uint8_t>(marked & 0xff),
          .cross_project_id = static_cast<std::uint8_t>(marked >> 8 & 0xff)};
}
// The two are hashes of the same bytes; either may have marks or not.
constexpr bool SameBytes(std::uint64_t hash, std::uint64_t other) { return (hash ^ other) >> 16 == 0; }

struct IndexedRecord {
  std::uint64_t id = 0;
  std::uint64_t hash = 0;  // MarkedHash() of the record
  credit::MicroCredit total_micro = 0;
};

// Reads an index; the file is mapped, so its pages are memory that the system can take back. One thread.
class RecordIndex {
 public:
  // An index without records.
  RecordIndex() = default;
  // kNotFound: there is no such file. kCorrupted: it is damaged.
  static Result<RecordIndex> Open(const std::string& path);
  // Nothing if there is no such file, or it is damaged: the next edition is sent whole then.
  static Result<std::optional<RecordIndex>> OpenIntact(const std::string& path);
  ~RecordIndex();
  RecordIndex(RecordIndex&& other) noexcept;
  RecordIndex& operator=(RecordIndex&& other) noexcept;

  // The record of this id, which then counts as seen; null: there is none. Ids in ascending order are found without a
  // search.
  const IndexedRecord* Find(std::uint64_t id);
  [[nodiscard]] std::size_t size() const { return records_.size(); }
  [[nodiscard]] std::size_t unseen() const { return records_.size() - seen_count_; }
  // Visits all records, by id.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (const IndexedRecord& record : records_) visit(record);
  }
  // Visits the records that Find() has not found, by id.
  template <class Visit>
  void ForEachUnseen(Visit&& visit) const {
    for (std::size_t i = 0; i < records_.size(); ++i)
      if (!seen_[i]) visit(records_[i]);
  }

 private:
  std::span<const IndexedRecord> records_;
  std::vector<bool> seen_;
  std::size_t seen_count_ = 0;
  std::size_t next_ = 0;  // index of the record behind the last one found
  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
};

// Writes an index. Records may come in any order; ids must differ.
class RecordIndexWriter {
 public:
  // Creates or replaces the file.
  static Result<RecordIndexWriter> Create(const std::string& path);

  void Add(const IndexedRecord& record);
  // Sorts if needed, and makes the file durable. Call once; an index without Finish() cannot be opened.
  Status Finish();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  void Write();
  // Sorts the records in the file. Returns their hash.
  Result<std::uint64_t> Sort();

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::vector<IndexedRecord> block_;          // not written yet
  std::unique_ptr<stream::Hasher> contents_;  // of the records so far, in the order in which they came
  std::uint64_t count_ = 0;
  std::uint64_t last_ = 0;
  bool sorted_ = true;
  bool failed_ = false;
};

}  // namespace cobblestone::hub
