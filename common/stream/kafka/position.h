// What a commit says of a slot beside its data: the offset that is committed for its partition of the journal, and, as
// that offset's metadata, what whoever owns the slot next must know.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone::stream::kafka {

struct Position {
  std::uint64_t journal_next = 0;  // the committed offset: behind the last entry
  std::uint64_t sequence = 0;      // of that entry; 0: nothing was ever executed
  // The newest checkpoint that is whole: state as of this sequence, in the checkpoint's partition before this offset.
  std::uint64_t checkpoint_sequence = 0;  // 0: none
  std::uint64_t checkpoint_end = 0;
  bool released = false;  // given back: its owner left no transaction open
  std::string owner{};    // transactional.id

  friend bool operator==(const Position&, const Position&) = default;
};

// Printable: operators read it with Kafka's own tools.
std::string EncodePosition(const Position& position);
// kCorrupted: the metadata is not ours.
Result<Position> DecodePosition(std::uint64_t offset, std::string_view metadata);

}  // namespace cobblestone::stream::kafka
