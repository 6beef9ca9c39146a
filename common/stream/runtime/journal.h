// The journal: one entry per commit and slot, in the same commit as its outputs. An entry records which
// records were consumed, in which order, and a fingerprint of the outputs and state. Bytes:
// schemas/internal.proto, JournalEntry.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/stream/hash128.h"

namespace cobblestone::stream {

struct JournalChunk {
  std::uint32_t input = 0;
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  std::uint32_t count = 0;
};

// A record that is skipped because processing it crashes the program.
struct JournalSkip {
  std::uint32_t input = 0;
  std::uint64_t offset = 0;  // below 2^48

  friend bool operator==(const JournalSkip&, const JournalSkip&) = default;
};

struct JournalEntry {
  std::uint64_t sequence = 0;
  std::vector<JournalChunk> chunks;
  Hash128 hash;
  std::vector<JournalSkip> skipped{};
  std::uint32_t rules_version = 0;
  std::string build{};  // of the program that wrote the entry; empty: unknown
  // Kafka: the newest complete checkpoint when the entry was written. It ends before this offset of the
  // checkpoint partition; 0: none.
  std::uint64_t checkpoint_sequence = 0;
  std::uint64_t checkpoint_end = 0;
};

std::string EncodeJournalEntry(const JournalEntry& entry);
Result<JournalEntry> DecodeJournalEntry(std::string_view bytes);

}  // namespace cobblestone::stream
