// A block of events as bytes, the body of POST /append on the socket. Binary, because a block holds
// thousands of envelopes that are bytes already. Both ends are the same program, but an old client may meet
// a new server: the first byte says the version, and what is not understood is refused whole.
//
// Layout, integers as varints, bytes behind their length:
//   version (1), flags (bit 0: barrier, 1: own_ticks, 2: ends_period), source, first_line, hash (16 bytes, low half first, little-endian),
//   number of lines, then per line: envelope; where that is empty: original, problem
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "services/embedded/engine.h"

namespace cobblestone {

// Appends to `out`.
void EncodeAppendBlock(const AppendBlock& block, std::string* out);

// InvalidArgument, saying what is wrong with the bytes. Takes no more memory than a small multiple of the
// bytes, whatever they claim.
Result<AppendBlock> DecodeAppendBlock(std::string_view bytes);

// 32 hexadecimal digits, high half first, as people read numbers.
std::string HashText(const stream::Hash128& hash);
std::optional<stream::Hash128> ParseHashText(std::string_view text);

// {"lines", "hash"}, and with "appended", "refused" beside.
nlohmann::json ProducerJson(const ProducerState& producer);
nlohmann::json OutcomeJson(const AppendOutcome& outcome);
Result<ProducerState> ParseProducerJson(const nlohmann::json& json);
Result<AppendOutcome> ParseOutcomeJson(const nlohmann::json& json);

}  // namespace cobblestone
