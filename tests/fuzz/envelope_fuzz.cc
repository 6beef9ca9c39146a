// Reads any bytes as an Envelope with the hot decoder, the general decoder, routing and checks. The general
// decoder must accept each event that the hot decoder accepts, with the same kind and id. An accepted event or
// claim must survive a round trip.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/wire/control/control_codec.h"
#include "common/wire/control/topics.h"
#include "common/wire/events/event_check.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/claim_codec.h"
#include "common/wire/ledger/grant_codec.h"

using namespace cobblestone;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  wire::HotEvent hot;
  const wire::HotDecode decoded = wire::DecodeHot(bytes, &hot);
  const auto event = wire::ParseEvent(bytes);
  if (decoded == wire::HotDecode::kHot) {
    if (!event.ok() || event->kind() != hot.kind || event->head.id != hot.head.id) std::abort();
    (void)wire::CheckEvent(hot);
  }
  (void)wire::PeekKind(bytes);
  (void)wire::PeekEventTime(bytes);
  const auto where = wire::RouteEvent(bytes, 8);
  if (where.topic >= wire::kTopicCount || where.partition >= 8) std::abort();
  if (event.ok()) {
    (void)wire::CheckEvent(*event);
    const std::string once = wire::EncodeEvent(*event);
    const auto again = wire::ParseEvent(once);
    if (!again.ok() || wire::EncodeEvent(*again) != once) std::abort();
  }
  credit::Claim claim;
  if (wire::DecodeClaim(bytes, &claim)) {
    std::string written;
    wire::EncodeClaim(claim, &written);
    if (!wire::DecodeClaim(written, &claim)) std::abort();
  }
  wire::Grant grant;
  wire::GrantHead head;
  if (wire::DecodeGrant(bytes, &grant)) (void)wire::DecodeGrantHead(bytes, &head);
  wire::ControlView control;
  (void)wire::DecodeControl(bytes, &control);
  return 0;
}
