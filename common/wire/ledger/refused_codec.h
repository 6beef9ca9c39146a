// The record on the topic `refused`: the refused bytes, the reason, and the origin, so that it can be
// inspected and resubmitted (schemas/internal.proto, Refused).
// Invariant: no encoded record contains a member's texts (host, user, team, account facts) or bytes that are
// not an event: `refused` is kept forever, and the texts of a deleted member must not be.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/ids.h"
#include "common/wire/ledger/refusal.h"

namespace cobblestone::wire {

struct Refused {
  Refusal refusal;
  std::string topic;
  std::uint32_t partition = 0;
  std::uint64_t offset = 0;
  double append_time = 0;  // UNIX s
  std::string original;    // the record's bytes
  std::string source;      // producer: file or client
  std::uint64_t line = 0;
  ProjectId project;      // 0 if the bytes do not contain it
  bool left_out = false;  // when decoded: `original` is incomplete

  friend bool operator==(const Refused&, const Refused&) = default;
};

// Appends to `out`. Strings of the schema are UTF-8: in detail, topic and source each byte that is not valid
// UTF-8 is written as '?'. Writes the permitted part of `original` and whether the part is complete; records of the
// topics `claims` and `grants`, which are not events, are kept unchanged. Ignores `left_out`.
void EncodeRefused(const Refused& refused, std::string* out);

// False if the bytes are not a Refused.
[[nodiscard]] bool DecodeRefused(std::string_view bytes, Refused* refused);

}  // namespace cobblestone::wire
