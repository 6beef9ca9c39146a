#include "common/stream/embedded/runner/slot_opener.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "common/stream/embedded/runner/slot_flush.h"
#include "common/stream/embedded/runner/state_files.h"

namespace cobblestone::stream::embedded {

namespace fs = std::filesystem;

namespace {

// Memory for a row that is read ahead, together with the corresponding rows of other tables.
constexpr std::uint64_t kWarmRowBytes = 4096;

}  // namespace

SlotOpener::SlotOpener(const RunnerOptions& options, Log& log, std::shared_ptr<store::StoreMemory> memory,
                       std::uint32_t slots, std::uint32_t slot, const SlotFactory& factory,
                       const Report& report)
    : options_(options),
      log_(log),
      memory_(std::move(memory)),
      slots_(slots),
      k_(slot),
      object_bytes_(options.ObjectBytesOf(slot, slots)),
      factory_(factory),
      report_(report),
      path_(StatePath(options, slot)),
      opened_{.debt = StateDebt(options, slots)} {}

Result<OpenedSlot> SlotOpener::Open() {
  opened_.stored = std::make_unique<StoredState>(options_, memory_, k_, slots_);
  MakeSlot();
  bool had_state = fs::exists(path_);
  if (Status s = OpenStore(); !s.ok()) return s;
  Status read = ReadState(had_state);
  if (read.code() == StatusCode::kCorrupted) {
    // A state with unreadable rows counts as missing: it is restored from a checkpoint or the log. If the
    // damage is in the log, the second attempt reports it.
    report_("the state of " + Name() + " is moved aside: " + read.message());
    opened_.stored->Close();
    Quarantine(path_);
    MakeSlot();
    had_state = fs::exists(path_);
    if (Status s = OpenStore(); !s.ok()) return s;
    read = ReadState(had_state);
  }
  if (!read.ok()) return read;
  opened_.at = std::chrono::steady_clock::now();
  // Spreads the checkpoints of the slots over the interval.
  opened_.stored->CountCheckpointsFrom(opened_.at - options_.checkpoint_interval * k_ / slots_);
  return std::move(opened_);
}

void SlotOpener::MakeSlot() {
  opened_.inputs.reset();
  opened_.reexecuted = opened_.reexecuted_records = 0;
  opened_.debt.Clear();
  opened_.parts = factory_(k_);
  opened_.inputs = std::make_unique<SlotInputs>(options_, log_, *opened_.parts.slot);
}

// ---- The store -----------------------------------------------------------------------------------------------------

Result<std::unique_ptr<store::Store>> SlotOpener::OpenAt(const std::string& path, bool create,
                                                         bool read_only) const {
  return store::OpenRocksdbStore({.path = path, .memory = memory_, .create = create, .read_only = read_only});
}

// Opens the state, restored if it cannot be used.
Status SlotOpener::OpenStore() {
  opened_.stored->checkpoints().Load();
  if (IsDistrusted(path_)) return Restore("the state was damaged");
  auto store = OpenAt(path_, true, false);
  if (!store.ok()) {
    if (store.status().code() != StatusCode::kCorrupted) return store.status();
    return Restore(store.status().message());
  }
  if (Status s = CheckUsable(**store); !s.ok()) {
    if (s.code() == StatusCode::kFatal) return s;
    store->reset();
    return Restore(s.message());
  }
  opened_.stored->Use(std::move(*store));
  return Status::Ok();
}

// Whether re-execution can start from this state. kFatal: the log has lost data that the state contains.
Status SlotOpener::CheckUsable(store::Store& store) {
  const TopicPartition journal{options_.journal, k_};
  auto bytes = store.Meta();
  if (!bytes.ok() && bytes.status().code() != StatusCode::kNotFound) return bytes.status();
  SlotMeta meta;
  if (bytes.ok()) {
    auto decoded = DecodeSlotMeta(*bytes);
    if (!decoded.ok()) return decoded.status();
    meta = *decoded;
  }
  if (meta.journal_next > log_.End(journal))
    return Status::Fatal(
        "the state of " + Name() + " in " + path_ + " has executed " + std::to_string(meta.journal_next) +
        " commits, but the log holds " + std::to_string(log_.End(journal)) +
        ": committed data is missing from the log; nothing was changed. Restore the log's "
        "files (a disk or backup may have been swapped) or, if the files are lost, accept the "
        "loss with `run --accept-loss`");
  bool covered = meta.journal_next >= log_.Begin(journal);
  const auto& inputs = opened_.parts.slot->inputs();
  for (std::size_t i = 0; i < meta.next.size() && i < inputs.size(); ++i)
    covered = covered && meta.next[i] >= log_.Begin(inputs[i].where);
  if (!covered) return Status::Corrupted("the state of " + Name() + " is older than the start of the log");
  return Status::Ok();
}

// `why`: the state at path_ cannot be used.
Status SlotOpener::Restore(const std::string& why) {
  const std::string aside = Quarantine(path_);
  RemoveDistrust(path_);
  std::error_code ignored;
  const SlotCheckpoints& checkpoints = opened_.stored->checkpoints();
  for (auto newest = checkpoints.kept().rbegin(); newest != checkpoints.kept().rend(); ++newest) {
    const std::string copy = checkpoints.PathOf(newest->sequence);
    if (!RestoreFrom(copy)) continue;
    opened_.stored->CountRestore();
    report_("the state of " + Name() + " was restored from checkpoint " + copy + " (" + why + ")");
    fs::remove_all(aside, ignored);
    return Status::Ok();
  }
  bool whole = log_.Begin({options_.journal, k_}) == 0;
  for (const SlotInput& input : opened_.parts.slot->inputs()) whole = whole && log_.Begin(input.where) == 0;
  if (!whole)
    return Status::Corrupted(
        "the state of " + Name() + " cannot be opened (" + why + "), no checkpoint in " +
        checkpoints.directory() +
        " is intact, and the earlier inputs were deleted from the log. Restore a copy of " + path_ +
        " or of the checkpoints from a backup. The damaged state is in " + aside + ".");
  auto fresh = OpenAt(path_, true, false);
  if (!fresh.ok()) return fresh.status();
  opened_.stored->Use(std::move(*fresh));
  opened_.stored->CountRestore();
  report_("the state of " + Name() + " is rebuilt from the whole log (" + why + ")");
  fs::remove_all(aside, ignored);
  return Status::Ok();
}

// False: the copy is incomplete or cannot be used.
bool SlotOpener::RestoreFrom(const std::string& copy) {
  auto opened = OpenAt(copy, false, true);
  if (!opened.ok() || !(*opened)->Verify().ok() || !CheckUsable(**opened).ok()) return false;
  if (!(*opened)->Checkpoint(path_).ok()) return false;
  opened->reset();
  auto restored = OpenAt(path_, false, false);
  if (!restored.ok()) return false;
  opened_.stored->Use(std::move(*restored));
  return true;
}

// ---- Re-execution --------------------------------------------------------------------------------------------------

Status SlotOpener::ReadState(bool had_state) {
  Slot& slot = *opened_.parts.slot;
  Status read = slot.Open(&opened_.stored->store(), object_bytes_ / 2);
  opened_.stored->Opened(slot.meta().sequence);
  if (!had_state && log_.End({options_.journal, k_}) > 0) {
    opened_.stored->CountRestore();
    report_("the state of " + Name() + " is missing; rebuilding the state from the log");
  }
  if (!read.ok()) return read;
  // A record reads about one row of each table.
  if (const std::uint64_t waiting = opened_.inputs->Lag(); waiting >= options_.warm_records)
    if (Status s = slot.Warm(std::min<std::uint64_t>(object_bytes_ / kWarmRowBytes, waiting)); !s.ok())
      return s;
  return Reexecute();
}

Status SlotOpener::Reexecute() {
  const Slot& slot = *opened_.parts.slot;
  const TopicPartition journal{options_.journal, k_};
  BatchRef batch;
  RecordCursor entries;
  std::uint64_t batch_at = 0;
  const std::uint64_t end = log_.End(journal);
  for (std::uint64_t at = slot.meta().journal_next; at < end;) {
    if (!batch || at >= batch->end()) {
      auto read = log_.Read(journal, at);
      if (!read.ok()) return read.status();
      batch = *read;
      entries = RecordCursor(batch->payload);
      batch_at = batch->first;
    }
    std::string_view bytes;
    COBBLESTONE_CHECK(entries.Next(&bytes), "a batch of the journal has fewer records than its header");
    if (batch_at++ < at) continue;
    auto entry = DecodeJournalEntry(bytes);
    if (!entry.ok()) return entry.status();
    if (Status s = ExecuteEntry(*entry); !s.ok()) return s;
    ++at;
    // A slot without a state re-executes the whole log, and its changed objects must not all stay in memory.
    if (opened_.debt.Due(1))
      if (Status s = WriteReexecuted(); !s.ok()) return s;
  }
  return Status::Ok();
}

Status SlotOpener::ExecuteEntry(const JournalEntry& entry) {
  Slot& slot = *opened_.parts.slot;
  SlotInputs& inputs = *opened_.inputs;
  if (entry.sequence != slot.meta().sequence + 1)
    return Status::Corrupted("the journal of " + Name() + " has entry " + std::to_string(entry.sequence) +
                             " where " + std::to_string(slot.meta().sequence + 1) + " is expected");
  if (entry.rules_version > slot.meta().rules_version)
    return Status::Fatal(Name() + " needs rules version " + std::to_string(entry.rules_version) +
                         ", but this program has " + std::to_string(slot.meta().rules_version) +
                         "; run the version of the program that wrote it");
  for (const JournalChunk& chunk : entry.chunks) {
    if (chunk.input >= inputs.count() || slot.next(chunk.input) != chunk.first)
      return Status::Corrupted("the journal of " + Name() + ", entry " + std::to_string(entry.sequence) +
                               ", does not follow the previous entry");
    for (std::uint64_t offset = chunk.first; offset < chunk.end; ++offset) {
      bool available = false;
      if (Status s = inputs.Fetch(chunk.input, &available); !s.ok()) return s;
      if (!available) return Status::Corrupted(Name() + " consumed a record that is missing from the log");
      if (Status s = inputs.Consume(chunk.input); !s.ok()) return s;
    }
  }
  auto commit = slot.Finish();
  if (!commit.ok()) return commit.status();
  slot.JournalWritten(slot.meta().journal_next + 1);
  if (entry.rules_version < slot.meta().rules_version)
    slot.TakeFingerprint(entry.hash);
  else if (commit->journal.hash != entry.hash)
    return Status::Fatal(
        Name() + " diverged: re-executing commit " + std::to_string(entry.sequence) +
        " gave a fingerprint that differs from the journal. Nothing was changed. Possible "
        "causes: this build computes differently from the build that wrote the log (run that "
        "build); memory or disk is damaged (try another machine); a stage is not deterministic "
        "(report a bug).");
  ++opened_.reexecuted;
  opened_.reexecuted_records += commit->records;
  opened_.debt.Add(commit->debt, commit->debt_bytes);
  return Status::Ok();
}

// No other thread writes the state, and the log has all of these commits on disk.
Status SlotOpener::WriteReexecuted() {
  Slot& slot = *opened_.parts.slot;
  slot.BeginStateWrite();
  while (!slot.GatherStateWrite(kGatherSlice)) {
  }
  if (Status s = opened_.stored->Apply(*slot.TakeStateWrite()); !s.ok()) return s;
  slot.StateWriteApplied();
  slot.Evict(object_bytes_);
  opened_.debt.Clear();
  return Status::Ok();
}

}  // namespace cobblestone::stream::embedded
