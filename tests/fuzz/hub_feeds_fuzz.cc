// Reads any bytes as each kind of file and answer of another project. Whatever they are, a file is accepted only if all
// of its records can be read, and its sums are those of its records.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "services/hub/feeds/app_versions.h"
#include "services/hub/feeds/project_health.h"
#include "services/hub/feeds/statistics_reader.h"
#include "services/hub/feeds/tables_file.h"

using namespace cobblestone;

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

bool ReadFields(hub::StatisticsReader& reader, hub::RecordKind kind, const hub::StatisticsRecord& record) {
  hub::UserFields user;
  hub::HostFields host;
  hub::TeamFields team;
  switch (kind) {
    case hub::RecordKind::kUser: {
      if (!reader.ReadUser(record, &user)) return false;
      hub::ToUtf8(hub::TextBytes(user.name), reader.texts().Decide());
      return user.id == record.id && user.total_credit == record.total_credit;
    }
    case hub::RecordKind::kHost: return reader.ReadHost(record, &host);
    case hub::RecordKind::kTeam: return reader.ReadTeam(record, &team);
  }
  return false;
}

void ReadFile(hub::RecordKind kind, std::string_view bytes) {
  hub::ReaderLimits limits;
  limits.longest_record = 2048;
  limits.input.largest = 4u << 20;
  const auto reader = hub::StatisticsReader::OverBytes(kind, bytes, "fuzz", limits);
  credit::MicroTotal sum = 0;
  std::uint64_t records = 0;
  std::uint64_t line = 0;
  bool whole = true;
  for (hub::StatisticsRecord record; reader->Next(&record);) {
    Require(record.id != 0 && record.total_credit.micro >= 0 && record.line > line);
    line = record.line;
    whole = ReadFields(*reader, kind, record) && whole;
    if (record.repeated) continue;
    ++records;
    sum += record.total_credit.micro;
  }
  Require(whole || !reader->accepted());
  Require(reader->accepted() == reader->refusals().empty());
  for (const hub::FileRefusal& refusal : reader->refusals())
    for (const char c : refusal.Text()) Require(c >= 32 && c < 127);
  Require(reader->summary().records == records && reader->summary().total_credit == sum);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 7) {
    case 0: ReadFile(hub::RecordKind::kUser, bytes); break;
    case 1: ReadFile(hub::RecordKind::kHost, bytes); break;
    case 2: ReadFile(hub::RecordKind::kTeam, bytes); break;
    case 3: static_cast<void>(hub::ParseTables(bytes, "fuzz")); break;
    case 4: static_cast<void>(hub::ParseAppVersions(bytes, "fuzz")); break;
    case 5: static_cast<void>(hub::ParseServerStatus(bytes, "fuzz")); break;
    case 6: static_cast<void>(hub::ParseProjectConfig(bytes, "fuzz")); break;
  }
  return 0;
}
