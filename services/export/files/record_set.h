// Totals of a set of records, and the records of an earlier export. An incremental export uses them to find
// changes; a reader uses them to prove that it has read every written record.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cobblestone::exports {

// Key of a record: an id (`second` is 0), or a holder and a badge.
struct RecordKey {
  std::int64_t first = 0;
  std::int64_t second = 0;
  auto operator<=>(const RecordKey&) const = default;
};

// XXH3 of the record's bytes: detects changes, but is not secure against attackers.
using RecordHash = unsigned __int128;
RecordHash HashOf(std::string_view record);

// Value of the record's <total_credit>, in units of 10^-6 as printed; 0 if it is absent or above 10^31.
__int128 CreditOf(std::string_view record);

// Independent of order, so that sorted and unsorted files, and a full export and its
// increments, have equal totals.
struct RecordTotals {
  std::uint64_t records = 0;
  __int128 credit = 0;  // 10^-6 Cobblestones, sum of printed values
  RecordHash hash = 0;  // sum over all records, modulo 2^128

  void Add(std::string_view record, std::uint32_t copies);
  bool operator==(const RecordTotals&) const = default;
};

// "570913887729.509888"
std::string CreditText(__int128 credit);
// 32 hexadecimal digits.
std::string HashText(RecordHash hash);

// Records of one output in an earlier export; 48 bytes each.
class RecordSet {
 public:
  struct Entry {
    RecordKey key;
    RecordHash hash = 0;  // of each copy
    std::uint32_t copies = 0;
    bool seen = false;
  };

  // Adds one copy of a record; several copies of one key are counted. Call Add() in any
  // order, then Order() once.
  void Add(const RecordKey& key, RecordHash hash);
  void Order();

  // After Order(). True if the record exists unchanged, in as many copies. Marks its key as seen.
  bool Has(const RecordKey& key, RecordHash hash, std::uint32_t copies);
  // Keys that were never passed to Has(), in order.
  [[nodiscard]] std::vector<RecordKey> Unseen() const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace cobblestone::exports
