#include "common/stream/embedded/batch_format.h"

#include <lz4.h>
#include <xxhash.h>

#include <cstring>
#include <utility>

#include "common/base/check.h"
#include "common/stream/bytes.h"

namespace cobblestone::stream::embedded {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kCodecNone = 0;
constexpr std::uint8_t kCodecLz4 = 1;

// Offsets of the header fields.
constexpr std::size_t kAtVersion = 0;
constexpr std::size_t kAtCodec = 1;
constexpr std::size_t kAtZero = 2;
constexpr std::size_t kAtCount = 4;
constexpr std::size_t kAtRawBytes = 8;
constexpr std::size_t kAtBodyBytes = 12;
constexpr std::size_t kAtFirst = 16;
constexpr std::size_t kAtAppendTime = 24;
constexpr std::size_t kAtBodyHash = 32;
constexpr std::size_t kAtHeaderHash = 40;
static_assert(kAtHeaderHash + sizeof(std::uint64_t) == kBatchHeaderBytes);

std::uint64_t HeaderHash(const BatchPlace& place, const char* header) {
  std::string covered = BatchKey(place.where, place.first);
  covered.append(header, kAtHeaderHash);
  return XXH3_64bits(covered.data(), covered.size());
}

std::string Describe(const BatchPlace& place) {
  return "the batch at offset " + std::to_string(place.first) + " of partition " +
         std::to_string(place.where.partition) + " of topic number " + std::to_string(place.where.topic);
}

Status Damaged(const BatchPlace& place, const std::string& what) {
  return Status::Corrupted(
      Describe(place) + " is damaged: " + what +
      "; stored bytes were changed by the disk or on the way: stop using this copy, check "
      "the disk, and restore the data directory from another copy");
}

}  // namespace

std::string BatchKey(TopicPartition where, std::uint64_t first) {
  std::string key;
  key.reserve(kBatchKeyBytes);
  AppendOrdered(key, where.topic);
  AppendOrdered(key, where.partition);
  AppendOrdered(key, first);
  return key;
}

std::optional<BatchPlace> ParseBatchKey(std::string_view key) {
  if (key.size() != kBatchKeyBytes) return std::nullopt;
  BatchPlace place;
  place.where.topic = LoadOrdered<std::uint16_t>(key.data());
  place.where.partition = LoadOrdered<std::uint32_t>(key.data() + 2);
  place.first = LoadOrdered<std::uint64_t>(key.data() + 6);
  return place;
}

PackedBatch::PackedBatch(std::string_view payload, std::uint32_t count) {
  COBBLESTONE_CHECK(payload.size() < kMaxPayloadBytes,
                    "a batch of " + std::to_string(payload.size()) + " bytes");
  const int bound = LZ4_compressBound(static_cast<int>(payload.size()));
  // Not zeroed: pages beyond the compressor's output are never touched.
  data_ = std::make_unique_for_overwrite<char[]>(kBatchHeaderBytes + static_cast<std::size_t>(bound));
  char* const header = data_.get();
  char* const body = header + kBatchHeaderBytes;
  std::uint8_t codec = kCodecLz4;
  auto body_bytes = static_cast<std::size_t>(
      LZ4_compress_default(payload.data(), body, static_cast<int>(payload.size()), bound));
  COBBLESTONE_CHECK(body_bytes > 0, "the LZ4 output must not exceed its own bound");
  if (body_bytes >= payload.size()) {
    codec = kCodecNone;
    body_bytes = payload.size();
    std::memcpy(body, payload.data(), payload.size());
  }
  StoreNumber(header + kAtVersion, kVersion);
  StoreNumber(header + kAtCodec, codec);
  StoreNumber(header + kAtZero, std::uint16_t{0});
  StoreNumber(header + kAtCount, count);
  StoreNumber(header + kAtRawBytes, static_cast<std::uint32_t>(payload.size()));
  StoreNumber(header + kAtBodyBytes, static_cast<std::uint32_t>(body_bytes));
  StoreNumber(header + kAtBodyHash, static_cast<std::uint64_t>(XXH3_64bits(body, body_bytes)));
  size_ = kBatchHeaderBytes + body_bytes;
}

void PackedBatch::Seal(TopicPartition where, std::uint64_t first, double append_time) {
  char* const header = data_.get();
  StoreNumber(header + kAtFirst, first);
  StoreNumber(header + kAtAppendTime, append_time);
  StoreNumber(header + kAtHeaderHash, HeaderHash({.where = where, .first = first}, header));
}

Result<BatchHeader> ReadBatchHeader(const BatchPlace& place, std::string_view stored) {
  if (stored.size() < kBatchHeaderBytes) {
    return Damaged(place, "the batch has " + std::to_string(stored.size()) + " bytes, less than a header");
  }
  const char* const at = stored.data();
  const auto version = LoadNumber<std::uint8_t>(at + kAtVersion);
  if (LoadNumber<std::uint64_t>(at + kAtHeaderHash) != HeaderHash(place, at)) {
    return Damaged(place, "the hash of the header differs");
  }
  if (version != kVersion) {
    return Status::Corrupted(Describe(place) + " has format version " + std::to_string(version) +
                             ", but this program uses version " + std::to_string(kVersion) +
                             ": use the newer program that wrote the batch");
  }
  BatchHeader header;
  header.codec = LoadNumber<std::uint8_t>(at + kAtCodec);
  header.count = LoadNumber<std::uint32_t>(at + kAtCount);
  header.raw_bytes = LoadNumber<std::uint32_t>(at + kAtRawBytes);
  header.body_bytes = LoadNumber<std::uint32_t>(at + kAtBodyBytes);
  header.first = LoadNumber<std::uint64_t>(at + kAtFirst);
  header.append_time = LoadNumber<double>(at + kAtAppendTime);
  header.body_hash = LoadNumber<std::uint64_t>(at + kAtBodyHash);
  if (header.body_bytes != stored.size() - kBatchHeaderBytes) {
    return Damaged(place, "the body has " + std::to_string(stored.size() - kBatchHeaderBytes) +
                              " bytes instead of " + std::to_string(header.body_bytes));
  }
  return header;
}

Result<BatchHeader> CheckBatch(const BatchPlace& place, std::string_view stored) {
  Result<BatchHeader> header = ReadBatchHeader(place, stored);
  if (!header.ok()) return header;
  if (XXH3_64bits(stored.data() + kBatchHeaderBytes, header->body_bytes) != header->body_hash) {
    return Damaged(place, "the hash of the body differs");
  }
  return header;
}

Result<BatchRef> UnpackBatch(const BatchPlace& place, std::string_view stored) {
  const Result<BatchHeader> header = CheckBatch(place, stored);
  if (!header.ok()) return header.status();
  auto batch = std::make_shared<Batch>();
  batch->where = place.where;
  batch->first = header->first;
  batch->count = header->count;
  batch->append_time = header->append_time;
  const char* const body = stored.data() + kBatchHeaderBytes;
  switch (header->codec) {
    case kCodecNone: batch->payload.assign(body, header->body_bytes); break;
    case kCodecLz4: {
      batch->payload.resize(header->raw_bytes);
      const int got = LZ4_decompress_safe(body, batch->payload.data(), static_cast<int>(header->body_bytes),
                                          static_cast<int>(header->raw_bytes));
      if (got < 0 || static_cast<std::uint32_t>(got) != header->raw_bytes) {
        return Damaged(place, "the body cannot be decompressed");
      }
      break;
    }
    default:
      return Status::Corrupted(Describe(place) + " has the unknown codec " + std::to_string(header->codec) +
                               ": use the newer program that wrote the batch");
  }
  return BatchRef(std::move(batch));
}

}  // namespace cobblestone::stream::embedded
