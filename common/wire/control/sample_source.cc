#include "common/wire/control/sample_source.h"

#include "common/wire/proto_reader.h"
#include "common/wire/proto_writer.h"

namespace cobblestone::wire {

void AppendSampleSource(std::uint32_t partition, std::uint64_t passed_watermark, std::string* out) {
  char bytes[2 * kMaxScalarField];
  ProtoWriter writer(bytes);
  writer.Uint(3, partition);
  writer.Uint(5, passed_watermark);
  out->append(bytes, writer.size());
}

bool DecodeSampleSource(std::string_view bytes, SampleSource* source) {
  *source = SampleSource{};
  ProtoReader reader(bytes);
  while (const std::uint32_t tag = reader.NextTag()) {
    switch (tag) {
      case VarintTag(1): source->project = ProjectId(reader.Uint32()); break;
      case VarintTag(3): source->partition = reader.Uint32(); break;
      case VarintTag(5): source->passed_watermark = reader.Varint(); break;
      default: reader.Skip(tag);
    }
  }
  return reader.ok();
}

}  // namespace cobblestone::wire
