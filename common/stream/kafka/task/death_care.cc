#include "common/stream/kafka/task/death_care.h"

#include <algorithm>

namespace cobblestone::stream::kafka {

namespace {

constexpr std::uint64_t kFew = 64;               // records of a careful round
constexpr std::uint64_t kOnesInARow = 4 * kFew;  // single records without a death that end the search
constexpr std::uint32_t kSkipsInARow = 3;        // with more, the records are not the cause

}  // namespace

void DeathCare::Reset() {
  taken_ = announces_ = false;
  care_ = {};
}

void DeathCare::TakeOver(const Position& position) {
  if (taken_) return;
  taken_ = announces_ = true;
  careful_records_ = 0;
  care_ = position.build == context_.options.build ? position.care : Care{};
  if (care_.tries > kTries) care_.tries = 0;  // the slot stopped at the record: a restart allows new attempts
  const bool processing = trace_.TakeProcessing();
  if (position.owner.empty() || position.released) return;
  // The previous owner has crashed. If the previous owner was this worker and was not processing records, no
  // record is to blame.
  if (position.owner == context_.options.owner && !processing) return;
  if (care_.tries > 0) ++care_.tries;
  care_.level = std::min<std::uint32_t>(care_.level + 1, Care::kOneByOne);
  if (!careful() || care_.tries > 0) return;
  context_.report(context_.Name() + ": the owners of the slot die before a commit; continuing with " +
                  (care_.level == Care::kFewAtOnce ? "some records" : "one record") + " at a time");
}

Status DeathCare::FeedRound() {
  if (care_.level == Care::kOneByOne) return FeedOne();
  return feeder_.FeedAll(careful() ? kFew : context_.options.round_records);
}

Status DeathCare::FeedOne() {
  const Slot& slot = state_.slot();
  const Message* head = nullptr;
  const std::size_t input = care_.input;
  // The transaction that consumed the record was committed although its outcome seemed unknown.
  if (care_.tries > 0 && slot.next(input) > care_.offset) care_.tries = 0;
  if (care_.tries > 0) {
    if (Status s = inputs_.Head(input, &head); !s.ok()) return s;
    if (head == nullptr) return Status::Ok();  // the record exists and will arrive
    if (head->offset() != care_.offset || !slot.Ready(input)) care_.tries = 0;
  }
  if (care_.tries == 0) return Choose();
  skipped_ = care_.tries > kTries;
  return skipped_ ? Skip(input, *head) : feeder_.Feed(input, *head, StageFeeder::Role::kOwner);
}

// The next commit names the record that would be consumed first.
Status DeathCare::Choose() {
  std::size_t input = 0;
  const Message* head = nullptr;
  if (Status s = order_.First(&input, &head); !s.ok() || head == nullptr) return s;
  care_.input = static_cast<std::uint32_t>(input);
  care_.offset = head->offset();
  care_.tries = 1;
  announces_ = true;
  return Status::Ok();
}

Status DeathCare::Skip(std::size_t input, const Message& head) {
  const TopicPartition where = state_.slot().inputs()[input].where;
  const std::string what = "the record " + std::to_string(head.offset()) + " of " +
                           context_.options.topics[where.topic].name + ", partition " +
                           std::to_string(where.partition) + ", crashed the program " +
                           std::to_string(kTries) + " times";
  if (context_.options.packed[where.topic] || order_.lockstep())
    return Status::Fatal(
        what +
        (order_.lockstep() ? ". In lockstep records are never skipped"
                           : ". A record of another slot is never skipped") +
        ": no data is lost while this slot waits for a version of the program that can process "
        "the record; a restarted worker tries again");
  if (care_.skipped >= kSkipsInARow)
    return Status::Fatal(
        what + ", as did the " + std::to_string(kSkipsInARow) +
        " before it. The records are not the cause: check this machine and this version of the "
        "program. No data is lost while the slot waits");
  context_.report(context_.Name() + ": " + what + " and is skipped; the record is in `refused`");
  return feeder_.Feed(input, head, StageFeeder::Role::kOwner, true);
}

Care DeathCare::After(bool consumed) const {
  Care care = care_;
  if (!consumed) return care;
  care.tries = 0;
  care.input = 0;
  care.offset = 0;
  care.skipped = skipped_ ? care.skipped + 1 : 0;
  switch (care.level) {
    case Care::kTaken:  // the first commits may be of other inputs than the record that crashes
    case Care::kFewAtOnce:
      if (careful_records_ >= 2 * context_.options.round_records) care.level = Care::kNone;
      break;
    case Care::kOneByOne:
      if (skipped_) care.level = Care::kFewAtOnce;  // the record was found
      if (careful_records_ >= kOnesInARow) care.level = Care::kNone;
      break;
    default: break;
  }
  return care;
}

void DeathCare::Committed(const Care& care) {
  if (careful() && care.level == Care::kNone)
    context_.report(context_.Name() + ": no more records crash; normal processing continues");
  care_ = care;
  announces_ = skipped_ = false;
}

}  // namespace cobblestone::stream::kafka
