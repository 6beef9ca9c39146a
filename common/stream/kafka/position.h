// The position of a slot, committed with its data: the committed offset of its journal partition, and, as
// metadata of this offset, the data that the next owner needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone::stream::kafka {

// Crash protection of a slot whose owners die. A new owner commits its ownership before it consumes a record,
// and `level` counts owners that died after that without further progress (docs/runtime.md). A record that
// crashes the program is thus found whichever machine it crashes next. A death that has another cause costs
// one extra transaction.
struct Care {
  enum Level : std::uint32_t {
    kNone,
    kTaken,      // an owner died; the next owner has not yet committed many records
    kFewAtOnce,  // that owner died too; the next owner commits some records at a time
    kOneByOne,   // that owner died too; one record at a time, each named before it is tried
  };
  std::uint32_t level = kNone;
  // kOneByOne: the record being tried and the number of tries; 0: none.
  std::uint32_t tries = 0;
  std::uint32_t input = 0;
  std::uint64_t offset = 0;
  std::uint32_t skipped = 0;  // records skipped since one was processed

  friend bool operator==(const Care&, const Care&) = default;
};

struct Position {
  std::uint64_t journal_next = 0;  // the committed offset: after the last entry
  std::uint64_t sequence = 0;      // of the last entry; 0: nothing was ever executed
  // The newest complete checkpoint: state as of this sequence. It ends before this offset of the checkpoint
  // partition.
  std::uint64_t checkpoint_sequence = 0;  // 0: none
  std::uint64_t checkpoint_end = 0;
  bool released = false;            // the owner gave the slot back and left no transaction open
  std::string owner{};              // transactional.id
  std::string build{};              // of the owner's program; empty: unknown
  std::uint32_t rules_version = 0;  // of the owner's program
  Care care{};

  friend bool operator==(const Position&, const Position&) = default;
};

// Printable: operators read the metadata with Kafka's own tools.
std::string EncodePosition(const Position& position);
// kCorrupted: the metadata does not have our format.
Result<Position> DecodePosition(std::uint64_t offset, std::string_view metadata);

}  // namespace cobblestone::stream::kafka
