#include "common/wire/json/json_lines_generic.h"

#include <google/protobuf/util/json_util.h>

#include "schemas/events.pb.h"

namespace cobblestone::wire {
namespace {

// The library's message in one line, without the contents of the input line: the message goes to logs and
// into `refused`, which is kept forever, and the line may contain personal data. Values are in quotes and are
// removed; an unknown field has no quotes and stays if it looks like a name.
std::string WithoutContents(std::string why) {
  why = why.substr(0, why.find('\n'));  // the rest shows the position in the line
  if (const std::size_t quote = why.find('"'); quote != std::string::npos) {
    const std::size_t end = why.rfind('"');
    why = why.substr(0, quote) + "(a text)" + (end > quote ? why.substr(end + 1) : std::string());
  }
  constexpr std::string_view kNoField = ": Cannot find field.";
  constexpr std::size_t kLongestName = 40;
  if (why.ends_with(kNoField)) {
    const std::string_view head = std::string_view(why).substr(0, why.size() - kNoField.size());
    const std::size_t place_end = head.starts_with('(') ? head.find(") ") : std::string_view::npos;
    const std::string_view name = place_end == std::string_view::npos ? head : head.substr(place_end + 2);
    const bool is_name =
        name.size() <= kLongestName &&
        name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
            std::string_view::npos;
    if (!is_name) why = "a field that the schema does not have";
  }
  return why;
}

}  // namespace

Result<std::string> EnvelopeFromJsonGeneric(std::string_view line) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = false;
  options.case_insensitive_enum_parsing = false;
  v1::Envelope envelope;
  const auto parsed =
      google::protobuf::util::JsonStringToMessage({line.data(), line.size()}, &envelope, options);
  if (!parsed.ok()) {
    const std::string why(parsed.message().data(), parsed.message().size());
    return Status::InvalidArgument("not an event in JSON: " + WithoutContents(why));
  }
  return envelope.SerializeAsString();
}

}  // namespace cobblestone::wire
