// A source (a file or a client, by name), its position, and the blocks of lines in which it is ingested.
//
// A source counts its lines and chains a hash over them, so that lines that are sent again are recognised and add
// nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/stream/hash128.h"

namespace cobblestone::intake {

// Position of a source.
struct ProducerState {
  std::uint64_t lines = 0;  // ingested so far
  stream::Hash128 hash;     // chained over the bytes of these lines, ChainLine()
  // The only sender that may continue the source over HTTP (gateway::Sender::owner()). Empty: never used over
  // HTTP. The embedded log stores it in a row of its own.
  std::string owner{};

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.lines, s.hash);
  }
};

// Hash chain that identifies the lines of a source that is sent again: hash' = H(hash, bytes of the line).
stream::Hash128 ChainLine(const stream::Hash128& before, std::string_view line);

// One line of a source. All fields empty: a blank line, or a barrier without an event; it is only counted.
struct SourceLine {
  std::string envelope;  // bytes of the Envelope; empty: the line could not be read
  std::string original;  // original bytes of a line that could not be read
  std::string problem;   // reason
};

struct AppendBlock {
  std::string source;
  std::uint64_t first_line = 0;  // 0 for the first line; must be the source's `lines`
  std::vector<SourceLine> lines;
  stream::Hash128 hash;  // of the source up to the end of this block
  // Beginning of the batch that this block belongs to, for sources that send batches. Stored with the position,
  // so that a repeated batch can be compared.
  std::optional<ProducerState> batch_begin{};
  // New owner of the source; empty: the owner is unchanged. The caller has checked that the sender may use the
  // source.
  std::string owner{};
  bool own_ticks = false;  // the source has its own ticks: none are generated
  bool barrier = false;    // everything before the block is processed first, then the block itself
  // `order: lockstep`: the source asks to end the period before this block. If false, only the kind of events
  // decides, never the boundaries of blocks.
  bool ends_period = false;
};

struct AppendOutcome {
  ProducerState producer;
  std::uint64_t appended = 0;
  // Lines that could not be read, or that only the pipeline may create.
  std::uint64_t refused = 0;
};

}  // namespace cobblestone::intake
