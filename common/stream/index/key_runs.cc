#include "common/stream/index/key_runs.h"

#include <algorithm>
#include <cstring>
#include <queue>
#include <utility>

#include "common/base/check.h"
#include "common/stream/bytes.h"

namespace cobblestone::stream {
namespace {

// A run of this many entries sorts within the second-level cache.
constexpr std::size_t kRunEntries = std::size_t{1} << 15;
constexpr std::size_t kPlaceBytes = 8;

std::uint64_t PrefixOf(std::string_view bytes) {
  char head[8] = {};
  std::memcpy(head, bytes.data(), std::min<std::size_t>(bytes.size(), 8));
  return LoadOrdered<std::uint64_t>(head);
}

}  // namespace

std::string IndexPrefix(std::string_view key) {
  COBBLESTONE_CHECK(!key.empty() && key.size() <= kMaxIndexKeyBytes,
                    "a key of " + std::to_string(key.size()) + " bytes");
  std::string prefix(1, static_cast<char>(key.size()));
  return prefix.append(key);
}

std::string IndexEntry(std::string_view key, RecordPlace place) {
  std::string entry = IndexPrefix(key);
  AppendOrdered(entry, std::uint64_t{place.partition} << 48 | place.offset);
  return entry;
}

RecordPlace PlaceOfEntry(std::string_view entry) {
  const auto packed = LoadOrdered<std::uint64_t>(entry.data() + entry.size() - kPlaceBytes);
  return {.partition = static_cast<std::uint32_t>(packed >> 48), .offset = packed & kMaxOffset};
}

void KeyRuns::Add(std::string_view key, RecordPlace place) {
  COBBLESTONE_CHECK(!key.empty() && key.size() <= kMaxIndexKeyBytes,
                    "a key of " + std::to_string(key.size()) + " bytes");
  COBBLESTONE_CHECK(
      place.partition <= UINT16_MAX && place.offset <= kMaxOffset,
      "partition " + std::to_string(place.partition) + ", offset " + std::to_string(place.offset));
  const auto at = static_cast<std::uint32_t>(open_.bytes.size());
  open_.bytes.push_back(static_cast<char>(key.size()));
  open_.bytes.append(key);
  AppendOrdered(open_.bytes, std::uint64_t{place.partition} << 48 | place.offset);
  const std::string_view entry = std::string_view(open_.bytes).substr(at);
  open_.references.push_back({.high = PrefixOf(entry),
                              .low = PrefixOf(entry.substr(8)),  // an entry has at least ten bytes
                              .at = at,
                              .size = static_cast<std::uint32_t>(entry.size())});
  ++entries_;
  if (open_.references.size() == kRunEntries) Close();
}

void KeyRuns::Close() {
  if (open_.references.empty()) return;
  std::sort(open_.references.begin(), open_.references.end(), [this](const Reference& a, const Reference& b) {
    if (a.high != b.high) return a.high < b.high;
    if (a.low != b.low) return a.low < b.low;
    return open_.Entry(a) < open_.Entry(b);
  });
  sorted_.push_back(std::move(open_));
  open_ = {};
}

void KeyRuns::Clear() {
  sorted_.clear();
  open_ = {};
  entries_ = 0;
}

void KeyRuns::Find(std::string_view key, std::vector<RecordPlace>& places) const {
  const std::string prefix = IndexPrefix(key);
  for (const Run& run : sorted_) {
    auto at = std::lower_bound(run.references.begin(), run.references.end(), prefix,
                               [&](const Reference& r, const std::string& p) { return run.Entry(r) < p; });
    for (; at != run.references.end() && run.Entry(*at).starts_with(prefix); ++at) {
      places.push_back(PlaceOfEntry(run.Entry(*at)));
    }
  }
  for (const Reference& reference : open_.references) {
    if (open_.Entry(reference).starts_with(prefix)) places.push_back(PlaceOfEntry(open_.Entry(reference)));
  }
}

Status KeyRuns::Merge(const std::function<Status(std::string_view)>& visit) const {
  COBBLESTONE_CHECK(open_.references.empty(), "merging before Close()");
  struct Cursor {
    const Run* run;
    std::size_t next;
    [[nodiscard]] const Reference& at() const { return run->references[next]; }
  };
  const auto later = [](const Cursor& a, const Cursor& b) {
    const Reference& x = a.at();
    const Reference& y = b.at();
    if (x.high != y.high) return x.high > y.high;
    if (x.low != y.low) return x.low > y.low;
    return a.run->Entry(x) > b.run->Entry(y);
  };
  std::priority_queue<Cursor, std::vector<Cursor>, decltype(later)> cursors(later);
  for (const Run& run : sorted_) cursors.push({.run = &run, .next = 0});
  std::string_view last;
  while (!cursors.empty()) {
    Cursor cursor = cursors.top();
    cursors.pop();
    const std::string_view entry = cursor.run->Entry(cursor.at());
    if (entry != last) {  // a record may contain a key twice
      if (Status status = visit(entry); !status.ok()) return status;
      last = entry;
    }
    if (++cursor.next < cursor.run->references.size()) cursors.push(cursor);
  }
  return Status::Ok();
}

}  // namespace cobblestone::stream
