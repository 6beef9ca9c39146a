#include "services/stage/relay.h"

#include "common/wire/control/control_codec.h"
#include "common/wire/events/event_codec.h"

namespace cobblestone::stage {

void Relay::Send(std::string_view record, stream::Emitter& out) const {
  for (std::uint32_t p = 0; p < partitions_; ++p) out.Emit(wire::kControl, p, record);
}

std::uint64_t Relay::SendWatermark(stream::Watermark watermark, stream::Emitter& out) {
  watermark.number = NextNumber();
  ++rows_.Mutable({}).watermarks;
  bytes_.clear();
  wire::EncodeControlWatermark(
      {.project = watermark.project, .sequence = 0, .line = 0, .number = watermark.number}, watermark,
      &bytes_);
  Send(bytes_, out);
  const std::string in_line = wire::EncodeEvent(
      {.head = {.id = 0, .project = watermark.project, .time = watermark.time}, .body = watermark});
  for (const wire::Topic topic : topics_)
    for (std::uint32_t p = 0; p < partitions_; ++p) out.Emit(topic, p, in_line);
  return watermark.number;
}

std::uint64_t Relay::watermarks() {
  const RelayState* row = rows_.Find({});
  return row == nullptr ? 0 : row->watermarks;
}

}  // namespace cobblestone::stage
