#include "services/access/event_batch.h"

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/events/json_lines.h"
#include "services/events/event_file.h"
#include "services/events/foreign_file.h"
#include "services/intake/block_maker.h"

namespace cobblestone::access {

using embedded::Engine;
using events::kMaxEventBytes;
using intake::AppendBlock;
using intake::AppendOutcome;
using intake::BlockMaker;
using intake::ChainLine;
using intake::Classifier;
using intake::ProducerState;
using intake::Separation;
using intake::SourceLine;
using intake::Step;

namespace {

constexpr std::size_t kSourcesCompared = 1000;

constexpr std::size_t kPieceBytes = 1u << 20;
constexpr std::uint64_t kMaxLines = 1'000'000;
constexpr std::size_t kMaxListed = 100;      // bad lines
constexpr std::size_t kLongestReason = 300;  // bytes
constexpr std::size_t kBlocksOnTheirWay = 4;

// One line or record after reading.
struct ReadLine {
  SourceLine line;
  wire::Routing routing;  // of an event
  std::string problem;    // not empty: the line will be refused
};

ReadLine Bad(std::string_view raw, std::string problem) {
  if (problem.size() > kLongestReason) problem = problem.substr(0, kLongestReason) + "...";
  return {.line = {.envelope = {}, .original = std::string(raw), .problem = problem},
          .routing = {},
          .problem = std::move(problem)};
}

ReadLine ReadEnvelope(std::string_view raw, std::string envelope) {
  const auto routing = wire::PeekRouting(envelope);
  if (!routing) return Bad(raw, "the bytes are not an Envelope");
  ReadLine read{.line = {.envelope = std::move(envelope)}, .routing = *routing, .problem = {}};
  if (wire::IsOurOwn(routing->kind))
    read.problem = "only the pipeline may create a " + std::string(wire::EventKindName(routing->kind));
  return read;
}

// A blank line is neither an event nor a problem.
ReadLine Read(gateway::EventBatch::Format format, std::string_view raw) {
  if (format == gateway::EventBatch::Format::kDelimited) {
    // A line without bytes would count as blank; a delimited record without bytes is refused.
    if (raw.empty()) return Bad(std::string_view("\0", 1), "the event has no fields");
    if (raw.size() > kMaxEventBytes) return Bad(raw.substr(0, kMaxEventBytes), "the event is too long");
    return ReadEnvelope(raw, std::string(raw));
  }
  if (raw.empty()) return {};
  if (raw.size() > kMaxEventBytes) return Bad(raw.substr(0, kMaxEventBytes), "the event is too long");
  auto envelope = wire::EnvelopeFromJson(raw);
  if (!envelope.ok()) return Bad(raw, envelope.status().message());
  if (envelope->empty()) return Bad(raw, "the event has no fields");
  return ReadEnvelope(raw, std::move(*envelope));
}

bool HasRoom(const std::vector<gateway::BadEventLine>& list) { return list.size() < kMaxListed; }

// Fills the bad and forbidden lines of `outcome`. `envelopes` gets an entry for each JSON line that is not
// blank, an empty one for a bad line, so that only bad lines are parsed again.
// `charges`: of the lines behind the first `known` lines of the source.
Status CheckLines(const gateway::EventBatch& batch, std::uint64_t known, gateway::EventOutcome* outcome,
                  EnvelopeQueue* envelopes, intake::Charges* charges) {
  const ProjectId unnamed = batch.rights != nullptr && !batch.rights->projects().empty()
                                ? batch.rights->projects().front()
                                : ProjectId();
  std::string_view raw;
  for (BatchLines counted(batch); counted.Next(&raw);)  // checked before any line is parsed
    if (counted.passed() > kMaxLines)
      return Status::InvalidArgument("the batch has more than " + std::to_string(kMaxLines) +
                                     " lines; no events were ingested: send smaller batches");
  BatchLines lines(batch);
  while (lines.Next(&raw)) {
    const std::uint64_t line = batch.first_line + lines.passed() - 1;
    const ReadLine read = Read(batch.format, raw);
    if (batch.format == gateway::EventBatch::Format::kJsonLines && !raw.empty())
      envelopes->Put(read.line.envelope);
    if (!raw.empty() && line >= known)
      charges->Add(read.line.envelope.empty() ? unnamed : read.routing.project,
                   std::max(read.line.envelope.size(), read.line.original.size()));
    if (!read.problem.empty()) {
      ++outcome->bad_lines;
      if (HasRoom(outcome->bad)) outcome->bad.push_back({.line = line, .reason = read.problem});
      if (!batch.refuse_bad_lines && !HasRoom(outcome->bad)) return Status::Ok();
    } else if (batch.rights != nullptr && !read.line.envelope.empty() &&
               !batch.rights->May(read.routing.project, read.routing.kind)) {
      outcome->forbidden.push_back({.line = line,
                                    .reason = "an event of kind " +
                                              std::string(wire::EventKindName(read.routing.kind)) +
                                              " of project " + std::to_string(read.routing.project.value)});
      if (!HasRoom(outcome->forbidden)) return Status::Ok();
    }
  }
  return lines.status();
}

// The next line that is not blank; empty at the end.
std::string_view TakeLine(std::string_view* rest) {
  rest->remove_prefix(std::min(rest->size(), rest->find_first_not_of(" \t\r\n")));
  const std::string_view line = rest->substr(0, rest->find('\n'));
  rest->remove_prefix(line.size());
  return line;
}

// A body that is no batch of its content type as a whole: one message instead of one for each line. A batch from the
// middle of a source may begin with a bad line, so only the first batch is examined as text.
Status CheckBody(const gateway::EventBatch& batch) {
  const std::string_view start = batch.body.substr(0, 2 * kMaxEventBytes);
  const bool text = !events::LooksDelimited(start);
  const bool json = batch.format == gateway::EventBatch::Format::kJsonLines;
  const auto is = [](const std::string& what, const std::string& remedy) {
    return Status::InvalidArgument("the body is " + what + "; no events were ingested: " + remedy);
  };
  if (!json && text && start.starts_with('{'))
    return is("JSON, but its Content-Type is application/x-protobuf", "send it as application/x-ndjson");
  events::Foreign foreign = batch.first_line == 0 ? events::ForeignStart(start) : events::Foreign{};
  if (foreign.what == "gzip data" || foreign.what == "zstd data")
    return is(foreign.what, "set Content-Encoding to gzip or zstd");
  if (!foreign && json && !text && !events::ForeignRecords(start, true))
    return is("length-delimited protobuf, but its Content-Type is JSON", "send it as application/x-protobuf");
  if (!foreign && json && batch.first_line == 0) {
    std::string_view rest = start;
    const std::string_view first = TakeLine(&rest);
    foreign = events::ForeignLines(first, TakeLine(&rest));
  }
  return foreign ? is(foreign.what, json ? "send one event per line" : "send length-delimited Envelopes")
                 : Status::Ok();
}

// Whether the sender may use a source in this state.
bool MayUse(const gateway::Sender& sender, const ProducerState& source) {
  if (sender.owner().empty()) return true;  // not over HTTP
  return (source.lines == 0 && source.owner.empty()) || sender.Owns(source.owner);
}

gateway::Throttled ThrottledBy(const intake::Excess& excess) {
  return {.project = excess.project,
          .quota = std::string(excess.quota),
          .message = intake::ExcessText(excess),
          .wait = excess.wait};
}

std::string Conflict(const std::string& source, const std::string& what, std::uint64_t lines) {
  return "source " + source + " is ingested up to line " + std::to_string(lines) + ", " + what;
}

}  // namespace

BatchLines::BatchLines(const gateway::EventBatch& batch) : format_(batch.format), rest_(batch.body) {
  const bool begins = format_ == gateway::EventBatch::Format::kJsonLines && batch.first_line == 0;
  if (begins && rest_.starts_with(events::kByteOrderMark)) rest_.remove_prefix(events::kByteOrderMark.size());
}

bool BatchLines::Next(std::string_view* raw) {
  if (rest_.empty()) return false;
  if (format_ == gateway::EventBatch::Format::kDelimited) return NextRecord(raw);
  const std::size_t end = std::min(rest_.find('\n'), rest_.size());
  *raw = rest_.substr(0, end);
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  ++passed_;
  if (raw->ends_with('\r')) raw->remove_suffix(1);
  if (raw->find_first_not_of(" \t\r") == std::string_view::npos) *raw = {};  // blank: only counted
  return true;
}

bool BatchLines::NextRecord(std::string_view* raw) {
  std::uint64_t length = 0;
  std::size_t head = 0;
  bool whole = false;
  while (head < rest_.size() && head < 10 && !whole) {
    const auto byte = static_cast<unsigned char>(rest_[head]);
    length |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * head);
    ++head;
    whole = byte < 0x80;
  }
  if (!whole || length > rest_.size() - head) {
    status_ =
        Status::InvalidArgument("record " + std::to_string(passed_ + 1) +
                                " is longer than the rest of the body: the body is truncated, or is not "
                                "length-delimited Envelopes");
    return false;
  }
  *raw = rest_.substr(head, length);
  rest_.remove_prefix(head + length);
  ++passed_;
  return true;
}

void EnvelopeQueue::Put(std::string_view envelope) {
  constexpr std::size_t kLengthBytes = 10;
  const std::size_t need = kLengthBytes + envelope.size();
  if (pieces_.empty() || pieces_.back().capacity() - pieces_.back().size() < need)
    pieces_.emplace_back().reserve(std::max(kPieceBytes, need));
  std::string& piece = pieces_.back();
  std::size_t length = envelope.size();
  for (; length >= 0x80; length >>= 7) piece.push_back(static_cast<char>(length | 0x80));
  piece.push_back(static_cast<char>(length));
  piece.append(envelope);
}

std::string_view EnvelopeQueue::Take() {
  if (taken_ == pieces_.front().size()) {
    pieces_.pop_front();
    taken_ = 0;
  }
  const std::string& piece = pieces_.front();
  std::size_t length = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(piece[taken_++]);
    length |= static_cast<std::size_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  const std::string_view envelope = std::string_view(piece).substr(taken_, length);
  taken_ += length;
  return envelope;
}

// While it exists, no other batch of the source is compared or appended.
class BatchIngest::InTurn {
 public:
  InTurn(BatchIngest& ingest, const std::string& source) : ingest_(ingest) {
    {
      const std::lock_guard lock(ingest_.mutex_);
      at_ = ingest_.turns_.try_emplace(source).first;
      ++at_->second.batches;
    }
    at_->second.mutex.lock();
  }
  ~InTurn() {
    at_->second.mutex.unlock();
    const std::lock_guard lock(ingest_.mutex_);
    if (--at_->second.batches == 0) ingest_.turns_.erase(at_);
  }
  InTurn(const InTurn&) = delete;
  InTurn& operator=(const InTurn&) = delete;

 private:
  BatchIngest& ingest_;
  std::map<std::string, Turns>::iterator at_;
};

Result<std::optional<stream::Hash128>> BatchIngest::HashBefore(const std::string& source,
                                                               std::uint64_t line) {
  using Hash = std::optional<stream::Hash128>;
  if (line == 0) return Hash(stream::Hash128{});
  const auto begin = sink_->BatchBegin(source);
  if (!begin.ok()) return begin.status();
  if (begin->lines == line) return Hash(begin->hash);
  const std::lock_guard lock(mutex_);
  const auto known = compared_.find(source);
  if (known == compared_.end() || known->second.upto.lines != line) return Hash();
  known->second.used = ++uses_;
  return Hash(known->second.upto.hash);
}

void BatchIngest::Remember(const std::string& source, const ProducerState& upto) {
  const std::lock_guard lock(mutex_);
  compared_[source] = {.upto = upto, .used = ++uses_};
  if (compared_.size() <= kSourcesCompared) return;
  compared_.erase(std::min_element(compared_.begin(), compared_.end(), [](const auto& a, const auto& b) {
    return a.second.used < b.second.used;
  }));
}

Result<gateway::EventOutcome> BatchIngest::Take(const gateway::EventBatch& batch) {
  if (sink_->lockstep())
    return Status::InvalidArgument(
        "the pipeline runs with `order: lockstep`, where a source must create its ticks and "
        "barriers itself: ingest the file with `cobblestone ingest`");
  if (Status s = CheckBody(batch); !s.ok()) return s;
  gateway::EventOutcome outcome;
  const auto seen = sink_->Look(batch.source);
  if (!seen.ok()) return seen.status();
  outcome.others_source = !MayUse(batch.sender, *seen);
  if (outcome.others_source) return outcome;
  EnvelopeQueue envelopes;
  intake::Charges charges;
  if (Status s = CheckLines(batch, seen->lines, &outcome, &envelopes, &charges); !s.ok()) return s;
  if (!outcome.forbidden.empty()) return outcome;

  const InTurn in_turn(*this, batch.source);
  const auto producer = sink_->Producer(batch.source);
  if (!producer.ok()) return producer.status();
  const ProducerState& known = *producer;
  outcome.others_source = !MayUse(batch.sender, known);
  if (outcome.others_source) return outcome;
  outcome.lines = known.lines;
  if (!outcome.bad.empty() && !batch.refuse_bad_lines) return outcome;
  if (batch.first_line > known.lines) {
    outcome.conflict =
        Conflict(batch.source, "so lines are missing before line " + std::to_string(batch.first_line + 1),
                 known.lines);
    return outcome;
  }
  std::optional<stream::Hash128> before = known.hash;
  if (batch.first_line != known.lines) {
    const auto looked = HashBefore(batch.source, batch.first_line);
    if (!looked.ok()) return looked.status();
    before = *looked;
  }
  if (!before) {
    outcome.conflict =
        Conflict(batch.source,
                 "and the history before line " + std::to_string(batch.first_line + 1) +
                     " is no longer available: continue after the line count in `lines`, or send all lines "
                     "from first_line=0; lines that are already ingested are skipped",
                 known.lines);
    return outcome;
  }
  const ProducerState begin{.lines = batch.first_line, .hash = *before};
  ProducerState at = begin;
  const bool json = batch.format == gateway::EventBatch::Format::kJsonLines;
  BatchLines lines(batch);
  for (std::string_view raw; at.lines < known.lines && lines.Next(&raw);) {
    if (json && !raw.empty()) (void)envelopes.Take();
    at = {.lines = at.lines + 1, .hash = ChainLine(at.hash, raw)};
  }
  outcome.repeated = lines.passed();
  if (at.lines == known.lines && at.hash != known.hash) {
    outcome.repeated = 0;
    outcome.conflict =
        Conflict(batch.source,
                 "and the lines differ from the ingested lines (changed, or in another order); no "
                 "events were ingested. Use another source name for another source",
                 known.lines);
    return outcome;
  }
  if (at.lines < known.lines) {
    if (outcome.repeated > 0) Remember(batch.source, at);
    return outcome;
  }
  if (quotas_ != nullptr) {
    if (const auto excess = quotas_->Take(charges)) {
      outcome.repeated = 0;
      outcome.throttled = ThrottledBy(*excess);
      return outcome;
    }
  }
  if (Status s = Append(batch, lines, envelopes, at, begin, &outcome); !s.ok()) return s;
  return outcome;
}

std::optional<gateway::Throttled> BatchIngest::Throttle(const gateway::IngestRights& rights) {
  if (quotas_ == nullptr || rights.projects().empty()) return std::nullopt;
  const auto excess = quotas_->TakeNone(rights.projects());
  if (!excess) return std::nullopt;
  return ThrottledBy(*excess);
}

Status BatchIngest::Append(const gateway::EventBatch& batch, BatchLines& lines, EnvelopeQueue& envelopes,
                           ProducerState at, const ProducerState& batch_begin,
                           gateway::EventOutcome* outcome) {
  const bool json = batch.format == gateway::EventBatch::Format::kJsonLines;
  Classifier classifier(Separation::kBroadcasts);
  BlockMaker maker({.source = batch.source,
                    .first_line = at.lines,
                    .lines = {},
                    .batch_begin = batch_begin,
                    .owner = batch.sender.owner()});
  const auto read_line = [&](std::string_view raw) {
    if (!json || raw.empty()) return Read(batch.format, raw);
    const std::string_view envelope = envelopes.Take();
    return envelope.empty() ? Read(batch.format, raw)  // bad: parsed again for the reason
                            : ReadEnvelope(raw, std::string(envelope));
  };
  const auto next = [&](AppendBlock* block) {
    std::string_view raw;
    while (maker.complete() == 0 && lines.Next(&raw)) {
      at = {.lines = at.lines + 1, .hash = ChainLine(at.hash, raw)};
      Step step{.line = read_line(raw).line};
      if (!step.line.envelope.empty()) classifier.Classify(&step);
      maker.Put(std::move(step), at.hash);
    }
    if (maker.complete() == 0) maker.Close();
    if (maker.complete() == 0) return false;
    *block = std::move(maker.Take().block);
    return true;
  };
  return sink_->Append(next, [outcome](const AppendOutcome& one) {
    outcome->appended += one.appended;
    outcome->lines = one.producer.lines;
  });
}

namespace {

class EngineSink final : public EventSink {
 public:
  explicit EngineSink(Engine& engine) : engine_(engine) {}

  [[nodiscard]] bool lockstep() const override { return engine_.lockstep(); }
  Result<ProducerState> Look(const std::string& source) override { return engine_.Producer(source); }
  Result<ProducerState> Producer(const std::string& source) override { return engine_.Producer(source); }
  Result<ProducerState> BatchBegin(const std::string& source) override { return engine_.BatchBegin(source); }
  Status Append(const std::function<bool(AppendBlock*)>& next,
                const std::function<void(const AppendOutcome&)>& done) override {
    std::deque<Engine::PendingAppend> pending;  // several blocks that are not yet durable
    Status status;
    const auto finish = [&] {
      const auto finished = engine_.FinishAppend(pending.front());
      pending.pop_front();
      if (!finished.ok()) return finished.status();
      done(*finished);
      return Status::Ok();
    };
    for (AppendBlock block; status.ok() && next(&block);) {
      auto begun = engine_.BeginAppend(block);
      if (!begun.ok()) {
        status = begun.status();
        break;
      }
      pending.push_back(*begun);
      if (pending.size() < kBlocksOnTheirWay) continue;
      if (Status s = finish(); !s.ok()) return s;
    }
    while (!pending.empty())
      if (Status s = finish(); !s.ok()) return s;
    return status;
  }

 private:
  Engine& engine_;
};

}  // namespace

std::unique_ptr<EventSink> MakeEngineSink(Engine& engine) { return std::make_unique<EngineSink>(engine); }

}  // namespace cobblestone::access
