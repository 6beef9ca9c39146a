#include "common/wire/json_lines.h"

#include <google/protobuf/util/json_util.h>

#include <limits>

#include "schemas/events.pb.h"

namespace cobblestone::wire {
namespace {

// Long lines are named by their beginning.
std::string Shortened(std::string_view line) {
  constexpr std::size_t kShown = 80;
  return line.size() <= kShown ? std::string(line) : std::string(line.substr(0, kShown)) + "...";
}

}  // namespace

Result<std::string> EnvelopeFromJson(std::string_view line) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = false;
  options.case_insensitive_enum_parsing = false;
  v1::Envelope envelope;
  const auto parsed =
      google::protobuf::util::JsonStringToMessage({line.data(), line.size()}, &envelope, options);
  if (!parsed.ok()) {
    // Behind the first line it draws where it is, for a terminal.
    const std::string why(parsed.message().data(), parsed.message().size());
    return Status::InvalidArgument("not an event in JSON: " + why.substr(0, why.find('\n')) +
                                   " in: " + Shortened(line));
  }
  return envelope.SerializeAsString();
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
