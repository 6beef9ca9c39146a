#include "services/cobblestone/event_batch.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "common/wire/event_codec.h"
#include "common/wire/json_lines.h"
#include "common/wire/topics.h"
#include "services/cobblestone/event_file.h"

namespace cobblestone {
namespace {

// As in ingest.cc.
constexpr std::size_t kBlockBytes = 1u << 20;
constexpr std::size_t kBlockLines = 20000;
// Other sources wait until a block of broadcasts has been processed, so it is short.
constexpr std::size_t kBlockBroadcasts = 200;
constexpr std::size_t kSourcesCompared = 1000;

void Classify(BatchLine& line) {
  const auto kind = wire::PeekKind(line.line.envelope);
  if (!kind) {
    line.line = {
        .envelope = {}, .original = std::move(line.line.envelope), .problem = "these bytes are no Envelope"};
  } else if (wire::IsOurOwn(*kind)) {
    line.line = {.envelope = {},
                 .original = std::string(line.raw),
                 .problem = "the pipeline alone makes a " + std::string(wire::EventKindName(*kind))};
  } else if (*kind != wire::EventKind::kCompletion && *kind != wire::EventKind::kValidation &&
             *kind != wire::EventKind::kTick && *kind != wire::EventKind::kBarrier) {
    line.broadcast = wire::RouteEvent(line.line.envelope, 1).topic == wire::kCatalogue;
  }
}

BatchLine JsonLine(std::string_view text) {
  BatchLine line;
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (text.find_first_not_of(" \t\r") == std::string_view::npos) return line;  // counts, and says nothing
  line.raw = text;
  auto envelope = text.size() > kMaxEventBytes
                      ? Result<std::string>(Status::InvalidArgument("it is longer than any event"))
                      : wire::EnvelopeFromJson(text);
  if (envelope.ok() && !envelope->empty()) {
    line.line.envelope = std::move(*envelope);
    Classify(line);
    return line;
  }
  line.line.original = text.substr(0, kMaxEventBytes);
  line.line.problem = envelope.ok() ? "an event without any field" : envelope.status().message();
  return line;
}

Status Delimited(std::string_view body, std::uint64_t first, std::vector<BatchLine>* lines) {
  while (!body.empty()) {
    std::uint64_t length = 0;
    std::size_t head = 0;
    bool whole = false;
    while (head < body.size() && head < 10 && !whole) {
      const auto byte = static_cast<unsigned char>(body[head]);
      length |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * head);
      ++head;
      whole = byte < 0x80;
    }
    if (!whole || length > body.size() - head)
      return Status::InvalidArgument("record " + std::to_string(first + lines->size() + 1) +
                                     " is longer than what is left of the body: these are no "
                                     "length-delimited Envelopes, or the body was cut");
    BatchLine& line = lines->emplace_back();
    line.raw = body.substr(head, length);
    line.line.envelope = line.raw;
    body.remove_prefix(head + length);
    if (length == 0) {
      // A source line without bytes would say nothing; this one is refused.
      line.line = {.envelope = {}, .original = std::string(1, '\0'), .problem = "an event without any field"};
      continue;
    }
    Classify(line);
  }
  return Status::Ok();
}

std::string Conflict(const std::string& source, const std::string& what, std::uint64_t lines) {
  return "source " + source + " has been taken in up to line " + std::to_string(lines) + ", " + what;
}

}  // namespace

Result<std::vector<BatchLine>> ParseEventBatch(const gateway::EventBatch& batch) {
  std::vector<BatchLine> lines;
  if (batch.format == gateway::EventBatch::Format::kDelimited) {
    if (Status s = Delimited(batch.body, batch.first_line, &lines); !s.ok()) return s;
    return lines;
  }
  for (std::string_view rest = batch.body; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    lines.push_back(JsonLine(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lines;
}

// While it lives no other batch of the source is compared or appended.
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
        "the pipeline runs with `order: lockstep`, where a source must make its ticks and barriers itself, as "
        "`cobblestone ingest` does: send the file with that");
  auto lines = ParseEventBatch(batch);
  if (!lines.ok()) return lines.status();
  gateway::EventOutcome outcome;
  for (std::size_t i = 0; i < lines->size(); ++i)
    if (const std::string& problem = (*lines)[i].line.problem; !problem.empty())
      outcome.bad.push_back({.line = batch.first_line + i, .reason = problem});

  const InTurn in_turn(*this, batch.source);
  const auto told = sink_->Producer(batch.source);
  if (!told.ok()) return told.status();
  const ProducerState& known = *told;
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
    outcome.conflict = Conflict(
        batch.source,
        "and of line " + std::to_string(batch.first_line + 1) +
            " it is not known any more what was sent: go on behind the lines that `lines` counts, or "
            "send all from first_line=0 on, which adds nothing twice",
        known.lines);
    return outcome;
  }
  const ProducerState begin{.lines = batch.first_line, .hash = *before};
  ProducerState at = begin;
  std::size_t next = 0;
  for (; next < lines->size() && at.lines < known.lines; ++next)
    at = {.lines = at.lines + 1, .hash = ChainLine(at.hash, (*lines)[next].raw)};
  outcome.repeated = next;
  if (at.lines == known.lines && at.hash != known.hash) {
    outcome.repeated = 0;
    outcome.conflict =
        Conflict(batch.source,
                 "and these are not the lines that it sent before (changed, or in another order); "
                 "nothing was taken in now. If it is another source, give it another name",
                 known.lines);
    return outcome;
  }
  if (next == lines->size()) {
    if (next > 0 && at.lines < known.lines) Remember(batch.source, at);
    return outcome;
  }
  if (Status s = Append(batch, *lines, next, at, begin, &outcome); !s.ok()) return s;
  return outcome;
}

Status BatchIngest::Append(const gateway::EventBatch& batch, std::vector<BatchLine>& lines, std::size_t begin,
                           ProducerState at, const ProducerState& batch_begin,
                           gateway::EventOutcome* outcome) {
  std::vector<AppendBlock> blocks;
  for (std::size_t i = begin; i < lines.size();) {
    AppendBlock block{.source = batch.source, .first_line = at.lines, .barrier = lines[i].broadcast};
    block.batch_begin = batch_begin;
    const std::size_t most_lines = block.barrier ? kBlockBroadcasts : kBlockLines;
    for (std::size_t bytes = 0; i < lines.size() && lines[i].broadcast == block.barrier &&
                                bytes < kBlockBytes && block.lines.size() < most_lines;
         ++i) {
      bytes += lines[i].raw.size() + 1;
      at = {.lines = at.lines + 1, .hash = ChainLine(at.hash, lines[i].raw)};
      block.lines.push_back(std::move(lines[i].line));
    }
    block.hash = at.hash;
    blocks.push_back(std::move(block));
  }
  std::vector<AppendOutcome> outcomes;
  Status appended = sink_->Append(blocks, &outcomes);
  for (const AppendOutcome& one : outcomes) {
    outcome->appended += one.appended;
    outcome->lines = one.producer.lines;
  }
  return appended;
}

namespace {

class EngineSink final : public EventSink {
 public:
  explicit EngineSink(Engine& engine) : engine_(engine) {}

  [[nodiscard]] bool lockstep() const override { return engine_.lockstep(); }
  Result<ProducerState> Producer(const std::string& source) override { return engine_.Producer(source); }
  Result<ProducerState> BatchBegin(const std::string& source) override { return engine_.BatchBegin(source); }
  Status Append(const std::vector<AppendBlock>& blocks, std::vector<AppendOutcome>* outcomes) override {
    std::deque<Engine::PendingAppend> pending;  // several on their way to the disk
    Status status;
    for (const AppendBlock& block : blocks) {
      auto begun = engine_.BeginAppend(block);
      if (!begun.ok()) {
        status = begun.status();
        break;
      }
      pending.push_back(*begun);
    }
    for (const Engine::PendingAppend& one : pending) {
      const auto done = engine_.FinishAppend(one);
      if (!done.ok()) return done.status();
      outcomes->push_back(*done);
    }
    return status;
  }

 private:
  Engine& engine_;
};

}  // namespace

std::unique_ptr<EventSink> MakeEngineSink(Engine& engine) { return std::make_unique<EngineSink>(engine); }

}  // namespace cobblestone
