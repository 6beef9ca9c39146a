// Envelope bytes <-> events. Completions and validations, one each per result, are read and written by hand
// without allocation; all other kinds go through generated code. Decoding says whether bytes are an Envelope;
// CheckEvent (event_check.h) says whether the event makes sense.
//
// Nothing here throws. The bytes are not kept.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/wire/events/events.h"

namespace cobblestone::wire {

// A completion or a validation. Meant to be reused from record to record.
struct HotEvent {
  EventKind kind = EventKind::kNone;  // kCompletion or kValidation after kHot; tells which of the two holds
  EventHead head;
  credit::CompletionFacts completion;
  credit::ValidationFacts validation;  // line stays 0: the stage that joins sets it
};

enum class HotDecode : std::uint8_t {
  kHot = 0,        // *event is whole
  kOther = 1,      // well-formed as far as read, but another kind: ParseEvent. *event holds nothing of use
  kMalformed = 2,  // no Envelope: UNDECODABLE
};

// About 100 ns. Accepts fields in any order, repeated ones (the last wins) and unknown ones, as generated
// code does.
HotDecode DecodeHot(std::string_view bytes, HotEvent* event);

// Any kind. An envelope without an event that this build knows gives a body of monostate. InvalidArgument,
// naming what was read, if the bytes are no Envelope.
Result<Event> ParseEvent(std::string_view bytes);

// Kind alone, without looking into the event; absent where the bytes are no Envelope.
std::optional<EventKind> PeekKind(std::string_view bytes);

// Envelope.time, UNIX s, 0 where it is left out; absent where the bytes are no Envelope.
std::optional<double> PeekEventTime(std::string_view bytes);

// What a kind is partitioned by (semantics, section 2, 'key').
enum class KeyKind : std::uint8_t {
  kNone = 0,       // no event, or its target is missing: any partition will refuse it
  kBroadcast = 1,  // to the coordinator, which relays it to every partition
  kHost = 2,
  kUser = 3,
  kTeam = 4,
  kOwner = 5,    // of a ledger's entry: its user, or the complement of its host where that is nobody's
  kMachine = 6,  // of an account manager, whatever the project
};

struct Routing {
  EventKind kind = EventKind::kNone;
  ProjectId project;
  KeyKind key = KeyKind::kNone;
  std::uint64_t id = 0;  // of the key; 0 for none and broadcast

  friend bool operator==(const Routing&, const Routing&) = default;
};

// Where an event belongs, from its bytes, without decoding the rest. Host: completion, validation, dispatch,
// trickle, host, host merge (the one that ends), host that is asked about, opening of a host or of its versions. User and team:
// their members and openings. Account facts: the account. Machine: estimated credit, hosts of machines. Owner: reversal,
// re-pricing. Broadcast: the catalogue, ticks, barriers, profile and name of the project, opening of an app or app version; a mark
// that comes from outside, to be refused. Absent where the bytes are no Envelope.
std::optional<Routing> PeekRouting(std::string_view bytes);

// Encoders append to `out` and write the bytes that generated code would.
void EncodeCompletion(const EventHead& head, const credit::CompletionFacts& facts,
                      std::span<const DeviceUsage> usage, std::string* out);
void EncodeValidation(const EventHead& head, const credit::ValidationFacts& facts, std::string* out);
// Any kind, hot ones too.
std::string EncodeEvent(const Event& event);

}  // namespace cobblestone::wire
