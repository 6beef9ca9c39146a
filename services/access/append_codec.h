// Binary encoding of a block of events: the body of POST /append on the socket. Binary, because a block holds
// thousands of envelopes that are bytes already. Client and server are the same program, but an old client may meet a
// new server: the first byte is the version, and a block of an unknown version is rejected whole.
//
// Layout (integers as varints, bytes prefixed with their length):
//   version (1), flags (bit 0: barrier, 1: own_ticks, 2: ends_period), source, first_line,
//   hash (16 bytes, low half first, little-endian), number of lines,
//   then per line: envelope; if the envelope is empty: original, problem
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "services/embedded/engine.h"

namespace cobblestone::access {

// Appends to `out`.
void EncodeAppendBlock(const intake::AppendBlock& block, std::string* out);

// InvalidArgument: names the error in the bytes. Memory is bounded by a small multiple of the size of `bytes`,
// whatever lengths the bytes claim.
Result<intake::AppendBlock> DecodeAppendBlock(std::string_view bytes);

// 32 hexadecimal digits, high half first.
std::string HashText(const stream::Hash128& hash);
std::optional<stream::Hash128> ParseHashText(std::string_view text);

// {"lines", "hash"}; an outcome also has "appended" and "refused".
nlohmann::json ProducerJson(const intake::ProducerState& producer);
nlohmann::json OutcomeJson(const intake::AppendOutcome& outcome);
Result<intake::ProducerState> ParseProducerJson(const nlohmann::json& json);
Result<intake::AppendOutcome> ParseOutcomeJson(const nlohmann::json& json);

}  // namespace cobblestone::access
