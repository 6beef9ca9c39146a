#include "services/cobblestone/ingest.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "common/credit/constants.h"
#include "common/wire/event_codec.h"
#include "common/wire/events.h"
#include "common/wire/topics.h"
#include "services/cobblestone/periods.h"

namespace cobblestone {
namespace {

// A block costs one round and one synced write: large enough to be rare, small enough to overlap with the
// next.
constexpr std::size_t kBlockBytes = 1u << 20;
constexpr std::size_t kBlockLines = 20000;
// What a pipe has given so far is sent after so long, even if the block is small.
constexpr auto kLongestGathering = std::chrono::milliseconds(50);
constexpr std::size_t kBlocksAhead = 2;

// Ticks of a file that has none: at multiples of the period, each before the first event that lies behind
// it. The same as in `replay`: a gap of more than a day is one step, so that one event far ahead of all
// others makes one tick.
class TickMaker {
 public:
  // Calls `tick` for each tick that is due before an event of this time.
  template <class F>
  void Observe(double time, F&& tick) {
    constexpr double kPeriod = credit::kDefaultScalePeriod;
    if (!(time > 0) || !std::isfinite(time)) return;
    if (next_ == 0) next_ = (std::floor(time / kPeriod) + 1) * kPeriod;
    while (time >= next_) {
      if (time - next_ > credit::kSecondsPerDay) next_ = std::floor(time / kPeriod) * kPeriod;
      tick(next_);
      next_ += kPeriod;
    }
  }

 private:
  double next_ = 0;  // UNIX s; 0: no event yet
};

enum class Barrier {
  kNone,
  kJoin,   // may share its block with others of its kind that stand next to it: nothing lies between them
  kAlone,  // a tick or barrier: all that was decided before it must have come together
};

// One place in the sequence.
struct Step {
  SourceLine line;
  Barrier barrier = Barrier::kNone;
  Said said = Said::kNothing;  // `order: lockstep` alone; kNothing fits into any block
  bool completion = false;
  std::uint64_t file_line = 0;  // from 0
};

// The steps of a file, without those that are known already.
class StepReader {
 public:
  StepReader(EventFile& file, bool lockstep, bool by_kind, std::string name, const ProducerState& known)
      : file_(file), lockstep_(lockstep), by_kind_(by_kind), name_(std::move(name)), known_(known) {
    counts_lines_ = file_.format() != EventFormat::kGolden && !lockstep_;
  }

  // False at the end. After a step hash() is that of the source up to and with it.
  Result<bool> Next(Step* step) {
    while (ready_.empty()) {
      auto more = Fill();
      if (!more.ok()) return more.status();
      if (!*more) return false;
    }
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

  Result<bool> Fill() {
    EventItem item;
    auto more = file_.Next(&item);
    if (!more.ok() || !*more) return more;
    if (counts_lines_) {
      // Empty lines count, and say nothing.
      while (position_ < item.line) {
        if (Status s = Add({.file_line = position_}, {}); !s.ok()) return s;
      }
    }
    if (lockstep_ && !file_.has_own_ticks() && !item.envelope.empty()) {
      Status bad;
      ticks_.Observe(wire::PeekEventTime(item.envelope).value_or(0), [&](double time) {
        std::string tick =
            wire::EncodeEvent({.head = {.id = static_cast<std::uint64_t>(time), .project = {}, .time = time},
                               .body = wire::Tick{.time = time}});
        const std::string raw = tick;
        if (Status s = Add({.line = {.envelope = std::move(tick)},
                            .barrier = Barrier::kAlone,
                            .said = by_kind_ ? Said::kTick : Said::kNothing,
                            .file_line = item.line},
                           raw);
            !s.ok()) {
          bad = s;
        }
      });
      if (!bad.ok()) return bad;
    }
    Step step{.barrier = item.barrier ? Barrier::kAlone : Barrier::kNone, .file_line = item.line};
    if (item.bad()) {
      step.line.original = item.raw;
      step.line.problem = item.problem;
    } else if (position_ >= known_.lines) {
      step.line.envelope = item.envelope;
      Classify(&step);
    }
    if (Status s = Add(std::move(step), item.raw); !s.ok()) return s;
    return true;
  }

  void Classify(Step* step) const {
    if (by_kind_) {
      step->said = SaidBy(step->line.envelope);
      if (step->said == Said::kTick) step->barrier = Barrier::kAlone;
      if (StandsAlone(step->said) && step->barrier == Barrier::kNone) step->barrier = Barrier::kJoin;
      step->completion = wire::PeekKind(step->line.envelope) == wire::EventKind::kCompletion;
      return;
    }
    const auto kind = wire::PeekKind(step->line.envelope);
    if (!kind) return;
    step->completion = *kind == wire::EventKind::kCompletion;
    if (step->completion || *kind == wire::EventKind::kValidation) return;
    // One partition is as good as another to tell the topic.
    const stream::TopicIndex topic = wire::RouteEvent(step->line.envelope, 1).topic;
    if (*kind == wire::EventKind::kTick || *kind == wire::EventKind::kBarrier) {
      step->barrier = lockstep_ ? Barrier::kAlone : Barrier::kNone;
    } else if (*kind == wire::EventKind::kMark) {
      step->barrier = Barrier::kNone;  // to be refused
    } else if (topic == wire::kCatalogue || (lockstep_ && (topic == wire::kUsers || topic == wire::kTeams))) {
      step->barrier = Barrier::kJoin;
    }
  }

  Status Add(Step step, std::string_view raw) {
    chain_ = ChainLine(chain_, raw);
    ++position_;
    if (position_ > known_.lines) {
      ready_.push_back({std::move(step), chain_});
    } else if (position_ == known_.lines && chain_ != known_.hash) {
      return Status::InvalidArgument(
          name_ + ": its first " + std::to_string(known_.lines) +
          " lines are not those that were taken in under this name before (changed, in another order, or a "
          "last line that was only half written then, or sent with --lockstep one time and without it the "
          "other). Nothing was taken in now. If it is another source, give it another name: --source NAME");
    }
    return Status::Ok();
  }

  EventFile& file_;
  const bool lockstep_;
  const bool by_kind_;
  const std::string name_;
  const ProducerState known_;
  bool counts_lines_ = true;
  TickMaker ticks_;
  std::deque<Ready> ready_;
  stream::Hash128 chain_;  // up to position_
  stream::Hash128 hash_;   // up to the step told last
  std::uint64_t position_ = 0;
};

// A block on its way, with what the summary needs of it.
struct Parcel {
  AppendBlock block;
  std::size_t bytes = 0;
  std::uint64_t completions = 0;
  std::vector<BadLine> bad_lines;
};

// Between the thread that reads and the one that sends.
class Belt {
 public:
  // Reader: one step, in a block with others unless it is a barrier. False when the sender has given up.
  bool Put(Step step, const stream::Hash128& hash, const Parcel& empty, std::uint64_t position_before) {
    std::unique_lock lock(mutex_);
    space_.wait(lock, [&] { return full_.size() < kBlocksAhead || given_up_; });
    if (given_up_) return false;
    // What is nothing, a bad line for one, parts no two that are of one kind.
    const bool fits = step.said == Said::kNothing || open_said_ == Said::kNothing || step.said == open_said_;
    if (step.barrier == Barrier::kAlone || step.barrier != open_barrier_ || !fits) CloseOpen();
    if (!has_open_) {
      open_ = empty;
      open_.block.first_line = position_before;
      open_since_ = std::chrono::steady_clock::now();
      open_barrier_ = step.barrier;
      open_said_ = Said::kNothing;
      open_.block.barrier = step.barrier != Barrier::kNone;
      open_.block.ends_period = step.barrier == Barrier::kAlone;
      has_open_ = true;
    }
    if (step.said != Said::kNothing) open_said_ = step.said;
    open_.bytes += step.line.envelope.size() + step.line.original.size() + 1;
    open_.completions += step.completion ? 1 : 0;
    if (!step.line.problem.empty()) open_.bad_lines.push_back({step.file_line + 1, step.line.problem});
    open_.block.hash = hash;
    open_.block.lines.push_back(std::move(step.line));
    const bool first = open_.block.lines.size() == 1;
    if (open_barrier_ == Barrier::kAlone || open_.bytes >= kBlockBytes ||
        open_.block.lines.size() >= kBlockLines)
      CloseOpen();
    const bool wake = first || !full_.empty();
    lock.unlock();
    if (wake) ready_.notify_one();
    return true;
  }
  void End(Status status) {
    {
      std::lock_guard lock(mutex_);
      CloseOpen();
      ended_ = true;
      end_status_ = std::move(status);
    }
    ready_.notify_one();
  }

  // Sender: the next block; false at the end.
  bool Take(Parcel* parcel) {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (!full_.empty()) {
        *parcel = std::move(full_.front());
        full_.pop_front();
        break;
      }
      if (has_open_) {
        const auto due = open_since_ + kLongestGathering;
        if (std::chrono::steady_clock::now() >= due) {
          *parcel = std::move(open_);
          has_open_ = false;
          break;
        }
        ready_.wait_until(lock, due);
        continue;
      }
      if (ended_) return false;
      ready_.wait(lock);
    }
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
  // After Take() has said false.
  [[nodiscard]] const Status& end_status() const { return end_status_; }

 private:
  void CloseOpen() {
    if (!has_open_) return;
    full_.push_back(std::move(open_));
    has_open_ = false;
  }

  std::mutex mutex_;
  std::condition_variable ready_;
  std::condition_variable space_;
  std::deque<Parcel> full_;
  Parcel open_;
  bool has_open_ = false;
  Barrier open_barrier_ = Barrier::kNone;
  Said open_said_ = Said::kNothing;
  std::chrono::steady_clock::time_point open_since_;
  bool ended_ = false;
  bool given_up_ = false;
  Status end_status_;
};

// What the reading thread works with.
struct Reading {
  std::unique_ptr<EventFile> file;
  StepReader steps;
  Belt belt;
  std::atomic<std::uint64_t> bytes_read{0};
  std::string source;
  bool own_ticks;
  std::uint64_t first;

  Reading(std::unique_ptr<EventFile> opened, bool lockstep, bool by_kind, const IngestOptions& options,
          const ProducerState& known)
      : file(std::move(opened)),
        steps(*file, lockstep, by_kind, options.source, known),
        source(options.source),
        own_ticks(lockstep),
        first(known.lines) {}

  void Run() {
    Parcel empty;
    empty.block.source = source;
    empty.block.own_ticks = own_ticks;
    try {
      Step step;
      for (std::uint64_t position = first;; ++position) {
        auto more = steps.Next(&step);
        if (!more.ok() || !*more) {
          belt.End(more.ok() ? Status::Ok() : more.status());
          return;
        }
        bytes_read.store(file->bytes_read(), std::memory_order_relaxed);
        if (!belt.Put(std::move(step), steps.hash(), empty, position)) return;
      }
    } catch (const std::exception& e) {
      belt.End(Status::Fatal(source + " could not be read on: " + e.what()));
    }
  }
};

}  // namespace

Status Ingest(Client& client, const IngestOptions& options,
              const std::function<void(const IngestPoint&)>& progress, IngestSummary* summary) {
  *summary = {};
  auto file = EventFile::Open(options.file, {.project = options.project});
  if (!file.ok()) return file.status();
  summary->format = (*file)->format();
  bool ordered = false;  // `order: lockstep`
  const auto known = client.Producer(options.source, &ordered);
  if (!known.ok()) return known.status();
  summary->lockstep = ordered || options.lockstep.value_or((*file)->has_own_ticks());
  ProducerState taken = *known;
  summary->known = known->lines;

  // Shared, because a reader that waits for a pipe cannot be woken: when the sending fails, it is left
  // behind.
  const auto reading =
      std::make_shared<Reading>(std::move(*file), summary->lockstep, ordered, options, *known);
  std::thread reader([reading] { reading->Run(); });
  Status status;
  for (Parcel parcel; reading->belt.Take(&parcel);) {
    auto outcome = client.Append(parcel.block);
    if (!outcome.ok()) {
      status = outcome.status();
      reading->belt.GiveUp();
      break;
    }
    taken = outcome->producer;
    summary->lines += parcel.block.lines.size();
    summary->events += outcome->appended;
    summary->bad += outcome->refused;
    summary->completions += parcel.completions;
    for (BadLine& bad : parcel.bad_lines)
      if (summary->bad_lines.size() < kMostBadLinesKept) summary->bad_lines.push_back(std::move(bad));
    if (progress) {
      progress({reading->bytes_read.load(std::memory_order_relaxed), reading->file->bytes_total(),
                summary->events});
    }
  }
  if (!status.ok() && options.file == "-") {
    reader.detach();
    return status;
  }
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
  summary->shorter = reading->belt.end_status().ok() && reading->steps.position() < known->lines;
  return reading->belt.end_status();
}

Result<std::vector<std::uint64_t>> FindLines(const IngestOptions& options,
                                             const std::vector<std::string>& envelopes) {
  std::vector<std::uint64_t> lines(envelopes.size());
  std::unordered_map<std::string_view, std::deque<std::size_t>> wanted;
  for (std::size_t i = 0; i < envelopes.size(); ++i) wanted[envelopes[i]].push_back(i);
  auto file = EventFile::Open(options.file, {.project = options.project});
  if (!file.ok()) return file.status();
  EventItem item;
  while (!wanted.empty()) {
    auto more = (*file)->Next(&item);
    if (!more.ok()) return more.status();
    if (!*more) break;
    const auto found = wanted.find(item.envelope);
    if (found == wanted.end()) continue;
    lines[found->second.front()] = item.line + 1;
    found->second.pop_front();
    if (found->second.empty()) wanted.erase(found);
  }
  return lines;
}

}  // namespace cobblestone
