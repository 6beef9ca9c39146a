#include "common/stream/embedded/stored_reader.h"

#include <utility>
#include <vector>

#include "common/stream/embedded/batch_format.h"

namespace cobblestone::stream::embedded {
namespace {

constexpr std::uint64_t kReadAheadBytes = 1u << 20;
constexpr std::size_t kReadAheadBatches = 64;

}  // namespace

BatchRef StoredReader::FindKept(TopicPartition where, std::uint64_t offset) {
  auto place = places_.upper_bound({where, offset});
  if (place == places_.begin()) return nullptr;
  --place;
  BatchRef batch = place->second->batch;
  if (batch->where != where || offset >= batch->end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, place->second);
  return batch;
}

void StoredReader::Keep(const BatchRef& batch) {
  const auto [place, fresh] = places_.try_emplace({batch->where, batch->first});
  if (!fresh) return;  // another reader has already added the batch
  kept_.push_front({.batch = batch, .place = place});
  place->second = kept_.begin();
  kept_bytes_ += batch->payload.size();
  while (kept_bytes_ > cache_bytes_ && kept_.size() > 1) {
    kept_bytes_ -= kept_.back().batch->payload.size();
    places_.erase(kept_.back().place);
    kept_.pop_back();
  }
}

Result<BatchRef> StoredReader::Read(TopicPartition where, std::uint64_t offset) {
  bool reads_on = false;
  {
    const std::scoped_lock lock(mutex_);
    if (BatchRef batch = FindKept(where, offset)) return batch;
    const auto last = read_up_to_.find(where);
    reads_on = last != read_up_to_.end() && last->second == offset;
  }
  // Decoding runs without the mutex; two readers of one offset may both decode it.
  std::vector<BatchRef> batches;
  std::uint64_t bytes = 0;
  Status damage;
  const Status status = database_.ReadFrom(where, offset, [&](std::uint64_t first, std::string_view stored) {
    Result<BatchRef> batch = UnpackBatch({.where = where, .first = first}, stored);
    if (!batch.ok()) {
      // Damage in a later batch is reported to the reader that reaches it.
      if (batches.empty()) damage = batch.status();
      return false;
    }
    bytes += (*batch)->payload.size();
    batches.push_back(*std::move(batch));
    return reads_on && bytes < kReadAheadBytes && batches.size() < kReadAheadBatches;
  });
  if (!status.ok() && batches.empty()) return status;
  if (!damage.ok()) return damage;
  if (batches.empty() || offset >= batches.front()->end()) return BatchRef();
  const std::scoped_lock lock(mutex_);
  read_up_to_[where] = batches.back()->end();
  // In reverse order, so that the batch needed next is evicted last.
  for (auto batch = batches.rbegin(); batch != batches.rend(); ++batch) Keep(*batch);
  return batches.front();
}

}  // namespace cobblestone::stream::embedded
