// The record on the topic `refused`: what was refused, why, and where it came from, so that it can be inspected and resubmitted
// (schemas/internal.proto, Refused).
// Invariant: no encoded record holds a text of a member (host, user, team, account facts), nor bytes that are no event: `refused` is
// kept for ever, and the texts of a deleted member must not be.
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
  ProjectId project;      // 0 where the bytes do not tell
  bool left_out = false;  // decoded: `original` is not all that came

  friend bool operator==(const Refused&, const Refused&) = default;
};

// Appends to `out`. Strings of the schema are UTF-8: in detail, topic and source each byte that is not part
// of UTF-8 is written as '?'. Of `original` it writes what is kept, and says whether that is all; records of the topics `claims`
// and `grants`, which are no events, are kept as they are. `left_out` is not read.
void EncodeRefused(const Refused& refused, std::string* out);

// False where the bytes are no Refused.
[[nodiscard]] bool DecodeRefused(std::string_view bytes, Refused* refused);

}  // namespace cobblestone::wire
