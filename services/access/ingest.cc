#include "services/access/ingest.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>

#include "common/credit/model/constants.h"
#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/events/events.h"
#include "services/intake/block_maker.h"
#include "services/pipeline/event_time.h"
#include "services/pipeline/periods.h"

namespace cobblestone::access {

using events::EventFile;
using events::EventFormat;
using events::EventItem;
using events::EventStream;
using intake::AppendBlock;
using intake::BarrierNeed;
using intake::BlockMaker;
using intake::ChainLine;
using intake::Classifier;
using intake::MadeBlock;
using intake::ProducerState;
using intake::Separation;
using intake::Step;
using pipeline::PeriodKind;
using pipeline::TickMaker;

namespace {

// Data read from a pipe is sent after this time, even if the block is small.
constexpr auto kLongestGathering = std::chrono::milliseconds(50);
constexpr std::size_t kBlocksAhead = 2;

// Turns the items of a source into steps, and omits the known ones.
class StepMaker {
 public:
  StepMaker(const EventStream& events, bool lockstep, bool by_kind, const IngestOptions& options,
            const ProducerState& known)
      : own_ticks_(events.has_own_ticks()),
        counts_lines_(events.format() != EventFormat::kGolden && !lockstep),
        lockstep_(lockstep),
        by_kind_(by_kind),
        name_(options.source),
        changed_(options.changed),
        known_(known),
        classifier_(by_kind    ? Separation::kKinds
                    : lockstep ? Separation::kMembers
                               : Separation::kBroadcasts) {}

  // Blank lines before an item are counted but contain nothing. Adds the step of one of them, to be taken
  // before the next call; false: none is left before `item`.
  Result<bool> PutBlankBefore(const EventItem& item) {
    if (!counts_lines_ || position_ >= item.line) return false;
    if (Status s = Add({.file_line = position_}, {}); !s.ok()) return s;
    return true;
  }
  // Adds the steps of an item, to be taken before the next call; its blank lines were added before.
  Status Put(const EventItem& item) {
    if (lockstep_ && !own_ticks_ && !item.envelope.empty()) {
      if (Status s = PutTicks(item); !s.ok()) return s;
    }
    Step step{.barrier = item.barrier ? BarrierNeed::kAlone : BarrierNeed::kNone, .file_line = item.line};
    if (item.bad()) {
      step.line = intake::NotAnEvent(item.raw, item.problem);
    } else if (position_ >= known_.lines) {
      step.line.envelope = item.envelope;
      classifier_.Classify(&step);
    }
    return Add(std::move(step), item.raw);
  }
  // False: no step is left. After a step, hash() is the hash of the source up to and including it.
  bool Take(Step* step) {
    if (ready_.empty()) return false;
    *step = std::move(ready_.front().step);
    hash_ = ready_.front().hash;
    ready_.pop_front();
    return true;
  }

  [[nodiscard]] const stream::Hash128& hash() const { return hash_; }
  [[nodiscard]] std::uint64_t position() const { return position_; }

 private:
  struct Ready {
    Step step;
    stream::Hash128 hash;
  };

  Status PutTicks(const EventItem& item) {
    Status bad;
    ticks_.Observe(item.envelope, [&](std::string tick) {
      const std::string raw = tick;
      Status s = Add({.line = {.envelope = std::move(tick)},
                      .barrier = BarrierNeed::kAlone,
                      .period_kind = by_kind_ ? PeriodKind::kTick : PeriodKind::kNothing,
                      .file_line = item.line},
                     raw);
      if (!s.ok()) bad = s;
    });
    return bad;
  }

  Status Add(Step step, std::string_view raw) {
    chain_ = ChainLine(chain_, raw);
    ++position_;
    if (position_ > known_.lines) {
      ready_.push_back({std::move(step), chain_});
    } else if (position_ == known_.lines && chain_ != known_.hash) {
      if (!changed_.empty()) return Status::InvalidArgument(changed_);
      return Status::InvalidArgument(
          name_ + ": its first " + std::to_string(known_.lines) +
          " lines differ from the lines ingested before under this name (lines changed or "
          "reordered, the last line was incomplete, or only one of the two runs used "
          "--lockstep). No events were ingested. For a different source, set another name: "
          "--source NAME");
    }
    return Status::Ok();
  }

  const bool own_ticks_;
  const bool counts_lines_;
  const bool lockstep_;
  const bool by_kind_;
  const std::string name_;
  const std::string changed_;
  const ProducerState known_;
  TickMaker ticks_{credit::kDefaultScalePeriod};  // the same ticks as in `replay`
  Classifier classifier_;
  std::deque<Ready> ready_;
  stream::Hash128 chain_;  // up to position_
  stream::Hash128 hash_;   // up to the step taken last
  std::uint64_t position_ = 0;
};

// Queue between the reading thread and the sending thread.
class Belt {
 public:
  explicit Belt(AppendBlock pattern) : maker_(std::move(pattern)) {}

  // Reader: adds one step. False if the sender has given up.
  bool Put(Step step, const stream::Hash128& hash) {
    std::unique_lock lock(mutex_);
    space_.wait(lock, [&] { return maker_.complete() < kBlocksAhead || given_up_; });
    if (given_up_) return false;
    const bool opens = !maker_.has_open();
    const std::size_t complete = maker_.complete();
    maker_.Put(std::move(step), hash);
    if (opens || maker_.complete() > complete) open_since_ = std::chrono::steady_clock::now();
    const bool wake = opens || maker_.complete() > 0;
    lock.unlock();
    if (wake) ready_.notify_one();
    return true;
  }
  void End(Status status) {
    {
      std::lock_guard lock(mutex_);
      maker_.Close();
      ended_ = true;
      end_status_ = std::move(status);
    }
    ready_.notify_one();
  }

  // Sender: the next block; false at the end.
  bool Take(MadeBlock* made) {
    std::unique_lock lock(mutex_);
    while (maker_.complete() == 0) {
      if (maker_.has_open()) {
        const auto due = open_since_ + kLongestGathering;
        if (std::chrono::steady_clock::now() >= due) {
          maker_.Close();
        } else {
          ready_.wait_until(lock, due);
        }
        continue;
      }
      if (ended_) return false;
      ready_.wait(lock);
    }
    *made = maker_.Take();
    lock.unlock();
    space_.notify_one();
    return true;
  }
  void GiveUp() {
    {
      std::lock_guard lock(mutex_);
      given_up_ = true;
    }
    space_.notify_one();
  }
  // After Take() has returned false.
  [[nodiscard]] const Status& end_status() const { return end_status_; }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::condition_variable space_;
  BlockMaker maker_;
  std::chrono::steady_clock::time_point open_since_;
  bool ended_ = false;
  bool given_up_ = false;
  Status end_status_;
};

// State of the reading thread.
struct Reading {
  std::unique_ptr<EventStream> events;
  StepMaker steps;
  Belt belt;
  std::atomic<std::uint64_t> bytes_read{0};
  const std::string source;

  Reading(std::unique_ptr<EventStream> opened, bool lockstep, bool by_kind, const IngestOptions& options,
          const ProducerState& known)
      : events(std::move(opened)),
        steps(*events, lockstep, by_kind, options, known),
        belt({.source = options.source, .first_line = known.lines, .lines = {}, .own_ticks = lockstep}),
        source(options.source) {}

  void Run() {
    Step step;
    try {
      belt.End(events->ForEach([&](const EventItem& item) {
        for (Result<bool> blank = true; *blank;) {
          blank = steps.PutBlankBefore(item);
          if (!blank.ok()) return blank.status();
          if (!*blank)
            if (Status s = steps.Put(item); !s.ok()) return s;
          bytes_read.store(events->bytes_read(), std::memory_order_relaxed);
          while (steps.Take(&step)) {
            if (!belt.Put(std::move(step), steps.hash()))
              return Status::Retry("the sender stopped");  // and has reported the reason
          }
        }
        return Status::Ok();
      }));
    } catch (const std::exception& e) {
      belt.End(Status::Fatal(source + " cannot be read further: " + e.what()));
    }
  }
};

}  // namespace

Status Ingest(Client& client, const IngestOptions& options,
              const std::function<void(const IngestPoint&)>& progress, IngestSummary* summary) {
  auto file = EventFile::Open(options.file, {.project = options.project});
  if (!file.ok()) {
    *summary = {};
    return file.status();
  }
  return Ingest(client, std::move(*file), options, progress, summary);
}

Status Ingest(Client& client, std::unique_ptr<EventStream> events, const IngestOptions& options,
              const std::function<void(const IngestPoint&)>& progress, IngestSummary* summary) {
  *summary = {};
  summary->format = events->format();
  bool ordered = false;  // `order: lockstep`
  const auto known = client.Producer(options.source, &ordered);
  if (!known.ok()) return known.status();
  summary->lockstep = ordered || options.lockstep.value_or(events->has_own_ticks());
  ProducerState taken = *known;
  summary->known = known->lines;

  // Shared, because a reader that waits for a pipe cannot be woken: if sending fails, the thread is
  // abandoned.
  const auto reading =
      std::make_shared<Reading>(std::move(events), summary->lockstep, ordered, options, *known);
  std::thread reader([reading] { reading->Run(); });
  Status status;
  for (MadeBlock made; reading->belt.Take(&made);) {
    auto outcome = client.Append(made.block);
    if (!outcome.ok()) {
      status = outcome.status();
      reading->belt.GiveUp();
      break;
    }
    taken = outcome->producer;
    summary->lines += made.block.lines.size();
    summary->events += outcome->appended;
    summary->bad += outcome->refused;
    summary->blank += made.block.lines.size() - outcome->appended - outcome->refused;
    summary->completions += made.completions;
    for (BadLine& bad : made.bad_lines)
      if (summary->bad_lines.size() < kMaxBadLinesKept) summary->bad_lines.push_back(std::move(bad));
    if (progress) {
      progress({reading->bytes_read.load(std::memory_order_relaxed), reading->events->bytes_total(),
                summary->events, summary->bad});
    }
  }
  if (!status.ok() && options.file == "-") {
    reader.detach();
    return status;
  }
  if (!status.ok()) reading->events->Stop();
  reader.join();
  if (!status.ok()) return status;
  if (ordered) {
    const auto shown = client.Append({.source = options.source,
                                      .first_line = taken.lines,
                                      .lines = {},
                                      .hash = taken.hash,
                                      .own_ticks = true,
                                      .barrier = true,
                                      .ends_period = true});
    if (!shown.ok()) return shown.status();
  }
  summary->sent = true;
  summary->skipped = std::min(known->lines, reading->steps.position());
  summary->shorter = reading->belt.end_status().ok() && reading->steps.position() < known->lines;
  return reading->belt.end_status();
}

Result<std::vector<std::uint64_t>> FindLines(EventStream& events, const std::vector<std::string>& envelopes) {
  std::vector<std::uint64_t> lines(envelopes.size());
  std::unordered_map<std::string_view, std::deque<std::size_t>> wanted;
  for (std::size_t i = 0; i < envelopes.size(); ++i) wanted[envelopes[i]].push_back(i);
  if (wanted.empty()) return lines;
  const Status read = events.ForEach([&](const EventItem& item) {
    const auto found = item.envelope.empty() ? wanted.end() : wanted.find(item.envelope);
    if (found == wanted.end()) return Status::Ok();
    lines[found->second.front()] = item.line + 1;
    found->second.pop_front();
    if (found->second.empty()) wanted.erase(found);
    return wanted.empty() ? Status::Retry("all lines were found") : Status::Ok();
  });
  if (!read.ok() && !wanted.empty()) return read;
  return lines;
}

}  // namespace cobblestone::access
