#include "common/stream/embedded/runner.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "common/base/thread.h"
#include "common/stream/embedded/runner/log_trimmer.h"
#include "common/stream/embedded/runner/slot_host.h"
#include "common/stream/embedded/runner/slot_opener.h"
#include "common/stream/embedded/runner/state_writer.h"

namespace cobblestone::stream::embedded {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

// From this number of waiting records per slot at the start of a wave, no thread waits for another (waves.h).
constexpr std::uint64_t kLoadedRecords = 2000;

}  // namespace

// ---- Open and close ------------------------------------------------------------------------------------------------

Runner::Runner(const RunnerOptions& options, Log& log) : options_(options), log_(log) {
  if (!options_.clock) {
    options_.clock = [] {
      return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    };
  }
  options_.threads = std::max(1u, options_.threads);
  memory_ = std::make_shared<store::StoreMemory>(options_.block_cache_bytes);
  trimmer_ = std::make_unique<LogTrimmer>(options_, log_);
  writer_ = std::make_unique<StateWriter>(
      options_, log_, *trimmer_, [this](Status status) { Failed(std::move(status)); }, [this] { Wake(); });
}

Runner::~Runner() {
  EndWork();
  for (std::thread& t : threads_)
    if (t.joinable()) t.join();
  writer_->Stop();
  log_.SetListener({});
}

Result<std::unique_ptr<Runner>> Runner::Open(const RunnerOptions& options, Log& log, std::uint32_t slots,
                                             const SlotFactory& factory,
                                             const std::function<void(const std::string&)>& report) {
  std::unique_ptr<Runner> runner(new Runner(options, log));
  std::error_code error;
  fs::create_directories(options.directory + "/state", error);
  fs::create_directories(options.directory + "/checkpoints", error);
  if (error)
    return Status::Unwritten(error.value(),
                             "cannot create directories in " + options.directory + ": " + error.message());
  if (Status s = runner->OpenSlots(slots, factory, report); !s.ok()) return s;
  return runner;
}

// Opens the slots in parallel, then hosts them.
Status Runner::OpenSlots(std::uint32_t slots, const SlotFactory& factory,
                         const std::function<void(const std::string&)>& report) {
  std::atomic<std::uint32_t> next{0};
  std::vector<Result<OpenedSlot>> opened;
  for (std::uint32_t k = 0; k < slots; ++k) opened.emplace_back(OpenedSlot{.debt = StateDebt(options_, slots)});
  std::mutex report_mutex;
  const SlotOpener::Report locked_report = [&](const std::string& text) {
    const std::lock_guard lock(report_mutex);
    report(text);
  };
  const auto work = [&] {
    for (std::uint32_t k = next++; k < slots; k = next++)
      opened[k] = SlotOpener(options_, log_, memory_, slots, k, factory, locked_report).Open();
  };
  std::vector<std::thread> threads;
  for (std::uint32_t t = 1; t < options_.threads; ++t) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  for (const auto& slot : opened)
    if (!slot.ok()) return slot.status();

  std::size_t stages = 0;
  for (const TopicSpec& topic : options_.topics) consumed_.emplace_back(topic.partitions, false);
  for (const auto& one : opened) {
    const Slot& slot = *one->parts.slot;
    stages = std::max(stages, slot.stage_count());
    for (const SlotInput& input : slot.inputs()) consumed_[input.where.topic][input.where.partition] = true;
  }
  for (std::uint32_t k = 0; k < slots; ++k) {
    CommitWatch* watch = k < options_.watches.size() ? options_.watches[k] : nullptr;
    slots_.push_back(
        std::make_unique<SlotHost>(options_, log_, *writer_, consumed_, slots, *std::move(opened[k]), watch));
    trimmer_->Add(slots_[k]->slot(), slots_[k]->stored().checkpoints());
  }
  shared_.waves = Waves(slots, stages, options_.threads);
  return Status::Ok();
}

void Runner::Start() {
  log_.SetListener([this] { Wake(); });
  writer_->Start();
  for (std::uint32_t t = 0; t < options_.threads; ++t) {
    threads_.emplace_back([this, t] {
      NameThread("slots");
      Work(t);
    });
  }
}

Status Runner::Stop() {
  EndWork();
  for (std::thread& t : threads_) t.join();
  threads_.clear();
  for (auto& slot : slots_) {
    if (failed_) return failure();
    slot->WriteAll();
  }
  writer_->WaitDone();
  return failure();
}

void Runner::EndWork() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
}

void Runner::Failed(Status status) {
  {
    const std::lock_guard lock(mutex_);
    if (shared_.failure.ok()) shared_.failure = std::move(status);
    failed_ = true;
  }
  wake_.notify_all();
}

Status Runner::failure() const {
  const std::lock_guard lock(mutex_);
  return shared_.failure;
}

// ---- Waves ---------------------------------------------------------------------------------------------------------

// Cheap while no worker sleeps: called for every unit that is appended.
void Runner::Wake() {
  ++wake_count_;
  if (sleepers_ == 0) return;
  { const std::lock_guard lock(mutex_); }
  wake_.notify_all();
}

void Runner::Work(std::uint32_t thread) {
  std::unique_lock lock(mutex_);
  while (!stopping_ && !failed_) {
    if (shared_.waves.active()) {
      if (!WorkOnWave(thread, lock)) return;
      continue;
    }
    const auto now = Clock::now();
    const bool input = wake_count_ != shared_.seen;
    const bool due = hurried_ > 0 || now >= shared_.waves.begun() + options_.commit_interval;
    if (input && due && BeginWave(now)) continue;
    lock.unlock();
    const bool gathers = WriteStates(thread);
    lock.lock();
    if (!gathers && !shared_.waves.active()) Sleep(lock);
  }
}

// With mutex_. False: there is nothing to do.
bool Runner::BeginWave(Clock::time_point now) {
  shared_.seen = wake_count_;
  std::uint64_t lag = 0;
  bool unfinished = false;
  for (auto& slot : slots_) {
    lag += slot->MeasureLag();
    unfinished = unfinished || slot->unfinished();
  }
  if (lag == 0 && !unfinished) return false;
  shared_.waves.Begin(now, lag >= kLoadedRecords * slots_.size());
  wake_.notify_all();
  return true;
}

bool Runner::WorkOnWave(std::uint32_t thread, std::unique_lock<std::mutex>& lock) {
  Waves& waves = shared_.waves;
  const std::size_t stage = waves.stage();
  const auto k = waves.Take(thread);
  if (!k) {
    wake_.wait(lock, [&] { return stopping_ || failed_ || waves.stage() != stage; });
    return true;
  }
  lock.unlock();
  bool again = false;
  Status s = slots_[*k]->Visit(stage, &again);
  if (again) ++wake_count_;
  if (!s.ok()) {
    Failed(std::move(s));
    return false;
  }
  lock.lock();
  const Waves::Change change = waves.Done();
  if (change != Waves::Change::kNone) wake_.notify_all();
  if (change == Waves::Change::kWaveEnded) log_.CommitSoon();
  return true;
}

// Waits until a wave may begin, or until state writes may be due.
void Runner::Sleep(std::unique_lock<std::mutex>& lock) {
  const Waves& waves = shared_.waves;
  if (wake_count_ != shared_.seen) {
    wake_.wait_until(lock, waves.begun() + options_.commit_interval,
                     [&] { return stopping_ || failed_ || waves.active() || hurried_ > 0; });
    return;
  }
  ++sleepers_;  // wakes after 100 ms at most: state writes become due even if no input arrives
  wake_.wait_for(lock, std::chrono::milliseconds(100),
                 [&] { return stopping_ || failed_ || waves.active() || wake_count_ != shared_.seen; });
  --sleepers_;
}

// Between waves: a part of each state write that is due. True: there is more to gather.
bool Runner::WriteStates(std::uint32_t thread) {
  bool more = false;
  for (std::uint32_t step = 0; step < slots_.size() && !stopping_; ++step) {
    bool again = false;
    // The division into shares does not change, so this needs no lock.
    more = slots_[shared_.waves.SlotOf(thread, step)]->StepStateWrite(&again) || more;
    if (again) ++wake_count_;
  }
  return more;
}

// ---- Outside -------------------------------------------------------------------------------------------------------

void Runner::Query(std::uint32_t slot, const std::function<void(Slot&)>& read) { slots_[slot]->Query(read); }

const store::Store& Runner::stored(std::uint32_t slot) const { return slots_[slot]->stored().store(); }

Status Runner::CopyStored(std::uint32_t slot, const std::string& path) {
  return slots_[slot]->stored().store().Checkpoint(path);
}

// Copies the states first: each is as of a durable commit, which the later copy of the log therefore contains.
// The log must not be trimmed in between, otherwise it might begin after the position of a state.
Status Runner::CopyAll(const std::string& directory) {
  const auto untrimmed = trimmer_->Pause();
  std::error_code error;
  fs::create_directory(directory + "/state", error);
  if (error)
    return Status::Unwritten(error.value(), "cannot make " + directory + "/state: " + error.message());
  for (std::uint32_t k = 0; k < slots_.size(); ++k)
    if (Status s = CopyStored(k, directory + "/state/slot-" + std::to_string(k)); !s.ok()) return s;
  return log_.Checkpoint(directory + "/log");
}

std::vector<SlotStatus> Runner::status() const {
  std::vector<SlotStatus> all;
  for (const auto& slot : slots_) all.push_back(slot->ReadStatus());
  return all;
}

std::vector<SlotStatus> Runner::Look() const {
  std::vector<SlotStatus> all;
  for (const auto& slot : slots_) all.push_back(slot->Look());
  return all;
}

std::optional<std::uint64_t> Runner::AtRest() const {
  // Slots feed each other, so all slots are locked while each is examined.
  std::vector<std::unique_lock<std::mutex>> locks;
  for (const auto& slot : slots_) locks.push_back(slot->Lock());
  std::uint64_t ticket = 0;
  for (const auto& slot : slots_) {
    if (!slot->AtRest()) return std::nullopt;
    ticket = std::max(ticket, slot->last_ticket());
  }
  return ticket;
}

bool Runner::idle() const {
  const auto ticket = AtRest();
  return ticket && log_.durable_ticket() >= *ticket;
}

void Runner::WaitIdle() {
  ++hurried_;  // waves and synced writes need not wait for more input
  wake_.notify_all();
  while (!failed_ && !idle()) {
    log_.CommitSoon();
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, std::chrono::milliseconds(1));
  }
  --hurried_;
}

std::uint64_t Runner::WaitAtRest() {
  ++hurried_;
  wake_.notify_all();
  std::optional<std::uint64_t> ticket;
  while (!failed_ && !(ticket = AtRest())) {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, std::chrono::milliseconds(1));
  }
  --hurried_;
  return ticket.value_or(0);
}

void Runner::WaitLag(std::uint64_t records) {
  while (!failed_ && !stopping_) {
    std::uint64_t lag = 0;
    for (const auto& slot : slots_) lag += slot->lag();
    if (lag <= records) return;
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, std::chrono::milliseconds(1));
  }
}

}  // namespace cobblestone::stream::embedded
