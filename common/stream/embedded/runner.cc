#include "common/stream/embedded/runner.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "common/base/failpoint.h"
#include "common/base/thread.h"

namespace cobblestone::stream::embedded {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::uint64_t kAll = ~0ull;
constexpr std::size_t kGatherSlice = 1000;  // objects encoded between two waves: about a millisecond
// Objects encoded for each record processed: a state write gets on under full load too, and ahead of what comes to it.
constexpr std::size_t kGatheredPerRecord = 4;
// A disk that is slower than the stages must not make a restart long. (Measured at full load on two cores: stopped at a
// million records the pipeline is a tenth slower, at two million no difference is seen.)
constexpr std::uint64_t kDebtsHeldAt = 2;
// All checkpoints together rest for so many times the time that they take, so that a large state is not read back all the
// time; at most for so many intervals.
constexpr int kCheckpointRest = 10;
constexpr std::uint64_t kWarmRowBytes =
    4096;  // of memory for a row that is read ahead, with its like in other tables
constexpr std::uint64_t kLeastDebtBytes =
    4u << 20;  // a state write for less costs more than the memory is worth
constexpr std::uint64_t kLoadedRecords =
    2000;  // of a slot that wait when a wave begins: then no thread waits for another

// A file beside a slot's state: it says why the state is not to be opened again.
std::string Distrusted(const std::string& state_path) { return state_path + ".distrusted"; }
// Whoever opens it next must not find that out again: the damage may lie where an open reads nothing.
void Distrust(const std::string& state_path, const Status& why) {
  std::ofstream(Distrusted(state_path)) << why.message() << "\n";
}

// Two stages may read one partition: what both have passed.
template <class Next>
std::uint64_t LeastNext(const std::vector<SlotInput>& inputs, TopicPartition where, Next next) {
  std::uint64_t least = kAll;
  for (std::size_t j = 0; j < inputs.size(); ++j)
    if (inputs[j].where == where) least = std::min<std::uint64_t>(least, next(j));
  return least;
}

}  // namespace

Runner::Runner(const RunnerOptions& options, Log& log, std::uint32_t slots) : options_(options), log_(log) {
  if (!options_.clock) {
    options_.clock = [] {
      return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    };
  }
  memory_ = std::make_shared<store::StoreMemory>(options_.block_cache_bytes);
  for (std::uint32_t k = 0; k < slots; ++k) {
    slots_.push_back(std::make_unique<Owned>());
    if (k < options_.watches.size()) slots_[k]->watch = options_.watches[k];
  }
}

Runner::~Runner() {
  EndWork();
  for (std::thread& t : threads_)
    if (t.joinable()) t.join();
  {
    std::lock_guard lock(mutex_);
    state_stopping_ = true;
  }
  job_ready_.notify_all();
  if (state_thread_.joinable()) state_thread_.join();
  log_.SetListener({});
  // The log tells of them into what goes now.
  for (const auto& owned : slots_)
    if (owned->watch != nullptr) log_.WaitDurable(owned->last_ticket);
}

std::string Runner::StatePath(std::uint32_t slot) const {
  return options_.directory + "/state/slot-" + std::to_string(slot);
}

std::string Runner::CheckpointPath(std::uint32_t slot) const {
  return options_.directory + "/checkpoints/slot-" + std::to_string(slot);
}

// ---- Open: state, restore, execute again ---------------------------------------------------------------------------

Result<std::unique_ptr<Runner>> Runner::Open(const RunnerOptions& options, Log& log, std::uint32_t slots,
                                             const SlotFactory& factory,
                                             const std::function<void(const std::string&)>& report) {
  std::unique_ptr<Runner> runner(new Runner(options, log, slots));
  std::error_code error;
  fs::create_directories(options.directory + "/state", error);
  fs::create_directories(options.directory + "/checkpoints", error);
  if (error)
    return Status::Unwritten(error.value(),
                             "cannot create directories in " + options.directory + ": " + error.message());
  // Slots are independent of each other until they run: opened and executed again side by side.
  std::atomic<std::uint32_t> next{0};
  std::vector<Status> statuses(slots);
  std::mutex report_mutex;
  auto locked_report = [&](const std::string& text) {
    std::lock_guard lock(report_mutex);
    report(text);
  };
  auto work = [&] {
    for (std::uint32_t k = next++; k < slots; k = next++)
      statuses[k] = runner->OpenSlot(k, factory, locked_report);
  };
  std::vector<std::thread> threads;
  for (std::uint32_t t = 1; t < std::max(1u, options.threads); ++t) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  for (const Status& s : statuses)
    if (!s.ok()) return s;
  for (const TopicSpec& topic : options.topics) runner->read_.emplace_back(topic.partitions, false);
  for (const auto& owned : runner->slots_) {
    runner->stages_ = std::max(runner->stages_, owned->parts.slot->stage_count());
    for (const SlotInput& input : owned->parts.slot->inputs())
      runner->read_[input.where.topic][input.where.partition] = true;
  }
  runner->wave_.stage = runner->stages_;
  return runner;
}

Status Runner::OpenStore(std::uint32_t k, const std::function<void(const std::string&)>& report) {
  Owned& owned = *slots_[k];
  LoadCheckpoints(owned);
  const std::string path = StatePath(k);
  const TopicPartition journal{options_.journal, k};
  auto usable = [&](store::Store& opened) -> Status {
    auto bytes = opened.Meta();
    if (!bytes.ok() && bytes.status().code() != StatusCode::kNotFound) return bytes.status();
    SlotMeta meta;
    if (bytes.ok()) {
      auto decoded = DecodeSlotMeta(*bytes);
      if (!decoded.ok()) return decoded.status();
      meta = *decoded;
    }
    if (meta.journal_next > log_.End(journal))
      return Status::Fatal(
          "the state of slot " + std::to_string(k) + " in " + path + " has executed " +
          std::to_string(meta.journal_next) + " commits, but the log holds " +
          std::to_string(log_.End(journal)) +
          ": committed data is missing from the log; nothing was changed. Restore the log's "
          "files (a disk or backup may have been swapped) or, if the files are lost, accept the "
          "loss with `run --accept-loss`");
    if (meta.journal_next < log_.Begin(journal))
      return Status::Corrupted("the state of slot " + std::to_string(k) +
                               " is older than the start of the log");
    for (std::size_t i = 0; i < meta.next.size() && i < owned.inputs.size(); ++i)
      if (meta.next[i] < log_.Begin(owned.parts.slot->inputs()[i].where))
        return Status::Corrupted("the state of slot " + std::to_string(k) +
                                 " is older than the start of the log");
    return Status::Ok();
  };

  std::string why;
  if (fs::exists(Distrusted(path))) {
    why = "the state was damaged";
  } else {
    auto opened =
        store::OpenRocksdbStore({.path = path, .memory = memory_, .create = true, .read_only = false});
    if (opened.ok()) {
      Status s = usable(**opened);
      if (s.ok()) {
        owned.store = std::move(*opened);
        return Status::Ok();
      }
      if (s.code() == StatusCode::kFatal) return s;
      why = s.message();
    } else {
      if (opened.status().code() != StatusCode::kCorrupted) return opened.status();
      why = opened.status().message();
    }
  }
  // Damaged or too old: from the newest copy that is whole, else from nothing if the log still has everything.
  std::error_code error;
  const std::string aside = path + ".damaged";
  fs::remove_all(aside, error);
  fs::rename(path, aside, error);
  fs::remove(Distrusted(path), error);
  std::vector<std::string> copies;
  for (auto it = owned.checkpoints.rbegin(); it != owned.checkpoints.rend(); ++it)
    copies.push_back(CheckpointPath(k) + "/" + std::to_string(it->sequence));
  for (const std::string& copy : copies) {
    auto opened =
        store::OpenRocksdbStore({.path = copy, .memory = memory_, .create = false, .read_only = true});
    if (!opened.ok() || !(*opened)->Verify().ok() || !usable(**opened).ok()) continue;
    if (!(*opened)->Checkpoint(path).ok()) continue;
    opened->reset();
    auto restored =
        store::OpenRocksdbStore({.path = path, .memory = memory_, .create = false, .read_only = false});
    if (!restored.ok()) continue;
    owned.store = std::move(*restored);
    ++owned.restores;
    report("the state of slot " + std::to_string(k) + " was restored from checkpoint " + copy + " (" + why +
           ")");
    fs::remove_all(aside, error);
    return Status::Ok();
  }
  bool whole = log_.Begin(journal) == 0;
  for (const SlotInput& input : owned.parts.slot->inputs()) whole = whole && log_.Begin(input.where) == 0;
  if (!whole)
    return Status::Corrupted(
        "the state of slot " + std::to_string(k) + " cannot be opened (" + why + "), no checkpoint in " +
        CheckpointPath(k) +
        " is intact, and the earlier inputs were deleted from the log. Restore a copy of " + path +
        " or of the checkpoints from a backup. The damaged state is in " + aside + ".");
  auto fresh = store::OpenRocksdbStore({.path = path, .memory = memory_, .create = true, .read_only = false});
  if (!fresh.ok()) return fresh.status();
  owned.store = std::move(*fresh);
  ++owned.restores;
  report("the state of slot " + std::to_string(k) + " is rebuilt from the whole log (" + why + ")");
  fs::remove_all(aside, error);
  return Status::Ok();
}

Status Runner::OpenSlot(std::uint32_t k, const SlotFactory& factory,
                        const std::function<void(const std::string&)>& report) {
  Owned& owned = *slots_[k];
  owned.parts = factory(k);
  Slot& slot = *owned.parts.slot;
  owned.inputs.resize(slot.inputs().size());
  owned.stage_inputs.resize(slot.stage_count());
  for (std::size_t i = 0; i < slot.inputs().size(); ++i)
    owned.stage_inputs[slot.inputs()[i].stage].push_back(i);
  const bool had_state = fs::exists(StatePath(k));
  if (Status s = OpenStore(k, report); !s.ok()) return s;
  Status read = slot.Open(owned.store.get(), options_.object_bytes / 2);
  owned.flushed_sequence = slot.meta().sequence;
  if (!had_state && log_.End({options_.journal, k}) > 0) {
    ++owned.restores;
    report("the state of slot " + std::to_string(k) + " is missing; rebuilding the state from the log");
  }
  // A record asks for about a row of each table.
  if (const std::uint64_t waiting = Lag(owned); read.ok() && waiting >= options_.warm_records)
    read = slot.Warm(std::min<std::uint64_t>(options_.object_bytes / kWarmRowBytes, waiting));
  if (read.ok()) read = Reexecute(owned);
  if (read.code() == StatusCode::kCorrupted && !owned.retried) {
    // Damage that shows only when a row is read. Without the state it is a missing one: from a checkpoint or the log.
    // If the log is what is damaged, the second try says so.
    owned.retried = true;
    report("the state of slot " + std::to_string(k) + " is moved aside: " + read.message());
    owned.store.reset();
    owned.inputs.clear();
    owned.stage_inputs.clear();
    owned.reexecuted = 0;
    owned.reexecuted_records = 0;
    owned.debt = owned.debt_bytes = 0;
    std::error_code error;
    fs::remove_all(StatePath(k) + ".damaged", error);
    fs::rename(StatePath(k), StatePath(k) + ".damaged", error);
    return OpenSlot(k, factory, report);
  }
  if (!read.ok()) return read;
  const auto now = Clock::now();
  // Spread over the interval.
  owned.last_flush = now - options_.flush_interval * k / slots_.size();
  owned.last_checkpoint = now - options_.checkpoint_interval * k / slots_.size();
  owned.unfinished = slot.unfinished();
  Publish(owned);
  return Status::Ok();
}

Status Runner::Reexecute(Owned& owned) {
  Slot& slot = *owned.parts.slot;
  const TopicPartition journal{options_.journal, slot.id()};
  Input entries;
  std::uint64_t at = slot.meta().journal_next;
  const std::uint64_t end = log_.End(journal);
  std::uint64_t batch_at = 0;
  while (at < end) {
    if (!entries.batch || at >= entries.batch->end()) {
      auto batch = log_.Read(journal, at);
      if (!batch.ok()) return batch.status();
      entries.batch = *batch;
      entries.cursor = RecordCursor(entries.batch->payload);
      batch_at = entries.batch->first;
    }
    std::string_view bytes;
    COBBLESTONE_CHECK(entries.cursor.Next(&bytes),
                      "a batch of the journal has fewer records than its header");
    if (batch_at++ < at) continue;
    auto entry = DecodeJournalEntry(bytes);
    if (!entry.ok()) return entry.status();
    if (entry->sequence != slot.meta().sequence + 1)
      return Status::Corrupted("the journal of slot " + std::to_string(slot.id()) + " has entry " +
                               std::to_string(entry->sequence) + " where " +
                               std::to_string(slot.meta().sequence + 1) + " is expected");
    if (entry->rules_version > slot.meta().rules_version)
      return Status::Fatal("slot " + std::to_string(slot.id()) + " needs rules version " +
                           std::to_string(entry->rules_version) + ", but this program has " +
                           std::to_string(slot.meta().rules_version) +
                           "; run the version of the program that wrote it");
    for (const JournalChunk& chunk : entry->chunks) {
      if (chunk.input >= owned.inputs.size() || slot.next(chunk.input) != chunk.first)
        return Status::Corrupted("the journal of slot " + std::to_string(slot.id()) + ", entry " +
                                 std::to_string(entry->sequence) + ", does not follow the previous entry");
      for (std::uint64_t offset = chunk.first; offset < chunk.end; ++offset) {
        bool available = false;
        if (Status s = FetchHead(owned, chunk.input, &available); !s.ok()) return s;
        if (!available)
          return Status::Corrupted("slot " + std::to_string(slot.id()) +
                                   " consumed a record that is missing from the log");
        if (Status s = ConsumeHead(owned, chunk.input); !s.ok()) return s;
      }
    }
    auto commit = slot.Finish();
    if (!commit.ok()) return commit.status();
    slot.JournalWritten(slot.meta().journal_next + 1);
    if (entry->rules_version < slot.meta().rules_version)
      slot.TakeFingerprint(entry->hash);
    else if (commit->journal.hash != entry->hash)
      return Status::Fatal(
          "slot " + std::to_string(slot.id()) + " diverged: re-executing commit " +
          std::to_string(entry->sequence) +
          " gave a fingerprint that differs from the journal. Nothing was changed. Possible "
          "causes: this build computes differently from the build that wrote the log (run that "
          "build); memory or disk is damaged (try another machine); a stage is not deterministic "
          "(report a bug).");
    ++owned.reexecuted;
    owned.reexecuted_records += commit->records;
    owned.debt += commit->debt;
    owned.debt_bytes += commit->debt_bytes;
    ++at;
    // Without its state a slot executes the whole log again: what that changes must not all stay in memory.
    if (DebtDue(owned, 1))
      if (Status s = WriteReexecuted(owned); !s.ok()) return s;
  }
  owned.debt = owned.debt_bytes = 0;
  return Status::Ok();
}

// While it is opened: the log has all of it on disk, and nobody else writes.
Status Runner::WriteReexecuted(Owned& owned) {
  Slot& slot = *owned.parts.slot;
  slot.BeginStateWrite();
  while (!slot.GatherStateWrite(kGatherSlice)) {
  }
  const auto write = slot.TakeStateWrite();
  if (Status s = ApplyStateWrite(*write, *owned.store); !s.ok())
    return s.code() == StatusCode::kRetry ? Status::Full(s.message()) : s;
  slot.StateWriteApplied();
  slot.Evict(options_.object_bytes);
  owned.flushed_sequence = write->meta.sequence;
  ++owned.state_writes;
  owned.state_written_at = options_.clock();
  owned.debt = owned.debt_bytes = 0;
  return Status::Ok();
}

// ---- Reading -------------------------------------------------------------------------------------------------------

Status Runner::FetchHead(Owned& owned, std::size_t i, bool* available) {
  Input& input = owned.inputs[i];
  *available = true;
  if (input.have_head) return Status::Ok();
  if (input.batch && input.cursor.Next(&input.head)) {
    input.have_head = true;
    return Status::Ok();
  }
  const SlotInput& from = owned.parts.slot->inputs()[i];
  const std::uint64_t next = owned.parts.slot->next(i);
  auto batch = log_.Read(from.where, next);
  if (!batch.ok()) return batch.status();
  if (*batch == nullptr) {
    input.batch.reset();
    *available = false;
    return Status::Ok();
  }
  input.batch = *batch;
  input.cursor = RecordCursor(input.batch->payload);
  for (std::uint64_t skip = input.batch->first; skip <= next; ++skip)
    COBBLESTONE_CHECK(input.cursor.Next(&input.head), "a batch of the log has fewer records than its header");
  input.have_head = true;
  return Status::Ok();
}

Status Runner::ConsumeHead(Owned& owned, std::size_t i) {
  Input& input = owned.inputs[i];
  input.have_head = false;
  return owned.parts.slot->Process(i, {.where = owned.parts.slot->inputs()[i].where,
                                       .offset = owned.parts.slot->next(i),
                                       .append_time = input.batch->append_time,
                                       .line = 0,
                                       .value = input.head});
}

// As much as one commit takes.
bool Runner::Full(const Slot& slot) const {
  return slot.records() >= options_.commit_records || slot.output_bytes() >= options_.commit_bytes;
}

// Takes what waits for one stage and is ready, from several inputs in order of event time, until the commit is full.
Status Runner::ConsumeStage(Owned& owned, std::size_t stage) {
  const auto& ids = owned.stage_inputs[stage];
  Slot& slot = *owned.parts.slot;
  if (ids.size() == 1) {
    while (!Full(slot) && slot.Ready(ids[0])) {
      bool available = false;
      if (Status s = FetchHead(owned, ids[0], &available); !s.ok()) return s;
      if (!available) return Status::Ok();
      if (Status s = ConsumeHead(owned, ids[0]); !s.ok()) return s;
    }
    return Status::Ok();
  }
  // Finds the inputs that have a record. Records that arrive meanwhile are consumed in the next round. Inputs without a record
  // are checked again until no new one is found: a unit appears in all of its partitions at once and must not be consumed in
  // parts.
  std::vector<std::size_t> live;
  const auto look = [&]() -> Status {
    for (std::size_t before = ids.size(); live.size() != before && live.size() != ids.size();) {
      before = live.size();
      for (const std::size_t i : ids) {
        if (std::find(live.begin(), live.end(), i) != live.end()) continue;
        bool available = false;
        if (Status s = FetchHead(owned, i, &available); !s.ok()) return s;
        if (!available) continue;
        live.push_back(i);
        owned.inputs[i].head_time = options_.peek_time(slot.inputs()[i].where.topic, owned.inputs[i].head);
      }
    }
    std::sort(live.begin(), live.end());
    return Status::Ok();
  };
  if (Status s = look(); !s.ok()) return s;
  while (!Full(slot)) {
    const auto earliest = [&](auto takes) {
      std::size_t best = live.size();
      for (std::size_t l = 0; l < live.size(); ++l)
        if ((best == live.size() || owned.inputs[live[l]].head_time < owned.inputs[live[best]].head_time) &&
            takes(live[l]))
          best = l;
      return best;
    };
    std::size_t best = earliest([](std::size_t) { return true; });
    // What is not ready waits for the others; where they have nothing, for the wave that what it waits for has called.
    if (best < live.size() && !slot.Ready(live[best])) [[unlikely]]
      best = earliest([&](std::size_t i) { return slot.Ready(i); });
    if (best == live.size()) return Status::Ok();
    const std::size_t i = live[best];
    if (Status s = ConsumeHead(owned, i); !s.ok()) return s;
    bool available = false;
    if (Status s = FetchHead(owned, i, &available); !s.ok()) return s;
    if (!available) {
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(best));
      continue;
    }
    owned.inputs[i].head_time = options_.peek_time(slot.inputs()[i].where.topic, owned.inputs[i].head);
    // It may be of a unit that has come since the others were looked at.
    if (options_.in_step)
      if (Status s = look(); !s.ok()) return s;
  }
  return Status::Ok();
}

std::uint64_t Runner::Lag(const Owned& owned) const {
  std::uint64_t lag = 0;
  const auto& inputs = owned.parts.slot->inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    lag += log_.End(inputs[i].where) - owned.parts.slot->next(i);
  return lag;
}

// ---- Waves ---------------------------------------------------------------------------------------------------------

// One stage of one slot: what waits on its inputs, as one commit, or as many as it takes behind the first stage.
Status Runner::Step(Owned& owned, std::size_t stage) {
  Slot& slot = *owned.parts.slot;
  bool full = false;
  do {
    Failpoint("E0");
    const auto begun = owned.watch != nullptr ? Clock::now() : Clock::time_point{};
    if (Status s = ConsumeStage(owned, stage); !s.ok()) return s;
    if (slot.records() == 0 && !slot.unfinished()) break;
    full = Full(slot);
    Failpoint("E1");
    std::uint64_t work = 0;
    if (Status s = Commit(owned, begun, &work); !s.ok()) return s;
    FlushStep(owned, kGatheredPerRecord * work);
  } while (stage > 0 && full && !Held(owned));
  if (slot.unfinished()) ++wake_count_;  // another wave continues, whether records come or not
  return Status::Ok();
}

// Appends what the slot has processed to the log as one unit. *work: its debt.
Status Runner::Commit(Owned& owned, Clock::time_point begun, std::uint64_t* work) {
  Slot& slot = *owned.parts.slot;
  auto commit = slot.Finish();
  if (!commit.ok()) return commit.status();
  *work = commit->debt;
  slot.JournalWritten(slot.meta().journal_next + 1);
  LogUnit unit;
  unit.outputs.reserve(commit->outputs.size() + 1);
  if (owned.watch != nullptr) {
    for (const SlotOutput& out : commit->outputs) owned.watch->Wrote(out.where, out.payload);
    owned.watch->Settled(true);  // what is appended becomes durable, or the process ends
    unit.on_durable = [latency = &owned.commit_latency, begun] {
      latency->Observe(std::chrono::duration<double>(Clock::now() - begun).count());
    };
  }
  for (SlotOutput& out : commit->outputs)
    unit.outputs.push_back({.where = out.where, .payload = std::move(out.payload), .count = out.count});
  LogOutput journal{.where = {options_.journal, slot.id()}, .payload = {}, .count = 1};
  AppendRecord(journal.payload, EncodeJournalEntry(commit->journal));
  unit.outputs.push_back(std::move(journal));
  std::vector<TopicPartition> unread;  // need not stay in memory for anybody
  for (const LogOutput& out : unit.outputs)
    if (!read_[out.where.topic][out.where.partition]) unread.push_back(out.where);
  owned.last_ticket = log_.Append(std::move(unit));
  for (const TopicPartition& where : unread) log_.Consumed(where, log_.End(where));
  owned.debt += commit->debt;
  owned.debt_bytes += commit->debt_bytes;
  owned.records += commit->records;
  const auto& inputs = slot.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    log_.Consumed(inputs[i].where,
                  LeastNext(inputs, inputs[i].where, [&](std::size_t j) { return slot.next(j); }));
  return Status::Ok();
}

// Whether the records since the last state write was begun come to the slot's part of `times` the debt.
bool Runner::DebtDue(const Owned& owned, std::uint64_t times) const {
  const std::uint64_t bytes = options_.flush_debt_bytes > 0
                                  ? options_.flush_debt_bytes
                                  : std::max(options_.object_bytes, kLeastDebtBytes);
  return owned.debt * slots_.size() >= times * options_.flush_debt_records ||
         owned.debt_bytes >= times * bytes;
}

// Its state on disk is too far behind: it waits for the state write.
bool Runner::Held(const Owned& owned) const {
  return DebtDue(owned, kDebtsHeldAt) && owned.parts.slot->flush_active();
}

// Called between commits, with the slot's lock. Begins a state write when it is due, encodes at most `objects` of it.
void Runner::FlushStep(Owned& owned, std::size_t objects) {
  Slot& slot = *owned.parts.slot;
  if (owned.waiting_for_apply) {
    if (!owned.applied.exchange(false)) return;
    owned.waiting_for_apply = false;
    --state_writes_;
    slot.StateWriteApplied();
    ++wake_count_;  // what was held for it may go on
    slot.Evict(options_.object_bytes);
    Publish(owned);
  }
  if (!slot.gathering()) {
    if (owned.debt == 0) return;
    const auto now = Clock::now();
    if (now - owned.last_flush < options_.flush_interval && !DebtDue(owned, 1)) return;
    // One slot after the other, so that a state write takes a little of the time always and not all of it at once.
    if (state_writes_ > 0 && !DebtDue(owned, 2)) return;
    ++state_writes_;
    owned.last_flush = now;
    owned.debt = 0;
    owned.debt_bytes = 0;
    slot.BeginStateWrite();
  }
  if (!slot.GatherStateWrite(objects)) return;
  StateJob job{.slot = &owned, .write = slot.TakeStateWrite(), .ticket = owned.last_ticket};
  owned.waiting_for_apply = true;
  {
    std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  job_ready_.notify_one();
}

void Runner::Start() {
  log_.SetListener([this] { Wake(); });
  state_thread_ = std::thread([this] {
    NameThread("state-write");
    LowerThreadPriority();
    WriteState();
  });
  for (std::uint32_t t = 0; t < std::max(1u, options_.threads); ++t) {
    threads_.emplace_back([this, t] {
      NameThread("slots");
      Work(t);
    });
  }
}

void Runner::EndWork() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
}

// Cheap while nobody sleeps: called for every unit that is appended.
void Runner::Wake() {
  ++wake_count_;
  if (sleepers_ == 0) return;
  { const std::lock_guard lock(mutex_); }
  wake_.notify_all();
}

bool Runner::BeginWave(Clock::time_point now) {
  wave_.seen = wake_count_;
  std::uint64_t lag = 0;
  bool unfinished = false;
  for (auto& owned : slots_) {
    owned->lag = Lag(*owned);
    lag += owned->lag;
    unfinished = unfinished || owned->unfinished;
  }
  if (lag == 0 && !unfinished) return false;
  wave_.begun = now;
  wave_.loaded = lag >= kLoadedRecords * slots_.size();
  wave_.stage = 0;
  wave_.taken.assign(slots_.size(), false);
  wave_.left = slots_.size();
  wake_.notify_all();
  return true;
}

// A slot for this thread in the wave's stage: its own ones first, whose state lies in its core's cache.
Runner::Owned* Runner::TakeSlot(std::uint32_t thread) {
  const std::size_t n = slots_.size();
  for (std::size_t step = 0; step < n; ++step) {
    const std::size_t k = (thread * n / std::max(1u, options_.threads) + step) % n;
    if (wave_.taken[k]) continue;
    wave_.taken[k] = true;
    --wave_.left;
    return slots_[k].get();
  }
  return nullptr;
}

// What comes after a stage, once no slot of it is left to take.
void Runner::EndStage() {
  if (wave_.left > 0 || wave_.stage == stages_) return;
  const bool last = wave_.stage + 1 == stages_;
  // Nobody reads what another thread is still making of this stage: it would wait for the next wave.
  if (wave_.running > 0 && (last || !wave_.loaded)) return;
  ++wave_.stage;
  wave_.taken.assign(slots_.size(), false);
  wave_.left = last ? 0 : slots_.size();
  wake_.notify_all();
  if (last) log_.CommitSoon();
}

void Runner::Work(std::uint32_t thread) {
  std::unique_lock lock(mutex_);
  while (!stopping_ && !failed_) {
    if (wave_.stage < stages_) {
      const std::size_t stage = wave_.stage;
      Owned* owned = wave_.left > 0 ? TakeSlot(thread) : nullptr;
      if (owned == nullptr) {
        wake_.wait(lock, [&] { return stopping_ || failed_ || wave_.stage != stage; });
        continue;
      }
      ++wave_.running;
      lock.unlock();
      Status s = Visit(*owned, stage);
      lock.lock();
      --wave_.running;
      if (!s.ok()) {
        lock.unlock();
        Failed(std::move(s));
        return;
      }
      EndStage();
      continue;
    }
    const auto now = Clock::now();
    const bool input = wake_count_ != wave_.seen;
    const bool due = hurried_ > 0 || now >= wave_.begun + options_.commit_interval;
    if (input && due && BeginWave(now)) continue;
    lock.unlock();
    const bool gathers = WriteStates(thread);
    lock.lock();
    if (gathers || wave_.stage < stages_) continue;
    if (wake_count_ != wave_.seen) {
      wake_.wait_until(lock, wave_.begun + options_.commit_interval,
                       [&] { return stopping_ || failed_ || wave_.stage < stages_ || hurried_ > 0; });
    } else {
      ++sleepers_;  // even when nothing comes in, state writes fall due
      wake_.wait_for(lock, std::chrono::milliseconds(100), [&] {
        return stopping_ || failed_ || wave_.stage < stages_ || wake_count_ != wave_.seen;
      });
      --sleepers_;
    }
  }
}

// One stage of one slot in a wave.
Status Runner::Visit(Owned& owned, std::size_t stage) {
  if (stage >= owned.parts.slot->stage_count()) return Status::Ok();
  std::unique_lock lock(owned.mutex, std::try_to_lock);
  if (!lock && owned.readers > 0) {
    ++wake_count_;  // whoever reads a slot for long holds up this one alone
    return Status::Ok();
  }
  if (!lock) lock.lock();
  if (Held(owned)) {
    ++owned.held;
    return Status::Ok();
  }
  Status s = Step(owned, stage);
  owned.unfinished = owned.parts.slot->unfinished();
  if (stage == 0) owned.lag = Lag(owned);
  Publish(owned);
  if (s.ok() || !owned.parts.slot->state_damaged()) return s;
  Distrust(StatePath(owned.parts.slot->id()), s);
  return Status::Corrupted(s.message() +
                           ". Start again: the state is then rebuilt from a checkpoint and the log");
}

// Between waves: a little of each state write that is due. Whether there is more to encode.
bool Runner::WriteStates(std::uint32_t thread) {
  const std::size_t n = slots_.size();
  bool more = false;
  for (std::size_t step = 0; step < n && !stopping_; ++step) {
    Owned& owned = *slots_[(thread * n / std::max(1u, options_.threads) + step) % n];
    const std::unique_lock lock(owned.mutex, std::try_to_lock);
    if (!lock || owned.parts.slot->failed()) continue;
    FlushStep(owned, kGatherSlice);
    more = more || owned.parts.slot->gathering();
  }
  return more;
}

void Runner::Failed(Status status) {
  {
    std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = std::move(status);
    failed_ = true;
  }
  wake_.notify_all();
  job_done_.notify_all();
}

Status Runner::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

// ---- State and checkpoints -----------------------------------------------------------------------------------------

void Runner::WriteState() {
  for (;;) {
    StateJob job;
    {
      std::unique_lock lock(mutex_);
      if (!job_ready_.wait_for(lock, options_.trim_interval,
                               [&] { return state_stopping_ || !jobs_.empty(); })) {
        lock.unlock();
        TrimLog();
        continue;
      }
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.erase(jobs_.begin());
      ++jobs_running_;
    }
    Status s = ApplyJob(job);
    {
      std::lock_guard lock(mutex_);
      --jobs_running_;
    }
    job_done_.notify_all();
    if (!s.ok()) Failed(std::move(s));
    Wake();
  }
}

Status Runner::ApplyJob(StateJob& job) {
  Owned& owned = *job.slot;
  // The state must never be newer than the log.
  log_.WaitDurable(job.ticket);
  if (Status s = ApplyStateWrite(*job.write, *owned.store); !s.ok()) {
    // The log lies on the same disk and is next: there is nothing to be won by trying again.
    return s.code() == StatusCode::kRetry ? Status::Full(s.message()) : s;
  }
  Failpoint("E5");
  owned.flushed_sequence = job.write->meta.sequence;
  ++owned.state_writes;
  owned.state_written_at = options_.clock();
  const auto now = Clock::now();
  if (now - owned.last_checkpoint >=
      std::max<Clock::duration>(options_.checkpoint_interval, owned.checkpoint_rest)) {
    owned.last_checkpoint = now;
    if (Status s = Checkpoint(owned, job.write->meta); !s.ok()) return s;
    owned.checkpoint_rest = kCheckpointRest * std::min<Clock::duration>((Clock::now() - now) * slots_.size(),
                                                                        options_.checkpoint_interval);
    TrimLog();
  }
  owned.applied = true;
  return Status::Ok();
}

void Runner::LoadCheckpoints(Owned& owned) {
  const std::string path = CheckpointPath(owned.parts.slot->id());
  std::error_code error;
  owned.checkpoints.clear();
  for (const auto& entry : fs::directory_iterator(path, error)) {
    const std::string name = entry.path().filename().string();
    if (name.empty() || name.find_first_not_of("0123456789") != std::string::npos) {
      std::error_code ignored;  // an unfinished copy of a process that died
      fs::remove_all(entry.path(), ignored);
      continue;
    }
    auto opened = store::OpenRocksdbStore(
        {.path = entry.path().string(), .memory = memory_, .create = false, .read_only = true});
    if (!opened.ok()) continue;
    auto bytes = (*opened)->Meta();
    if (!bytes.ok()) continue;
    auto meta = DecodeSlotMeta(*bytes);
    if (meta.ok()) owned.checkpoints.push_back(*meta);
  }
  std::sort(owned.checkpoints.begin(), owned.checkpoints.end(),
            [](const SlotMeta& a, const SlotMeta& b) { return a.sequence < b.sequence; });
}

Status Runner::Checkpoint(Owned& owned, const SlotMeta& meta) {
  const std::string directory = CheckpointPath(owned.parts.slot->id());
  const std::string name = directory + "/" + std::to_string(meta.sequence);
  std::error_code error;
  fs::create_directories(directory, error);
  const std::string unfinished = name + ".unfinished";
  fs::remove_all(unfinished, error);
  if (fs::exists(name)) return Status::Ok();
  if (Status s = owned.store->Checkpoint(unfinished); !s.ok()) return s;
  if (options_.verify_checkpoints) {
    auto copy =
        store::OpenRocksdbStore({.path = unfinished, .memory = memory_, .create = false, .read_only = true});
    if (!copy.ok()) return copy.status();
    if (Status s = (*copy)->Verify(); !s.ok()) {
      Distrust(StatePath(owned.parts.slot->id()), s);
      return Status::Corrupted(
          "the new checkpoint of slot " + std::to_string(owned.parts.slot->id()) +
          " failed verification: " + s.message() +
          ". The state on disk is damaged: check the disk and start again; the state is then "
          "rebuilt from an earlier checkpoint and the log.");
    }
  }
  fs::rename(unfinished, name, error);
  if (error)
    return Status::Unwritten(error.value(), "cannot rename the checkpoint " + name + ": " + error.message());
  if (!options_.checkpoint_copy_directory.empty()) {
    const std::string to = options_.checkpoint_copy_directory + "/slot-" +
                           std::to_string(owned.parts.slot->id()) + "/" + std::to_string(meta.sequence);
    fs::create_directories(fs::path(to).parent_path(), error);
    fs::copy(name, to, fs::copy_options::recursive | fs::copy_options::skip_existing, error);
    if (error)
      return Status::Unwritten(error.value(), "cannot copy the checkpoint to " + to + ": " + error.message());
  }
  owned.checkpoints.push_back(meta);
  owned.checkpoint_sequence = meta.sequence;
  ++owned.checkpoints_made;
  owned.checkpoint_at = options_.clock();
  while (owned.checkpoints.size() > static_cast<std::size_t>(options_.checkpoints_kept)) {
    const std::string old = std::to_string(owned.checkpoints.front().sequence);
    fs::remove_all(directory + "/" + old, error);
    if (!options_.checkpoint_copy_directory.empty())
      fs::remove_all(
          options_.checkpoint_copy_directory + "/slot-" + std::to_string(owned.parts.slot->id()) + "/" + old,
          error);
    owned.checkpoints.erase(owned.checkpoints.begin());
  }
  return Status::Ok();
}

// Inputs and journals go once they lie behind the older kept checkpoint of their slot and are old, or the log is large.
// Only the state thread calls this.
void Runner::TrimLog() {
  const std::unique_lock untrimmed(trim_mutex_, std::try_to_lock);
  if (!untrimmed) return;  // the log is being copied: the next round trims
  const bool large = log_.disk_bytes() > options_.inputs_bytes;
  const double keep_after = options_.clock() - options_.inputs_age;
  auto trim = [&](TopicPartition where, std::uint64_t behind) {
    std::uint64_t at = log_.Begin(where);
    while (at < behind) {
      auto batch = log_.Read(where, at);
      if (!batch.ok() || *batch == nullptr || (*batch)->end() > behind) break;
      if (!large && (*batch)->append_time > keep_after) break;
      at = (*batch)->end();
    }
    if (at > log_.Begin(where)) log_.Trim(where, at);
  };
  for (auto& owned : slots_) {
    if (owned->checkpoints.size() < static_cast<std::size_t>(options_.checkpoints_kept)) continue;
    const SlotMeta& older = owned->checkpoints.front();
    const auto& inputs = owned->parts.slot->inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (options_.topics[inputs[i].where.topic].retention == Retention::kTrimmed)
        trim(inputs[i].where,
             LeastNext(inputs, inputs[i].where, [&](std::size_t j) { return older.next[j]; }));
    trim({options_.journal, owned->parts.slot->id()}, older.journal_next);
  }
}

// ---- Outside -------------------------------------------------------------------------------------------------------

void Runner::Query(std::uint32_t slot, const std::function<void(Slot&)>& read) {
  Owned& owned = *slots_[slot];
  std::uint64_t ticket = 0;
  {
    ++owned.readers;
    std::lock_guard lock(owned.mutex);
    read(*owned.parts.slot);
    ticket = owned.last_ticket;
    --owned.readers;
  }
  log_.WaitDurable(ticket);
}

// States first: each is of a durable commit, which the log's copy therefore has. Trimmed in between, the log might
// begin behind a state.
Status Runner::CopyAll(const std::string& directory) {
  const std::scoped_lock untrimmed(trim_mutex_);
  std::error_code error;
  fs::create_directory(directory + "/state", error);
  if (error)
    return Status::Unwritten(error.value(), "cannot make " + directory + "/state: " + error.message());
  for (std::uint32_t k = 0; k < slots_.size(); ++k)
    if (Status s = CopyStored(k, directory + "/state/slot-" + std::to_string(k)); !s.ok()) return s;
  return log_.Checkpoint(directory + "/log");
}

SlotStatus Runner::StatusOf(const Owned& owned) const {
  const Slot& slot = *owned.parts.slot;
  SlotStatus status{.slot = slot.id(),
                    .sequence = slot.meta().sequence,
                    .hash = slot.meta().hash,
                    .reexecuted = owned.reexecuted,
                    .reexecuted_records = owned.reexecuted_records,
                    .records = owned.records,
                    .held = owned.held,
                    .cached_objects = slot.cached_objects(),
                    .cached_bytes = slot.cached_bytes(),
                    .waiting = slot.waiting(),
                    .store_reads = slot.store_reads(),
                    .counted = options_.count ? options_.count(slot.id()) : 0};
  const auto& inputs = slot.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    status.inputs.push_back({.stage = inputs[i].stage, .topic = inputs[i].where.topic, .next = slot.next(i)});
  Refresh(owned, &status);
  return status;
}

// What can be told without the slot's lock: the log's ends, and what the state thread has done.
void Runner::Refresh(const Owned& owned, SlotStatus* status) const {
  const auto& inputs = owned.parts.slot->inputs();
  status->lag = 0;
  for (std::size_t i = 0; i < status->inputs.size(); ++i) {
    InputLag& input = status->inputs[i];
    const std::uint64_t end = log_.End(inputs[i].where);
    input.records = end - std::min(end, input.next);
    status->lag += input.records;
  }
  status->flushed_sequence = owned.flushed_sequence;
  status->checkpoint_sequence = owned.checkpoint_sequence;
  status->restores = owned.restores;
  status->state_writes = owned.state_writes;
  status->checkpoints = owned.checkpoints_made;
  status->state_written_at = owned.state_written_at;
  status->checkpoint_at = owned.checkpoint_at;
  status->commit_latency = owned.commit_latency.Look();
}

std::vector<SlotStatus> Runner::status() const {
  std::vector<SlotStatus> all;
  for (const auto& owned : slots_) {
    std::lock_guard lock(owned->mutex);
    all.push_back(StatusOf(*owned));
  }
  return all;
}

std::vector<SlotStatus> Runner::Look() const {
  std::vector<SlotStatus> all;
  for (const auto& owned : slots_) {
    {
      const std::lock_guard look(owned->look_mutex);
      all.push_back(owned->last_look);
    }
    Refresh(*owned, &all.back());
  }
  return all;
}

// With the slot's lock, after each visit: what Look() gives until the next.
void Runner::Publish(Owned& owned) {
  SlotStatus now = StatusOf(owned);
  const std::lock_guard look(owned.look_mutex);
  owned.last_look = std::move(now);
}

bool Runner::idle() const {
  // Slots feed each other: the first is looked at when none can move any more.
  std::vector<std::unique_lock<std::mutex>> locks;
  for (const auto& owned : slots_) locks.emplace_back(owned->mutex);
  std::uint64_t ticket = 0;
  for (const auto& owned : slots_) {
    if (Lag(*owned) > 0 || owned->parts.slot->unfinished()) return false;
    ticket = std::max(ticket, owned->last_ticket);
  }
  locks.clear();
  return log_.durable_ticket() >= ticket;
}

void Runner::WaitIdle() {
  ++hurried_;  // nothing more comes that a wave or a synced write should wait for
  wake_.notify_all();
  while (!failed_ && !idle()) {
    log_.CommitSoon();
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, std::chrono::milliseconds(1));
  }
  --hurried_;
}

void Runner::WaitLag(std::uint64_t records) {
  while (!failed_ && !stopping_) {
    std::uint64_t lag = 0;
    for (const auto& owned : slots_) lag += owned->lag;
    if (lag <= records) return;
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, std::chrono::milliseconds(1));
  }
}

Status Runner::Stop() {
  EndWork();
  for (std::thread& t : threads_) t.join();
  threads_.clear();
  if (failed_) return failure();
  // What is left to write: the state write under way of each slot, then a last one.
  for (auto& owned : slots_) {
    for (int pass = 0; pass < 2; ++pass) {
      {
        std::unique_lock lock(mutex_);
        job_done_.wait(lock, [&] { return failed_ || !owned->waiting_for_apply || owned->applied; });
      }
      if (failed_) return failure();
      Slot& slot = *owned->parts.slot;
      if (owned->waiting_for_apply) {
        owned->applied = false;
        owned->waiting_for_apply = false;
        slot.StateWriteApplied();
      }
      if (!slot.gathering()) {
        if (owned->flushed_sequence == slot.meta().sequence) break;
        slot.BeginStateWrite();
      }
      while (!slot.GatherStateWrite(kGatherSlice)) {
      }
      StateJob job{.slot = owned.get(), .write = slot.TakeStateWrite(), .ticket = owned->last_ticket};
      owned->waiting_for_apply = true;
      {
        std::lock_guard lock(mutex_);
        jobs_.push_back(std::move(job));
      }
      job_ready_.notify_one();
    }
  }
  {
    std::unique_lock lock(mutex_);
    job_done_.wait(lock, [&] { return failed_ || (jobs_.empty() && jobs_running_ == 0); });
  }
  return failure();
}

}  // namespace cobblestone::stream::embedded
