// A trickle and its outcome, in the ledger (schemas/internal.proto, PartialGrant), hand-written codec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/credit/accounts/account.h"
#include "common/credit/trickles/trickle_policy.h"
#include "common/wire/events/events.h"
#include "common/wire/ledger/refusal.h"

namespace cobblestone::wire {

struct PartialGrant {
  std::uint64_t trickle = 0;  // the event's id
  double sent_time = 0;       // UNIX s, the event's time
  std::string variety;
  std::uint64_t sequence = 0;
  double asked = 0;  // as in credit::TrickleDecision
  double allowed = 0;
  double mark_before = 0;
  double mark_after = 0;
  std::uint32_t bounds = 0;  // credit::TrickleBound
  double credit = 0;         // of the high-water mark, Cobblestones
  credit::MicroCredit paid_before = 0;
  std::optional<credit::TricklePrice> price;  // of each trickle that pays, and of repriced jobs
  WorkunitId workunit;
  AppVersionId version;                  // that the job was sent with
  std::optional<std::uint64_t> phase{};  // of the model, from the message
  std::string model_version{};           // from the message
  // Of a message that earned nothing:
  credit::TrickleOutcome outcome = credit::TrickleOutcome::kPaid;
  // Reason of its record in `refused`; kUnknown: not refused.
  RefusalReason refusal = RefusalReason::kUnknown;
  // Of a job that was repriced while it ran: the price at dispatch, and the number of repricings.
  std::optional<credit::TricklePrice> sent_price{};
  std::uint32_t repriced = 0;
  // Other elements of the message, and the size of those that are not kept.
  std::vector<TrickleElement> others{};
  std::uint32_t others_left_out = 0;
  std::uint64_t bytes_left_out = 0;  // of their names and texts
};

// Longer texts are not a version and are kept among the other elements.
inline constexpr std::size_t kLongestModelVersion = 64;
// Limit on names and texts of the other elements, because the ledger is kept forever: whole elements in
// order, as many as fit.
inline constexpr std::size_t kMaxOthersKept = 1024;
// Stores the model's version, and all other elements within the limit.
void TakeOthers(const std::vector<TrickleElement>& others, PartialGrant* partial);

// Appends the message's bytes to `out`.
void EncodePartialGrant(const PartialGrant& partial, std::string* out);
// False if the bytes are not such a message.
[[nodiscard]] bool DecodePartialGrant(std::string_view bytes, PartialGrant* partial);

}  // namespace cobblestone::wire
