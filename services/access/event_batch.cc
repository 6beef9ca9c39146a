#include "services/access/event_batch.h"

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "services/events/event_stream.h"
#include "services/events/foreign_file.h"
#include "services/gateway/rights/operator_field.h"
#include "services/intake/block_maker.h"

namespace cobblestone::access {

using embedded::Engine;
using events::kMaxEventBytes;
using events::LineDecoder;
using events::LineForm;
using events::LineSplitter;
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
constexpr std::size_t kProblemsKept = 1000;
constexpr std::size_t kNumberBytes = 10;  // of a varint
constexpr std::uint64_t kMaxLines = 1'000'000;
constexpr std::size_t kMaxListed = 100;  // bad lines
constexpr std::size_t kBlocksOnTheirWay = 4;

// One line or record after reading.
struct ReadLine {
  SourceLine line;
  wire::Routing routing;  // of an event
  std::string problem;    // not empty: the line will be refused
};

LineForm FormOf(const gateway::EventBatch& batch) {
  return batch.format == gateway::EventBatch::Format::kJsonLines ? LineForm::kLines : LineForm::kRecords;
}

ReadLine ReadEnvelope(std::string_view envelope) {
  const auto routing = wire::PeekRouting(envelope);
  return {.line = {.envelope = std::string(envelope)},
          .routing = routing.value_or(wire::Routing{}),
          .problem = intake::ProblemOf(routing)};
}

// A blank line is neither an event nor a problem.
ReadLine Read(const BatchLines& lines, LineDecoder& decoder) {
  std::string problem;
  const std::string_view envelope = decoder.Decode(lines.raw(), lines.too_long(), &problem);
  if (problem.empty()) return envelope.empty() ? ReadLine{} : ReadEnvelope(envelope);
  return {.line = intake::NotAnEvent(lines.raw(), problem), .routing = {}, .problem = std::move(problem)};
}

// Why the sender may not send the event; empty: it may.
std::string WhyForbidden(const gateway::IngestRights& rights, const ReadLine& read) {
  const wire::Routing& routing = read.routing;
  const std::string kind(wire::EventKindName(routing.kind));
  if (!rights.May(routing.project, routing.kind))
    return "an event of kind " + kind + " of project " + std::to_string(routing.project.value);
  if (rights.MayDecideForHub()) return {};
  const std::string_view field = gateway::OperatorField(routing.kind, read.line.envelope);
  if (field.empty()) return {};
  return "a " + kind + " event with the field " + std::string(field) +
         ", which only the operator of the hub decides";
}

bool HasRoom(const std::vector<gateway::BadEventLine>& list) { return list.size() < kMaxListed; }

// Fills the bad and forbidden lines of `outcome`. `queue` gets each JSON line that is not blank, so that no line is
// parsed again. `charges`: of the lines behind the first `known` lines of the source.
Status CheckLines(const gateway::EventBatch& batch, std::uint64_t known, gateway::EventOutcome* outcome,
                  LineQueue* queue, intake::Charges* charges) {
  const ProjectId unnamed = batch.rights != nullptr && !batch.rights->projects().empty()
                                ? batch.rights->projects().front()
                                : ProjectId();
  for (BatchLines counted(batch); counted.Next();)  // checked before any line is parsed
    if (counted.passed() > kMaxLines)
      return Status::InvalidArgument("the batch has more than " + std::to_string(kMaxLines) +
                                     " lines; no events were ingested: send smaller batches");
  BatchLines lines(batch);
  LineDecoder decoder(FormOf(batch));
  while (lines.Next()) {
    const std::uint64_t line = batch.first_line + lines.passed() - 1;
    const ReadLine read = Read(lines, decoder);
    const bool blank = lines.raw().empty();
    if (FormOf(batch) == LineForm::kLines && !blank) {
      if (read.line.envelope.empty()) {
        queue->PutBad(read.problem);
      } else {
        queue->Put(read.line.envelope);
      }
    }
    if (!blank && line >= known)
      charges->Add(read.line.envelope.empty() ? unnamed : read.routing.project,
                   std::max(read.line.envelope.size(), read.line.original.size()));
    if (!read.problem.empty()) {
      ++outcome->bad_lines;
      if (HasRoom(outcome->bad)) outcome->bad.push_back({.line = line, .reason = read.problem});
      if (!batch.refuse_bad_lines && !HasRoom(outcome->bad)) return Status::Ok();
    } else if (batch.rights != nullptr && !read.line.envelope.empty()) {
      std::string why = WhyForbidden(*batch.rights, read);
      if (why.empty()) continue;
      outcome->forbidden.push_back({.line = line, .reason = std::move(why)});
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

BatchLines::BatchLines(const gateway::EventBatch& batch)
    : splitter_(FormOf(batch), "body", batch.first_line), rest_(batch.body) {
  if (FormOf(batch) == LineForm::kLines && batch.first_line == 0)
    rest_.remove_prefix(events::ByteOrderMarkBytes(rest_));
}

bool BatchLines::Next() {
  std::size_t consumed = 0;
  const auto found = splitter_.Next(rest_, events::AtEnd::kComplete, &consumed);
  status_ = found.status();
  if (!found.ok() || *found != LineSplitter::Found::kLine) return false;
  rest_.remove_prefix(consumed);
  ++passed_;
  return true;
}

namespace {

void PutNumber(std::size_t number, std::string& piece) {
  for (; number >= 0x80; number >>= 7) piece.push_back(static_cast<char>(number | 0x80));
  piece.push_back(static_cast<char>(number));
}

}  // namespace

// The end of the last piece, with room for `bytes`.
std::string& LineQueue::Room(std::size_t bytes) {
  if (pieces_.empty() || pieces_.back().capacity() - pieces_.back().size() < bytes)
    pieces_.emplace_back().reserve(std::max(kPieceBytes, bytes));
  return pieces_.back();
}

void LineQueue::Put(std::string_view envelope) {
  std::string& piece = Room(kNumberBytes + envelope.size());
  PutNumber(envelope.size(), piece);
  piece.append(envelope);
}

// A length of 0, then the number of the reason; 0: not kept.
void LineQueue::PutBad(const std::string& problem) {
  auto known = numbers_.find(problem);
  if (known == numbers_.end() && problems_.size() < kProblemsKept) {
    problems_.push_back(problem);
    known = numbers_.emplace(problem, problems_.size()).first;
  }
  std::string& piece = Room(1 + kNumberBytes);
  PutNumber(0, piece);
  PutNumber(known == numbers_.end() ? 0 : known->second, piece);
}

std::size_t LineQueue::TakeNumber() {
  std::size_t number = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(pieces_.front()[taken_++]);
    number |= static_cast<std::size_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return number;
  }
}

std::string_view LineQueue::Take(std::string_view* problem) {
  if (taken_ == pieces_.front().size()) {
    pieces_.pop_front();
    taken_ = 0;
  }
  *problem = {};
  const std::size_t length = TakeNumber();
  if (length == 0) {
    const std::size_t number = TakeNumber();
    if (number > 0) *problem = problems_[number - 1];
    return {};
  }
  const std::string_view envelope = std::string_view(pieces_.front()).substr(taken_, length);
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
  LineQueue queue;
  intake::Charges charges;
  if (Status s = CheckLines(batch, seen->lines, &outcome, &queue, &charges); !s.ok()) return s;
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
  const bool json = FormOf(batch) == LineForm::kLines;
  BatchLines lines(batch);
  while (at.lines < known.lines && lines.Next()) {
    std::string_view problem;
    if (json && !lines.raw().empty()) (void)queue.Take(&problem);
    at = {.lines = at.lines + 1, .hash = ChainLine(at.hash, lines.raw())};
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
  if (Status s = Append(batch, lines, queue, at, begin, &outcome); !s.ok()) return s;
  return outcome;
}

std::optional<gateway::Throttled> BatchIngest::Throttle(const gateway::IngestRights& rights) {
  if (quotas_ == nullptr || rights.projects().empty()) return std::nullopt;
  const auto excess = quotas_->TakeNone(rights.projects());
  if (!excess) return std::nullopt;
  return ThrottledBy(*excess);
}

Status BatchIngest::Append(const gateway::EventBatch& batch, BatchLines& lines, LineQueue& queue,
                           ProducerState at, const ProducerState& batch_begin,
                           gateway::EventOutcome* outcome) {
  const bool json = FormOf(batch) == LineForm::kLines;
  LineDecoder decoder(FormOf(batch));
  Classifier classifier(Separation::kBroadcasts);
  BlockMaker maker({.source = batch.source,
                    .first_line = at.lines,
                    .lines = {},
                    .batch_begin = batch_begin,
                    .owner = batch.sender.owner()});
  const auto read_line = [&] {
    if (!json || lines.raw().empty()) return Read(lines, decoder).line;
    std::string_view problem;
    const std::string_view envelope = queue.Take(&problem);
    if (!envelope.empty()) return SourceLine{.envelope = std::string(envelope)};
    return problem.empty() ? Read(lines, decoder).line
                           : intake::NotAnEvent(lines.raw(), std::string(problem));
  };
  const auto next = [&](AppendBlock* block) {
    while (maker.complete() == 0 && lines.Next()) {
      at = {.lines = at.lines + 1, .hash = ChainLine(at.hash, lines.raw())};
      Step step{.line = read_line()};
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
