// What a set of records comes to, and which records an export had: by these an incremental export knows what has changed, and
// a reader proves that it has read back what was written.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cobblestone::statistics {

// Whose record: an id, or a holder and a badge (the second is 0 otherwise).
struct RecordKey {
  std::int64_t first = 0;
  std::int64_t second = 0;
  auto operator<=>(const RecordKey&) const = default;
};

using RecordHash = unsigned __int128;  // XXH3 of the record's bytes: finds changes, holds against no attacker
RecordHash HashOf(std::string_view record);

// The number in the record's <total_credit>, in units of 10^-6 as printed; 0 where it has none or one beyond 10^31.
__int128 CreditOf(std::string_view record);

// Independent of order, so that sorted and unsorted files, and a full export and its increments, come to the same.
struct RecordTotals {
  std::uint64_t records = 0;
  __int128 credit = 0;  // 10^-6 Cobblestones, of what is printed
  RecordHash hash = 0;  // sum over all records, modulo 2^128

  void Add(std::string_view record, std::uint32_t copies);
  bool operator==(const RecordTotals&) const = default;
};

// "570913887729.509888"
std::string CreditText(__int128 credit);
// 32 hexadecimal digits.
std::string HashText(RecordHash hash);

// The records of one output as an earlier export had them: 48 bytes each.
class RecordSet {
 public:
  struct Entry {
    RecordKey key;
    RecordHash hash = 0;  // of each copy
    std::uint32_t copies = 0;
    bool seen = false;
  };

  // Adds copies of a record; several of one key count together. Put together in any order, then ordered.
  void Add(const RecordKey& key, RecordHash hash);
  void Order();

  // After Order(). Whether the record is there just so, in as many copies; marks its key as seen.
  bool Has(const RecordKey& key, RecordHash hash, std::uint32_t copies);
  // Those that Has was not asked about, in order.
  [[nodiscard]] std::vector<RecordKey> Unseen() const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace cobblestone::statistics
