// Reads any text as a file in the golden format, line by line. The result is an error or events.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/boinc/golden_format.h"

using namespace cobblestone;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  boinc::GoldenReader reader({});
  std::vector<boinc::GoldenItem> items;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() < rest.size() ? line.size() + 1 : rest.size());
    (void)boinc::IsGoldenFormat(line);
    if (!reader.ReadLine(line, &items).ok()) return 0;
    items.clear();
  }
  return 0;
}
