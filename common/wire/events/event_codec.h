// Envelope bytes <-> events. Completions and validations, one each per result, and accounts of a hub's feeds are
// decoded and encoded by hand; all other kinds use generated code. Decoding determines whether bytes are an
// Envelope; CheckEvent (event_check.h) determines whether the event is valid.
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

// A completion or a validation. Reuse the object from record to record.
struct HotEvent {
  // After kHot: kCompletion or kValidation, which selects the valid member.
  EventKind kind = EventKind::kNone;
  EventHead head;
  credit::CompletionFacts completion;
  credit::ValidationFacts validation;  // line stays 0: the stage that joins sets it
};

enum class HotDecode : std::uint8_t {
  kHot = 0,  // *event is complete
  // Well-formed as far as read, but another kind: use ParseEvent. *event is meaningless.
  kOther = 1,
  kMalformed = 2,  // not an Envelope: UNDECODABLE
};

// Takes about 100 ns. Accepts fields in any order, repeated fields (the last wins) and unknown fields, as
// generated code does.
HotDecode DecodeHot(std::string_view bytes, HotEvent* event);

// Any kind. An envelope without an event that this build knows gives a body of monostate. kInvalidArgument,
// with what was read, if the bytes are not an Envelope.
Result<Event> ParseEvent(std::string_view bytes);

// The kind without decoding the event; absent if the bytes are not an Envelope.
std::optional<EventKind> PeekKind(std::string_view bytes);

// Envelope.time, UNIX s, 0 if omitted; absent if the bytes are not an Envelope.
std::optional<double> PeekEventTime(std::string_view bytes);

// The partition key of a kind; schemas/README.md names it in the table of each message.
enum class KeyKind : std::uint8_t {
  kNone = 0,       // no event, or its target is missing: every partition refuses it
  kBroadcast = 1,  // to the coordinator, which relays it to every partition
  kHost = 2,
  kUser = 3,
  kTeam = 4,
  // Owner of a ledger entry: its user, or the complement of its host if the host has no owner.
  kOwner = 5,
  kMachine = 6,  // of an account manager, independent of the project
};

struct Routing {
  EventKind kind = EventKind::kNone;
  ProjectId project;
  KeyKind key = KeyKind::kNone;
  std::uint64_t id = 0;  // of the key; 0 for none and broadcast

  friend bool operator==(const Routing&, const Routing&) = default;
};

// The topic key of an event, from its bytes, without decoding the rest. Absent if the bytes are not an
// Envelope.
// Host: completion, validation, dispatch, trickle, host, host merge (the host that ends), HostAsked,
// HeldResult, HandedEvent, DecidedResult, reversal and repricing of a running job, opening of a host's
// versions.
// User, team: their members. The account: account facts, opening totals. Machine: estimated credit, hosts of
// machines. Owner: reversal, repricing.
// Broadcast: everything else (catalogue, ticks, barriers, profile and name of the project, openings of apps
// and app versions), and a watermark from outside, which will be refused.
std::optional<Routing> PeekRouting(std::string_view bytes);

// Encoders append to `out` and write the same bytes as generated code.
void EncodeCompletion(const EventHead& head, const credit::CompletionFacts& facts,
                      std::span<const DeviceUsage> usage, std::string* out);
void EncodeValidation(const EventHead& head, const credit::ValidationFacts& facts, std::string* out);
// Any kind, including completions and validations.
std::string EncodeEvent(const Event& event);

}  // namespace cobblestone::wire
