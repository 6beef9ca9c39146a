#include "services/access/append_codec.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

namespace cobblestone::access {

using intake::AppendBlock;
using intake::AppendOutcome;
using intake::ProducerState;
using intake::SourceLine;

namespace {

constexpr char kVersion = 1;
constexpr char kBarrierFlag = 1;
constexpr char kOwnTicksFlag = 2;
constexpr char kEndsPeriodFlag = 4;
constexpr std::size_t kHashBytes = 16;

void PutVarint(std::uint64_t value, std::string* out) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

void PutBytes(std::string_view bytes, std::string* out) {
  PutVarint(bytes.size(), out);
  out->append(bytes);
}

void PutFixed64(std::uint64_t value, std::string* out) {
  for (int shift = 0; shift < 64; shift += 8) out->push_back(static_cast<char>(value >> shift));
}

class Reader {
 public:
  explicit Reader(std::string_view rest) : rest_(rest) {}

  [[nodiscard]] std::size_t left() const { return rest_.size(); }

  bool Byte(char* value) {
    if (rest_.empty()) return false;
    *value = rest_.front();
    rest_.remove_prefix(1);
    return true;
  }

  bool Varint(std::uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      char byte = 0;
      if (!Byte(&byte)) return false;
      const auto bits = static_cast<std::uint64_t>(byte & 0x7f);
      if (shift == 63 && bits > 1) return false;
      *value |= bits << shift;
      if ((byte & 0x80) == 0) return true;
    }
    return false;
  }

  bool Bytes(std::string* value) {
    std::uint64_t size = 0;
    if (!Varint(&size) || size > rest_.size()) return false;
    value->assign(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return true;
  }

  bool Fixed64(std::uint64_t* value) {
    if (rest_.size() < 8) return false;
    *value = 0;
    for (std::size_t i = 0; i < 8; ++i)
      *value |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    rest_.remove_prefix(8);
    return true;
  }

 private:
  std::string_view rest_;
};

Status Bad(const char* what) {
  return Status::InvalidArgument(std::string("invalid block of events: ") + what +
                                 "; use the same version for client and server");
}

}  // namespace

void EncodeAppendBlock(const AppendBlock& block, std::string* out) {
  std::size_t size = block.source.size() + kHashBytes + 64;
  for (const SourceLine& line : block.lines)
    size += line.envelope.size() + line.original.size() + line.problem.size() + 12;
  out->reserve(out->size() + size);
  out->push_back(kVersion);
  out->push_back(static_cast<char>((block.barrier ? kBarrierFlag : 0) |
                                   (block.own_ticks ? kOwnTicksFlag : 0) |
                                   (block.ends_period ? kEndsPeriodFlag : 0)));
  PutBytes(block.source, out);
  PutVarint(block.first_line, out);
  PutFixed64(block.hash.low, out);
  PutFixed64(block.hash.high, out);
  PutVarint(block.lines.size(), out);
  for (const SourceLine& line : block.lines) {
    PutBytes(line.envelope, out);
    if (!line.envelope.empty()) continue;
    PutBytes(line.original, out);
    PutBytes(line.problem, out);
  }
}

Result<AppendBlock> DecodeAppendBlock(std::string_view bytes) {
  Reader reader(bytes);
  AppendBlock block;
  char version = 0;
  char flags = 0;
  if (!reader.Byte(&version) || version != kVersion) return Bad("unknown version");
  if (!reader.Byte(&flags) || (flags & ~(kBarrierFlag | kOwnTicksFlag | kEndsPeriodFlag)) != 0)
    return Bad("unknown flags");
  block.barrier = (flags & kBarrierFlag) != 0;
  block.own_ticks = (flags & kOwnTicksFlag) != 0;
  block.ends_period = (flags & kEndsPeriodFlag) != 0;
  std::uint64_t count = 0;
  if (!reader.Bytes(&block.source) || !reader.Varint(&block.first_line) || !reader.Fixed64(&block.hash.low) ||
      !reader.Fixed64(&block.hash.high) || !reader.Varint(&count)) {
    return Bad("truncated head");
  }
  // A line takes at least two bytes, so a false count cannot reserve more memory than the bytes justify.
  if (count > reader.left() / 2) return Bad("the line count exceeds the size of the block");
  block.lines.resize(count);
  for (SourceLine& line : block.lines) {
    if (!reader.Bytes(&line.envelope)) return Bad("truncated line");
    if (!line.envelope.empty()) continue;
    if (!reader.Bytes(&line.original) || !reader.Bytes(&line.problem)) return Bad("truncated line");
  }
  if (reader.left() != 0) return Bad("extra bytes after the end");
  return block;
}

std::string HashText(const stream::Hash128& hash) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint64_t half : {hash.high, hash.low})
    for (int shift = 60; shift >= 0; shift -= 4) text.push_back(kDigits[(half >> shift) & 15]);
  return text;
}

std::optional<stream::Hash128> ParseHashText(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  stream::Hash128 hash;
  for (std::size_t i = 0; i < 32; ++i) {
    const char c = text[i];
    std::uint64_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<std::uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<std::uint64_t>(c - 'a') + 10;
    } else {
      return std::nullopt;
    }
    std::uint64_t& half = i < 16 ? hash.high : hash.low;
    half = half << 4 | digit;
  }
  return hash;
}

nlohmann::json ProducerJson(const ProducerState& producer) {
  nlohmann::json json{{"lines", producer.lines}, {"hash", HashText(producer.hash)}};
  if (!producer.owner.empty()) json["owner"] = producer.owner;
  return json;
}

nlohmann::json OutcomeJson(const AppendOutcome& outcome) {
  nlohmann::json json = ProducerJson(outcome.producer);
  json["appended"] = outcome.appended;
  json["refused"] = outcome.refused;
  return json;
}

Result<ProducerState> ParseProducerJson(const nlohmann::json& json) {
  const auto lines = json.find("lines");
  const auto hash = json.find("hash");
  if (json.is_object() && lines != json.end() && lines->is_number_unsigned() && hash != json.end() &&
      hash->is_string()) {
    if (const auto parsed = ParseHashText(hash->get_ref<const std::string&>()))
      return ProducerState{
          .lines = lines->get<std::uint64_t>(), .hash = *parsed, .owner = json.value("owner", "")};
  }
  return Status::Fatal("the running pipeline returned an answer that cannot be parsed: " + json.dump() +
                       "; use the same version for both programs");
}

Result<AppendOutcome> ParseOutcomeJson(const nlohmann::json& json) {
  auto producer = ParseProducerJson(json);
  if (!producer.ok()) return producer.status();
  AppendOutcome outcome{.producer = *producer};
  for (const auto& [name, field] :
       {std::pair{"appended", &outcome.appended}, {"refused", &outcome.refused}}) {
    const auto value = json.find(name);
    if (value == json.end() || !value->is_number_unsigned())
      return Status::Fatal("the running pipeline returned an answer without " + std::string(name) + ": " +
                           json.dump() + "; use the same version for both programs");
    *field = value->get<std::uint64_t>();
  }
  return outcome;
}

}  // namespace cobblestone::access
