// A trickle and what came of it, in the ledger (schemas/internal.proto, PartialGrant), by hand.
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
  double credit = 0;         // of the mark, Cobblestones
  credit::MicroCredit paid_before = 0;
  std::optional<credit::TricklePrice> price;  // in each that CLAIMS writes
  WorkunitId workunit;
  AppVersionId version;                  // 0: an earlier program did not tell it
  std::optional<std::uint64_t> phase{};  // of the model, as the message says
  std::string model_version{};           // likewise
  // Of a message that brought nothing:
  credit::TrickleOutcome outcome = credit::TrickleOutcome::kPaid;
  RefusalReason refusal = RefusalReason::kUnknown;  // of its record in `refused`; kUnknown: it was not
  // Of a job that was priced anew while it ran: the price of its dispatch, and how often.
  std::optional<credit::TricklePrice> sent_price{};
  std::uint32_t repriced = 0;
  // What else the message says, and what of that is not kept.
  std::vector<TrickleElement> others{};
  std::uint32_t others_left_out = 0;
  std::uint64_t bytes_left_out = 0;  // of their names and texts
};

// Longer ones are no version, and kept among the others.
inline constexpr std::size_t kLongestModelVersion = 64;
// Of names and texts of the others: whole elements in their order, as far as they go. The ledger is kept for ever.
inline constexpr std::size_t kMostOthersKept = 1024;
// The model's version is not among the others; all else is, as far as it goes.
void TakeOthers(const std::vector<TrickleElement>& others, PartialGrant* partial);

// Appends the message's bytes to `out`.
void EncodePartialGrant(const PartialGrant& partial, std::string* out);
// False where the bytes are no such message.
[[nodiscard]] bool DecodePartialGrant(std::string_view bytes, PartialGrant* partial);

}  // namespace cobblestone::wire
