#include "common/stream/kafka/set_position.h"

#include <vector>

#include "common/stream/kafka/read_all.h"
#include "common/stream/kafka/state.h"
#include "common/stream/runtime/journal.h"

namespace cobblestone::stream::kafka {

namespace {

constexpr int kMaxSetTries = 20;

// The newest complete checkpoint, as its last row states. *rows: whether the partition contains any row.
Result<std::optional<SlotMeta>> NewestCheckpoint(Reader& reader, TopicPartition where, Millis patience,
                                                 Position* position, bool* rows) {
  std::optional<SlotMeta> newest;
  Status s = ReadAll(reader, where, kBeginning, patience, [&](const Message& row) {
    *rows = true;
    if (row.key() != kCheckpointMetaKey) return Status::Ok();
    auto meta = DecodeSlotMeta(row.value());
    if (!meta.ok()) return meta.status();
    position->checkpoint_sequence = meta->sequence;
    position->checkpoint_end = row.offset() + 1;
    position->rules_version = meta->rules_version;
    newest = std::move(*meta);
    return Status::Ok();
  });
  if (!s.ok()) return s;
  return newest;
}

}  // namespace

Result<std::optional<Position>> PositionByJournal(Cluster& cluster, std::uint32_t slot,
                                                  const TaskOptions& options, Millis patience) {
  auto reader = cluster.NewReader(kShortFetch);
  if (!reader.ok()) return reader.status();
  const std::string name = "slot " + std::to_string(slot);
  Position position{.released = true, .owner = "by-hand"};
  bool rows = false;
  auto checkpoint = NewestCheckpoint(**reader, {options.checkpoint, slot}, patience, &position, &rows);
  if (!checkpoint.ok()) return checkpoint.status();
  if (*checkpoint) {
    position.sequence = (*checkpoint)->sequence;
    position.journal_next = (*checkpoint)->journal_next;
  }
  // Before the first write to the journal there is no offset after the checkpoint's.
  const std::uint64_t from = position.journal_next == 0 ? kBeginning : position.journal_next;
  bool any = false;
  Status s = ReadAll(**reader, {options.journal, slot}, from, patience, [&](const Message& message) {
    RecordCursor entries(message.value());
    std::string_view bytes;
    while (entries.Next(&bytes)) {
      const auto entry = DecodeJournalEntry(bytes);
      if (!entry.ok()) return entry.status();
      if ((any || *checkpoint) && entry->sequence != position.sequence + 1)
        return Status::Corrupted("the journal of " + name + " has commit " + std::to_string(entry->sequence) +
                                 " where " + std::to_string(position.sequence + 1) +
                                 " is expected: records of the journal are missing");
      position.sequence = entry->sequence;
      position.rules_version = entry->rules_version;
      any = true;
    }
    if (entries.malformed())
      return Status::Corrupted("a message of the journal of " + name + " is corrupted");
    position.journal_next = message.offset() + 1;
    return Status::Ok();
  });
  if (!s.ok()) return s;
  if (any || *checkpoint) return std::optional<Position>(position);
  if (rows)
    return Status::Corrupted(
        "the journal of " + name +
        " is empty, and its checkpoint is incomplete: the journal's topic was deleted, or a "
        "migration to this cluster was interrupted. Without the group's offsets the slot "
        "cannot be restored");
  return std::optional<Position>();
}

Outcome SendPositions(Cluster& cluster, const std::map<std::uint32_t, Position>& positions,
                      TopicIndex journal, Producer& producer) {
  NoListener listener;
  auto group = cluster.NewGroup("by-hand", listener);
  if (!group.ok()) return {Reaction::kAbort, group.status().message()};
  std::vector<OffsetToSend> offsets;
  for (const auto& [slot, position] : positions)
    offsets.push_back(
        {.where = {journal, slot}, .offset = position.journal_next, .metadata = EncodePosition(position)});
  Outcome o;
  for (int tries = 0; tries < kMaxSetTries; ++tries) {
    o = producer.SendOffsets(offsets, (*group)->Current());
    if (o.reaction != Reaction::kRetry) return o;
  }
  return {Reaction::kAbort, o.message};
}

}  // namespace cobblestone::stream::kafka
