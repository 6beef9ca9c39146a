// Codec of the event `feed_account`, of which a federation hub imports millions at a time. Writes the bytes of generated code,
// and reads without its intermediate message.
#pragma once

#include <string>
#include <string_view>

#include "common/wire/events/events.h"

namespace cobblestone::wire {

// Appends to `out`.
void EncodeFeedAccount(const EventHead& head, const FeedAccount& account, std::string* out);

// Reads an Envelope with one `feed_account`, whose texts are ASCII and which has no corrections: nearly all. False: other
// bytes, for ParseEvent(); *head and *account are then without meaning. Reuse *account from event to event.
bool DecodeFeedAccount(std::string_view bytes, EventHead* head, FeedAccount* account);

}  // namespace cobblestone::wire
