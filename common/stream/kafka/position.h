// What a commit says of a slot beside its data: the offset that is committed for its partition of the journal, and, as
// that offset's metadata, what whoever owns the slot next must know.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone::stream::kafka {

// What becomes of a slot whose owners die: whoever takes it says so before it takes a record, and this counts those who
// said no more after that (docs/runtime.md). So a record that crashes the program is found whichever machine it
// crashes next, and an end that has nothing to do with a record costs a transaction.
struct Care {
  enum Level : std::uint32_t {
    kNone,
    kTaken,      // an owner died; whoever took the slot has not committed many records since
    kFewAtOnce,  // and died: the next one commits some records at a time
    kOneByOne,   // and died: one at a time, each named before it is tried
  };
  std::uint32_t level = kNone;
  // kOneByOne: the record that is tried, and how often it has been; 0: none is.
  std::uint32_t tries = 0;
  std::uint32_t input = 0;
  std::uint64_t offset = 0;
  std::uint32_t skipped = 0;  // records passed over since one was processed

  friend bool operator==(const Care&, const Care&) = default;
};

struct Position {
  std::uint64_t journal_next = 0;  // the committed offset: behind the last entry
  std::uint64_t sequence = 0;      // of that entry; 0: nothing was ever executed
  // The newest checkpoint that is whole: state as of this sequence, in the checkpoint's partition before this offset.
  std::uint64_t checkpoint_sequence = 0;  // 0: none
  std::uint64_t checkpoint_end = 0;
  bool released = false;            // given back: its owner left no transaction open
  std::string owner{};              // transactional.id
  std::string build{};              // of the program that it runs; empty: not known
  std::uint32_t rules_version = 0;  // of that program; 0: not known
  Care care{};

  friend bool operator==(const Position&, const Position&) = default;
};

// Printable: operators read it with Kafka's own tools.
std::string EncodePosition(const Position& position);
// kCorrupted: the metadata is not ours.
Result<Position> DecodePosition(std::uint64_t offset, std::string_view metadata);

}  // namespace cobblestone::stream::kafka
