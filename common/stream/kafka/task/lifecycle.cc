#include "common/stream/kafka/task/lifecycle.h"

#include <utility>

namespace cobblestone::stream::kafka {

namespace {

constexpr int kMaxWipes = 3;

// The status with which a process ends. kRetry is from the store: its disk is full, and an operator must free
// space.
Status Failure(const Status& status) {
  return status.code() == StatusCode::kRetry ? Status::Full(status.message()) : status;
}

}  // namespace

void Lifecycle::SetCheckpoint(std::uint64_t sequence, std::uint64_t end) {
  position_.checkpoint_sequence = sequence;
  position_.checkpoint_end = end;
}

void Lifecycle::Fail(const Status& status) {
  parts_.transaction.Taint();
  if (!parts_.state.has_slot() || parts_.state.slot().state_damaged()) return FailState(status);
  if (status.code() == StatusCode::kFull || status.code() == StatusCode::kRetry ||
      status.code() == StatusCode::kFenced) {
    failure_ = Failure(status);
    return;
  }
  Stop(status.message());
}

void Lifecycle::FailState(const Status& status) {
  parts_.transaction.Taint();
  // The log and the checkpoint contain everything.
  if (status.code() == StatusCode::kCorrupted && ++wiped_ <= kMaxWipes) return DiscardState(status.message());
  if (status.code() == StatusCode::kFatal || status.code() == StatusCode::kCorrupted)
    return Stop(status.message());
  failure_ = Failure(status);
}

void Lifecycle::Stop(std::string problem) {
  if (stopped()) return;
  parts_.transaction.Taint();
  parts_.StopReading();
  phase_ = Phase::kStopped;
  problem_ = std::move(problem);
  context_.report(context_.Name() + " stops: " + problem_);
}

void Lifecycle::OpenState() {
  if (Status s = parts_.OpenState(); !s.ok()) FailState(s);
}

void Lifecycle::WipeState() {
  if (Status s = parts_.RemoveState(); !s.ok()) {
    failure_ = s;
    return;
  }
  OpenState();
}

void Lifecycle::DiscardState(const std::string& why) {
  context_.report("the state of " + context_.Name() + " is discarded: " + why);
  WipeState();
  if (!stopped()) phase_ = Phase::kPosition;
}

}  // namespace cobblestone::stream::kafka
