// Reads any text as stored trickle messages and as one message body. The result is an error, or finite numbers of
// at least 0.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "services/boinc/trickle_event.h"
#include "services/boinc/trickle_rows.h"
#include "services/boinc/trickle_xml.h"

using namespace cobblestone;

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void RequireValidNumber(const std::optional<double>& number) {
  if (number) Require(std::isfinite(*number) && *number >= 0);
}

void ReadAsEvent(const boinc::TrickleMessageRow& row) {
  using Field = boinc::TrickleField;
  static const boinc::TrickleFormat kFormat{
      .app = AppId(1), .elements = {{"runtime", Field::kElapsedTime}, {"progress", Field::kPercentDone}}};
  const auto named = boinc::TrickleOf(row, kFormat, "input");
  if (!named.ok()) return Require(!named.status().message().empty());
  Require(named->trickle.result || !named->trickle.result_name.empty());
  for (const auto& number : {named->trickle.elapsed_time, named->trickle.cpu_time, named->trickle.steps,
                             named->trickle.fraction_done, named->trickle.runtime_increment}) {
    RequireValidNumber(number);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto body = boinc::ParseTrickleBody(input, "input");
  if (body.ok()) {
    RequireValidNumber(body->client_time);
    RequireValidNumber(body->timestep);
    RequireValidNumber(body->run_time);
  }
  boinc::TrickleRowReader reader("input");
  std::vector<boinc::TrickleMessageRow> rows;
  std::string_view rest = input;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() < rest.size() ? line.size() + 1 : rest.size());
    if (!reader.ReadLine(line, &rows).ok()) return 0;
    for (const boinc::TrickleMessageRow& row : rows) ReadAsEvent(row);
  }
  if (!reader.Finish(&rows).ok()) return 0;
  for (const boinc::TrickleMessageRow& row : rows) ReadAsEvent(row);
  return 0;
}
