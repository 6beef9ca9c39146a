#include "services/fleet/timeline.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "common/base/check.h"

namespace cobblestone::fleet {

void Timeline::Put(const Appointment& appointment) {
  const std::uint32_t bucket = BucketOf(appointment.at);
  COBBLESTONE_CHECK(bucket >= bucket_, std::to_string(appointment.at));
  if (bucket == bucket_) {
    now_.push_back(appointment);
    std::push_heap(now_.begin(), now_.end(), std::greater<>());
  } else if (bucket - bucket_ < kBuckets) {
    Append(appointment);
    ++in_ring_;
  } else {
    later_.push_back(appointment);
  }
}

void Timeline::Advance() {
  ++bucket_;
  // Twice per turn, so that no appointment of `later_` is due before it is moved.
  if (bucket_ % (kBuckets / 2) == 0 || in_ring_ == 0) {
    if (in_ring_ == 0) {
      std::uint32_t first = BucketOf(later_.front().at);
      for (const Appointment& appointment : later_) first = std::min(first, BucketOf(appointment.at));
      bucket_ = std::max(bucket_, first);
    }
    const auto due = std::partition(later_.begin(), later_.end(), [&](const Appointment& appointment) {
      return BucketOf(appointment.at) - bucket_ >= kBuckets;
    });
    for (auto moved = due; moved != later_.end(); ++moved) Append(*moved);
    in_ring_ += static_cast<std::size_t>(later_.end() - due);
    later_.erase(due, later_.end());
  }
  // The bucket's memory is released, so that memory follows the number of appointments.
  now_ = std::exchange(ring_[bucket_ % kBuckets], {});
  in_ring_ -= now_.size();
  std::make_heap(now_.begin(), now_.end(), std::greater<>());
}

bool Timeline::Next(Appointment* appointment) {
  while (now_.empty()) {
    if (in_ring_ == 0 && later_.empty()) return false;
    Advance();
  }
  std::pop_heap(now_.begin(), now_.end(), std::greater<>());
  *appointment = now_.back();
  now_.pop_back();
  return true;
}

std::size_t Timeline::bytes() const {
  std::size_t all = now_.capacity() + later_.capacity();
  for (const auto& bucket : ring_) all += bucket.capacity();
  return all * sizeof(Appointment) + kBuckets * sizeof(ring_[0]);
}

}  // namespace cobblestone::fleet
