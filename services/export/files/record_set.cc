#include "services/export/files/record_set.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace cobblestone::exports {
namespace {

constexpr std::size_t kMaxDigits = 37;  // 10^31 in units of 10^-6: a million of them fit in 128 bits

}  // namespace

RecordHash HashOf(std::string_view record) {
  const XXH128_hash_t hash = XXH3_128bits(record.data(), record.size());
  return static_cast<RecordHash>(hash.high64) << 64U | hash.low64;
}

__int128 CreditOf(std::string_view record) {
  constexpr std::string_view kTag = "<total_credit>";
  const std::size_t tag = record.find(kTag);
  if (tag == std::string_view::npos) return 0;
  std::string_view text = record.substr(tag + kTag.size());
  text = text.substr(0, text.find('<'));
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.size() > kMaxDigits + 1) return 0;
  __int128 credit = 0;
  for (const char c : text) {
    if (c >= '0' && c <= '9') credit = credit * 10 + (c - '0');
  }
  return negative ? -credit : credit;
}

void RecordTotals::Add(std::string_view record, std::uint32_t copies) {
  records += copies;
  credit += CreditOf(record) * copies;
  hash += HashOf(record) * copies;
}

std::string CreditText(__int128 credit) {
  const bool negative = credit < 0;
  auto rest = negative ? -static_cast<unsigned __int128>(credit) : static_cast<unsigned __int128>(credit);
  std::string text;
  for (int digit = 0; digit < 7 || rest != 0; ++digit, rest /= 10) {
    if (digit == 6) text += '.';
    text += static_cast<char>('0' + static_cast<int>(rest % 10));
  }
  if (negative) text += '-';
  std::reverse(text.begin(), text.end());
  return text;
}

std::string HashText(RecordHash hash) {
  std::array<char, 33> text;
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(hash >> 64U),
                static_cast<unsigned long long>(hash));
  return text.data();
}

void RecordSet::Add(const RecordKey& key, RecordHash hash) {
  entries_.push_back({.key = key, .hash = hash, .copies = 1});
}

void RecordSet::Order() {
  const auto less = [](const Entry& a, const Entry& b) { return a.key < b.key; };
  if (!std::is_sorted(entries_.begin(), entries_.end(), less))
    std::stable_sort(entries_.begin(), entries_.end(), less);
  // Copies of one record are equal. If a key has different records, the entry holds the sum of their hashes.
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries_.size();) {
    Entry entry = entries_[i];
    bool equal = true;
    RecordHash sum = entry.hash;
    for (++i; i < entries_.size() && entries_[i].key == entry.key; ++i) {
      equal = equal && entries_[i].hash == entry.hash;
      sum += entries_[i].hash;
      entry.copies += entries_[i].copies;
    }
    if (!equal) entry.hash = sum;
    entries_[kept++] = entry;
  }
  entries_.resize(kept);
}

bool RecordSet::Has(const RecordKey& key, RecordHash hash, std::uint32_t copies) {
  const auto entry = std::lower_bound(entries_.begin(), entries_.end(), key,
                                      [](const Entry& a, const RecordKey& b) { return a.key < b; });
  if (entry == entries_.end() || entry->key != key) return false;
  entry->seen = true;
  return entry->hash == hash && entry->copies == copies;
}

std::vector<RecordKey> RecordSet::Unseen() const {
  std::vector<RecordKey> keys;
  for (const Entry& entry : entries_) {
    if (!entry.seen) keys.push_back(entry.key);
  }
  return keys;
}

}  // namespace cobblestone::exports
