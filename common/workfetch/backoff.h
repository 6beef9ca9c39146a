// The backoff of one project and one resource type: how long the client does not ask the project for jobs of this type.
// Independent of the delay between requests that a project asks for (S004, 'Per-resource-type backoff').
#pragma once

namespace cobblestone::workfetch {

constexpr double kFirstBackoff = 60;       // s; S004 names the limit only
constexpr double kLongestBackoff = 86400;  // s

class Backoff {
 public:
  Backoff() = default;
  // As kept by a caller with a smaller form of it.
  Backoff(double interval, double until) : interval_(interval), until_(until) {}

  // A request for jobs of this type returned none: the interval doubles, from kFirstBackoff to kLongestBackoff.
  void NoJobs(double now);
  // A job of this type arrived.
  void Clear() { *this = {}; }

  bool Active(double now) const { return now < until_; }
  bool AtLongest() const { return interval_ == kLongestBackoff; }
  double interval() const { return interval_; }  // s; 0 without a backoff
  double until() const { return until_; }

 private:
  double interval_ = 0;
  double until_ = 0;
};

}  // namespace cobblestone::workfetch
