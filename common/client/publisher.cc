#include "common/client/publisher.h"

#include <charconv>
#include <iterator>
#include <sstream>
#include <system_error>

#include "common/stream/kafka/read_all.h"
#include "common/wire/control/topics.h"

namespace cobblestone::client {

namespace {

using stream::kafka::Outcome;
using stream::kafka::Reaction;

constexpr int kMaxTries = 10;
constexpr stream::kafka::Millis kReadPatience{60000};
// Names of sources are printable.
constexpr std::string_view kTickKey = "\x01tick/";

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

TickRow EncodeTickRow(ProjectId project, double time) {
  char text[64];
  const auto end = std::to_chars(std::begin(text), std::end(text), time).ptr;
  return {.key = std::string(kTickKey) + std::to_string(project.value), .value = std::string(text, end)};
}

Result<std::optional<std::pair<ProjectId, double>>> DecodeTickRow(std::string_view key,
                                                                  std::string_view value) {
  using Tick = std::optional<std::pair<ProjectId, double>>;
  if (!key.starts_with(kTickKey)) return Tick();
  key.remove_prefix(kTickKey.size());
  std::uint32_t project = 0;
  double time = 0;
  const auto of_key = std::from_chars(key.data(), key.data() + key.size(), project);
  const auto of_value = std::from_chars(value.data(), value.data() + value.size(), time);
  if (of_key.ec != std::errc() || of_value.ec != std::errc())
    return Status::Corrupted("the stored tick of a project is corrupted: " + std::string(value));
  return Tick({ProjectId(project), time});
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
  ticks_.clear();
  return stream::kafka::ReadAll(**reader, {options_.producers_topic, 0}, stream::kafka::kBeginning,
                                kReadPatience, [this](const stream::kafka::Message& row) {
                                  const auto tick = DecodeTickRow(row.key(), row.value());
                                  if (!tick.ok()) return tick.status();
                                  if (*tick) {
                                    ticks_[(*tick)->first] = (*tick)->second;
                                    return Status::Ok();
                                  }
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

void Publisher::Add(std::string_view envelope) {
  AddTo(wire::RouteEvent(envelope, options_.partitions), envelope);
}

void Publisher::AddTo(stream::TopicPartition where, std::string_view record) {
  added_.push_back({.where = where, .record = std::string(record)});
}

Outcome Publisher::Send(const SourceState& state, const LastTicks& changed) {
  if (Outcome o = producer_->Begin(); !o.ok()) return o;
  for (const Added& one : added_)
    if (Outcome o = producer_->Produce(one.where, {}, one.record, &ignored_offset_); !o.ok()) return o;
  if (Outcome o = producer_->Produce({options_.producers_topic, 0}, options_.source, EncodeSourceState(state),
                                     &ignored_offset_);
      !o.ok())
    return o;
  for (const auto& [project, time] : changed) {
    TickRow row = EncodeTickRow(project, time);
    if (Outcome o = producer_->Produce({options_.producers_topic, 0}, row.key, row.value, &ignored_offset_);
        !o.ok())
      return o;
  }
  if (Outcome o = producer_->Flush(); !o.ok()) return o;
  Outcome o;
  do {
    o = producer_->Commit();
  } while (o.reaction == Reaction::kRetry);
  return o;
}

Status Publisher::Commit(const SourceState& state, const LastTicks& changed) {
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
    const Outcome o = Send(state, changed);
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
  for (const auto& [project, time] : changed) ticks_[project] = time;
  return Status::Ok();
}

}  // namespace cobblestone::client
