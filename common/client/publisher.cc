#include "common/client/publisher.h"

#include <sstream>

#include "common/stream/kafka/read_all.h"
#include "common/wire/control/topics.h"

namespace cobblestone::client {

namespace {

using stream::kafka::Outcome;
using stream::kafka::Reaction;

constexpr int kMaxTries = 10;
constexpr stream::kafka::Millis kReadPatience{60000};

}  // namespace

std::string EncodeSourceState(const SourceState& state) {
  std::string text = std::to_string(state.events) + " " + std::to_string(state.hash.low) + " " +
                     std::to_string(state.hash.high);
  const bool owned = !state.owner.empty();
  if (state.period_kind != 0 || state.batch_events != 0 || owned)
    text += " " + std::to_string(state.period_kind);
  if (state.batch_events != 0 || owned)
    text += " " + std::to_string(state.batch_events) + " " + std::to_string(state.batch_hash.low) + " " +
            std::to_string(state.batch_hash.high);
  if (owned) text += " " + state.owner;
  return text;
}

Result<SourceState> DecodeSourceState(std::string_view text) {
  std::istringstream in{std::string(text)};
  SourceState state;
  in >> state.events >> state.hash.low >> state.hash.high;
  if (in.fail()) return Status::Corrupted("the stored state of a source is corrupted: " + std::string(text));
  if (!(in >> state.period_kind)) state.period_kind = 0;
  if (!(in >> state.batch_events >> state.batch_hash.low >> state.batch_hash.high)) {
    state.batch_events = 0;
    state.batch_hash = {};
  }
  in >> state.owner;  // absent: stays empty
  return state;
}

Result<std::unique_ptr<Publisher>> Publisher::Open(stream::kafka::Cluster& cluster,
                                                   const PublisherOptions& options) {
  if (options.source.empty()) return Status::InvalidArgument("the source has no name");
  std::unique_ptr<Publisher> made(new Publisher(cluster, options));
  for (int tries = 0;; ++tries) {
    Status s = made->Prepare();
    if (s.ok()) return made;
    if (s.code() != StatusCode::kRetry || tries >= kMaxTries) return s;
  }
}

Status Publisher::Prepare() {
  producer_.reset();
  auto producer = cluster_.NewProducer(options_.alone ? "sources" : "source." + options_.source);
  if (!producer.ok()) return producer.status();
  const Outcome o = (*producer)->Init();
  if (!o.ok())
    return Status::Retry("the cluster does not answer source " + options_.source + ": " + o.message);
  producer_ = std::move(*producer);
  return ReadState();
}

Status Publisher::ReadState() {
  auto reader = cluster_.NewReader(stream::kafka::kShortFetch);
  if (!reader.ok()) return reader.status();
  state_ = {};
  return stream::kafka::ReadAll(**reader, {options_.producers_topic, 0}, stream::kafka::kBeginning,
                                kReadPatience, [this](const stream::kafka::Message& row) {
                                  const bool ours = row.key() == options_.source;
                                  if (!ours && !options_.alone) return Status::Ok();
                                  auto state = DecodeSourceState(row.value());
                                  if (!state.ok()) return state.status();
                                  const std::uint32_t period_kind = state->period_kind;
                                  if (ours) state_ = *state;
                                  state_.period_kind = period_kind;
                                  return Status::Ok();
                                });
}

Status Publisher::Add(std::string_view envelope) {
  return AddTo(wire::RouteEvent(envelope, options_.partitions), envelope);
}

Status Publisher::AddTo(stream::TopicPartition where, std::string_view record) {
  added_.push_back({.where = where, .record = std::string(record)});
  return Status::Ok();
}

Outcome Publisher::Send(const SourceState& state) {
  if (Outcome o = producer_->Begin(); !o.ok()) return o;
  for (const Added& one : added_)
    if (Outcome o = producer_->Produce(one.where, {}, one.record, &ignored_offset_); !o.ok()) return o;
  if (Outcome o = producer_->Produce({options_.producers_topic, 0}, options_.source, EncodeSourceState(state),
                                     &ignored_offset_);
      !o.ok())
    return o;
  if (Outcome o = producer_->Flush(); !o.ok()) return o;
  Outcome o;
  do {
    o = producer_->Commit();
  } while (o.reaction == Reaction::kRetry);
  return o;
}

Status Publisher::Commit(const SourceState& state) {
  const SourceState before = state_;
  Status last;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    if (producer_ == nullptr || producer_->suspect()) {
      Status s = Prepare();
      if (s.code() == StatusCode::kRetry) {
        last = s;
        continue;
      }
      if (!s.ok()) return s;
      // The cluster contains the new state: the transaction was committed, and only the response was lost. If
      // the commit does not change the state, Commit() cannot detect this and sends the added records again,
      // so a barrier may occur twice.
      if (state_ == state && !(state == before)) break;
      if (!(state_ == before))
        return Status::Fenced("the source " + options_.source + " was advanced to event " +
                              std::to_string(state_.events) +
                              " by another publisher; check for another running publisher");
    }
    const Outcome o = Send(state);
    if (o.ok()) {
      state_ = state;
      break;
    }
    last = Status::Retry("the source " + options_.source + " cannot be written: " + o.message);
    if (o.reaction == Reaction::kFenced)
      return Status::Fenced("another publisher has taken over source " + options_.source +
                            "; use a separate source name for each publisher");
    if (o.reaction != Reaction::kAbort || !producer_->Abort().ok()) producer_.reset();
    if (tries + 1 == kMaxTries) return last;
  }
  if (!(state_ == state)) return last;
  added_.clear();
  return Status::Ok();
}

}  // namespace cobblestone::client
