#include "common/wire/events/facts.h"

#include <string>

#include "common/stream/hash128.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/proto_reader.h"

namespace cobblestone::wire {
namespace {

constexpr char kIdTagByte = static_cast<char>(VarintTag(1));

// `room` holds the result if the id is not the first field, which is rare.
std::string_view WithoutId(std::string_view event, std::string* room) {
  if (!event.empty() && event.front() == kIdTagByte) {
    std::size_t at = 1;
    while (at < event.size() && (static_cast<unsigned char>(event[at]) & 0x80) != 0) ++at;
    return at < event.size() ? event.substr(at + 1) : event;
  }
  auto parsed = ParseEvent(event);
  if (!parsed.ok()) return event;
  parsed->head.id = 0;
  *room = EncodeEvent(*parsed);
  return *room;
}

}  // namespace

bool SameFacts(std::string_view one, std::string_view other) {
  if (one == other) return true;
  std::string room;
  std::string other_room;
  return WithoutId(one, &room) == WithoutId(other, &other_room);
}

std::uint32_t HashOfFacts(std::string_view event) {
  std::string room;
  return static_cast<std::uint32_t>(stream::HashBytes(WithoutId(event, &room)).low);
}

}  // namespace cobblestone::wire
