#include "services/events/event_lines.h"

#include <algorithm>
#include <utility>

#include "services/events/event_stream.h"
#include "services/events/foreign_file.h"

namespace cobblestone::events {
namespace {

constexpr std::size_t kKeptOfLongLine = 4096;  // bytes
constexpr std::size_t kLongestProblem = 300;   // bytes

}  // namespace

bool IsBlank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

std::string LineTooLong() {
  return "a line of more than " + std::to_string(kMaxEventBytes >> 20) + " MiB, the limit for events";
}

std::size_t ByteOrderMarkBytes(std::string_view start) {
  return start.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
}

Result<LineSplitter::Found> LineSplitter::Next(std::string_view data, AtEnd after, std::size_t* consumed) {
  *consumed = 0;
  if (form_ == LineForm::kRecords) return NextRecord(data, after, consumed);
  return NextLine(data, after, consumed);
}

LineSplitter::Found LineSplitter::Take(std::string_view line) {
  ++next_;
  looked_ = 0;
  skipping_ = false;
  raw_ = line;
  return Found::kLine;
}

LineSplitter::Found LineSplitter::NextLine(std::string_view data, AtEnd after, std::size_t* consumed) {
  std::size_t end = data.find('\n', looked_);
  if (end == std::string_view::npos) {
    if (after == AtEnd::kStop || (after == AtEnd::kComplete && data.empty() && !skipping_))
      return Found::kEnd;
    end = data.size();
  }
  const bool whole = end < data.size() || after == AtEnd::kComplete;
  std::string_view line = data.substr(0, end);
  if (whole && line.ends_with('\r')) line.remove_suffix(1);
  // One byte more may be a carriage return.
  if (!skipping_ && line.size() > kMaxEventBytes + (whole ? 0 : 1)) {
    kept_.assign(line.substr(0, kKeptOfLongLine));
    skipping_ = true;
  }
  if (!whole) {
    *consumed = skipping_ ? data.size() : 0;
    looked_ = data.size() - *consumed;
    return Found::kNeedsMore;
  }
  *consumed = end < data.size() ? end + 1 : end;
  too_long_ = skipping_;
  if (skipping_) return Take(kept_);
  return Take(IsBlank(line) ? std::string_view() : line);
}

Status LineSplitter::BadRecord(const std::string& problem, const std::string& remedy) const {
  return Status::InvalidArgument("record " + std::to_string(next_) + " (counted from 0) " + problem +
                                 ": the " + what_ + " " + remedy + "; all earlier records were good");
}

Result<LineSplitter::Found> LineSplitter::NextRecord(std::string_view data, AtEnd after,
                                                     std::size_t* consumed) {
  constexpr std::size_t kZeros = 100;
  constexpr const char* kDamaged = "does not contain delimited events, or is damaged from this record on";
  std::uint64_t length = 0;
  std::size_t head = 0;
  bool whole = false;
  while (head < data.size() && head < 10 && !whole) {
    const auto byte = static_cast<unsigned char>(data[head]);
    length |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * head);
    ++head;
    whole = byte < 0x80;
  }
  if ((whole && length > kMaxEventBytes) || (!whole && head == 10))
    return BadRecord("has an invalid length", kDamaged);
  // One record without bytes is refused. Many zeros are unwritten parts of a disk.
  if (whole && length == 0) {
    if (data.size() < kZeros && after == AtEnd::kReadOn) return Found::kNeedsMore;
    if (data.size() >= kZeros && data.substr(0, kZeros).find_first_not_of('\0') == std::string_view::npos)
      return BadRecord("and the following bytes are zeros", kDamaged);
  }
  if (whole && data.size() - head >= length) {
    *consumed = head + length;
    return Take(data.substr(head, length));
  }
  if (after == AtEnd::kReadOn) return Found::kNeedsMore;
  if (data.empty() || after == AtEnd::kStop) return Found::kEnd;
  return BadRecord("is longer than the rest of the " + what_, "is truncated, or is still being written");
}

std::string_view LineDecoder::Decode(std::string_view raw, bool too_long, std::string* problem) {
  problem->clear();
  if (too_long) {
    *problem = LineTooLong();
    return {};
  }
  if (form_ == LineForm::kRecords) {
    if (raw.empty()) *problem = "the event has no fields";
    return raw;
  }
  if (raw.empty()) return {};
  // The usual bad line, such as a message of a program: protobuf would take 20 times as long to say less.
  if (raw[std::min(raw.find_first_not_of(" \t\r\v\f"), raw.size() - 1)] != '{') {
    *problem = "not an event in JSON: the line does not begin with {";
    return {};
  }
  if (Status s = json_->Read(raw, &envelope_); !s.ok()) {
    *problem = s.message();
    if (problem->size() > kLongestProblem) *problem = problem->substr(0, kLongestProblem) + "...";
    return {};
  }
  // `{}` is an event without any fields and encodes to no bytes: it must not be treated as a barrier.
  if (envelope_.empty()) *problem = "the event has no fields";
  return envelope_;
}

}  // namespace cobblestone::events
