// The future of a simulation: appointments in order of time, then of their other fields, whatever the order in which they
// were put. A calendar queue (Brown, CACM 31(10), 1988): a ring of buckets of equal length, and the bucket of now as a heap.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cobblestone::fleet {

struct Appointment {
  std::uint32_t at = 0;   // s since the start
  std::uint32_t tag = 0;  // kind and generation
  std::uint32_t subject = 0;

  friend auto operator<=>(const Appointment&, const Appointment&) = default;
};

class Timeline {
 public:
  Timeline() : ring_(kBuckets) {}

  // `at` must not be before the last appointment that Next returned.
  void Put(const Appointment& appointment);
  // The earliest appointment; false if there is none.
  bool Next(Appointment* appointment);

  // Bytes of the appointments' memory.
  [[nodiscard]] std::size_t bytes() const;

 private:
  static constexpr std::uint32_t kBuckets = 8192;
  static constexpr std::uint32_t kBucketShift = 5;  // 32 s: the ring covers three days

  static std::uint32_t BucketOf(std::uint32_t at) { return at >> kBucketShift; }
  void Append(const Appointment& appointment) {
    ring_[BucketOf(appointment.at) % kBuckets].push_back(appointment);
  }
  // Moves to the next bucket.
  void Advance();

  std::vector<std::vector<Appointment>> ring_;
  std::vector<Appointment> now_;    // of bucket_, a heap with the earliest on top
  std::vector<Appointment> later_;  // beyond the ring
  std::uint32_t bucket_ = 0;
  std::size_t in_ring_ = 0;
};

}  // namespace cobblestone::fleet
