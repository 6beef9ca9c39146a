#include "common/stream/watermarks.h"

#include <algorithm>
#include <string>

namespace cobblestone::stream {
namespace {

constexpr Key kRow{};

bool HasPassed(const WatermarkProgress& row, std::uint64_t number) {
  return std::all_of(row.sources.begin(), row.sources.end(),
                     [&](std::uint64_t last) { return last >= number; }) &&
         std::all_of(row.outside.begin(), row.outside.end(),
                     [&](const ExternalWatermarks& input) { return input.seen >= number; });
}

}  // namespace

Watermarks::Watermarks(TableHost& host, std::uint8_t table, std::uint32_t sources, std::size_t outside)
    : rows_(host, {.id = table, .version = 1}, true), sources_(sources), outside_(outside), ahead_(outside) {}

WatermarkProgress& Watermarks::Row() {
  bool created = false;
  WatermarkProgress& row = rows_.Mutable(kRow, &created);
  if (created) {
    row.sources.resize(sources_);
    row.outside.resize(outside_);
  }
  return row;
}

void Watermarks::Opened() { Derive(); }

std::uint64_t Watermarks::passed() {
  const WatermarkProgress* row = rows_.Find(kRow);
  return row == nullptr ? 0 : row->passed;
}

Status Watermarks::OnControl(std::uint64_t number, const Watermark* watermark) {
  WatermarkProgress& row = Row();
  if (number != row.control + 1)
    return Status::Corrupted("record " + std::to_string(number) + " of the coordinator follows record " +
                             std::to_string(row.control));
  row.control = number;
  if (watermark != nullptr) row.pending.push_back(*watermark);
  for (ExternalWatermarks& input : row.outside) {
    const auto end = std::upper_bound(input.ahead.begin(), input.ahead.end(), number);
    if (watermark != nullptr && end != input.ahead.begin() && *(end - 1) == number) input.seen = number;
    input.ahead.erase(input.ahead.begin(), end);
  }
  Derive();
  return Status::Ok();
}

void Watermarks::OnOutside(std::size_t input, std::uint64_t number) {
  const WatermarkProgress* known = rows_.Find(kRow);
  if (known == nullptr || number > known->control) {
    std::vector<std::uint64_t>& ahead = Row().outside[input].ahead;
    const auto at = std::lower_bound(ahead.begin(), ahead.end(), number);
    if (at != ahead.end() && *at == number) return;
    ahead.insert(at, number);
    if (ahead.size() > kMaxAhead) ahead.pop_back();
    ahead_[input] = true;
    return;
  }
  if (number <= known->outside[input].seen) return;
  const bool announced =
      std::any_of(known->pending.begin(), known->pending.end(),
                  [number](const Watermark& watermark) { return watermark.number == number; });
  if (!announced) return;
  Row().outside[input].seen = number;
  Derive();
}

void Watermarks::Derive() {
  const WatermarkProgress* row = rows_.Find(kRow);
  caught_up_ = row == nullptr || row->named <= row->control;
  begun_ = row != nullptr && row->begun;
  for (std::size_t i = 0; i < outside_; ++i)
    ahead_[i] =
        row != nullptr && (!row->outside[i].ahead.empty() ||
                           (!row->pending.empty() && row->outside[i].seen >= row->pending.front().number));
}

Status Watermarks::OnSource(const Passed& passed) {
  if (passed.source >= sources_)
    return Status::Corrupted("partition " + std::to_string(passed.source) +
                             " has passed a watermark that does not exist");
  const WatermarkProgress* known = rows_.Find(kRow);
  const std::uint64_t last = known == nullptr ? 0 : known->sources[passed.source];
  if (passed.watermark > last) Row().sources[passed.source] = passed.watermark;
  if (passed.control > (known == nullptr ? 0 : known->named)) {
    Row().named = passed.control;
    Derive();
  }
  return Status::Ok();
}

std::optional<Watermark> Watermarks::Begin() {
  const WatermarkProgress* known = rows_.Find(kRow);
  if (known == nullptr || known->pending.empty()) return std::nullopt;
  if (!known->begun) {
    if (!HasPassed(*known, known->pending.front().number)) return std::nullopt;
    WatermarkProgress& row = Row();
    row.begun = true;
    ++row.passed;
    Derive();
  }
  return known->pending.front();
}

void Watermarks::End() {
  WatermarkProgress& row = Row();
  COBBLESTONE_CHECK(row.begun, "a watermark ends that was not begun");
  row.pending.erase(row.pending.begin());
  row.begun = false;
  Derive();
}

std::optional<Watermark> Watermarks::Next() {
  const auto watermark = Begin();
  if (watermark) End();
  return watermark;
}

}  // namespace cobblestone::stream
