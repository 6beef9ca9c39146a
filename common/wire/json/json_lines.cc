#include "common/wire/json/json_lines.h"

#include <google/protobuf/util/json_util.h>

#include <limits>
#include <utility>

#include "common/wire/json/json_fast_path.h"
#include "common/wire/json/json_lines_generic.h"
#include "schemas/events.pb.h"

namespace cobblestone::wire {

JsonEventReader::JsonEventReader() : fast_path_(std::make_unique<JsonFastPath>()) {}
JsonEventReader::~JsonEventReader() = default;

Status JsonEventReader::Read(std::string_view line, std::string* envelope) {
  if (fast_path_->Read(line, envelope)) {
    ++fast_lines_;
    return Status::Ok();
  }
  ++generic_lines_;
  auto generic = EnvelopeFromJsonGeneric(line);
  if (!generic.ok()) {
    envelope->clear();
    return generic.status();
  }
  *envelope = std::move(*generic);
  return Status::Ok();
}

Result<std::string> EnvelopeFromJson(std::string_view line) {
  thread_local JsonEventReader reader;
  std::string envelope;
  if (Status s = reader.Read(line, &envelope); !s.ok()) return s;
  return envelope;
}

Result<std::string> EnvelopeToJson(std::string_view bytes) {
  v1::Envelope envelope;
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !envelope.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Status::InvalidArgument("not an Envelope: " + std::to_string(bytes.size()) + " bytes");
  }
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string line;
  const auto printed = google::protobuf::util::MessageToJsonString(envelope, &line, options);
  if (!printed.ok()) {
    const auto why = printed.message();
    return Status::InvalidArgument("not printable as JSON: " + std::string(why.data(), why.size()));
  }
  return line;
}

}  // namespace cobblestone::wire
