// Offsets of a topic's messages and numbers of the records in them. Offsets have gaps (markers of transactions), and a message
// of a slot has several records; in a copy records are numbered without gaps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

namespace cobblestone::kafka {

class OffsetMap {
 public:
  // The next message, at a higher offset than the one before.
  void Add(std::uint64_t offset, std::uint64_t records) {
    // Consecutive messages of one record each form a run.
    if (places_.empty() || offset != places_.back().last + 1 || records != 1 || last_records_ != 1)
      places_.push_back({.offset = offset, .last = offset, .record = next_record_});
    places_.back().last = offset;
    last_records_ = records;
    next_record_ += records;
  }
  // The number of records before the first message at or after `offset`. Not for offsets that were forgotten.
  [[nodiscard]] std::uint64_t RecordAt(std::uint64_t offset) const {
    const auto after = After(offset);
    const std::uint64_t end = after == places_.end() ? next_record_ : after->record;
    if (after == places_.begin()) return end;
    const Place& before = *(after - 1);
    return offset > before.last ? end : before.record + (offset - before.offset);
  }
  [[nodiscard]] std::uint64_t records() const { return next_record_; }

  // Forgets the offsets before this one.
  void ForgetBefore(std::uint64_t offset) {
    const auto after = After(offset);
    if (after != places_.begin())
      places_.erase(places_.begin(), offset > (after - 1)->last ? after : after - 1);
  }

  [[nodiscard]] nlohmann::json ToJson() const {
    nlohmann::json places = nlohmann::json::array();
    for (const Place& place : places_) places.push_back({place.offset, place.last, place.record});
    return {{"records", next_record_}, {"last_records", last_records_}, {"places", places}};
  }
  // Throws nlohmann::json::exception if `json` is not of ToJson().
  static OffsetMap FromJson(const nlohmann::json& json) {
    OffsetMap map;
    json.at("records").get_to(map.next_record_);
    json.at("last_records").get_to(map.last_records_);
    for (const auto& place : json.at("places"))
      map.places_.push_back({.offset = place.at(0), .last = place.at(1), .record = place.at(2)});
    return map;
  }

 private:
  struct Place {
    std::uint64_t offset = 0;
    std::uint64_t last = 0;    // offset of the run's last message
    std::uint64_t record = 0;  // number of records before the run's first message
  };

  // The first place that begins after the offset.
  [[nodiscard]] std::vector<Place>::const_iterator After(std::uint64_t offset) const {
    return std::upper_bound(places_.begin(), places_.end(), offset,
                            [](std::uint64_t o, const Place& place) { return o < place.offset; });
  }

  std::vector<Place> places_;
  std::uint64_t last_records_ = 0;
  std::uint64_t next_record_ = 0;
};

}  // namespace cobblestone::kafka
