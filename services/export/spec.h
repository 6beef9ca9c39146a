// The spec file of an export, BOINC's db_dump.xml: exported tables, their files, order and compression. Rules:
// tests/golden/export/README.md, 'Files and names', 'Order'.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace cobblestone::exports {

enum class Table { kUser, kTeam, kHost, kUserDeleted, kHostDeleted };
enum class Sort { kNone, kId, kTotalCredit, kExpavgCredit };
enum class Compression { kNone, kGzip, kZip };

struct Output {
  // 0: one file for all records. Has an effect with Sort::kId only; with another order nothing is written.
  std::uint64_t recs_per_file = 0;
  Compression compression = Compression::kNone;
  bool detail = false;
};

struct Enumeration {
  Table table = Table::kUser;
  std::string filename;  // without the extension of the compression
  Sort sort = Sort::kNone;
  std::vector<Output> outputs;
};

struct Spec {
  std::string text;  // the unchanged file; a copy is published
  std::string output_dir;
  std::string final_output_dir;
  std::string archive_dir;
  std::vector<Enumeration> enumerations;
  // Problems that are not errors upstream either: an unknown compression means none.
  std::vector<std::string> warnings;
};

// `name`: name of the file, for messages. InvalidArgument names the file, the line, and the valid values.
Result<Spec> ParseSpec(std::string_view text, const std::string& name);
// NotFound: the file does not exist.
Result<Spec> LoadSpec(const std::string& path);

// "user"
std::string_view NameOf(Table table);
// "", ".gz", ".zip"
std::string_view EndingOf(Compression compression);

}  // namespace cobblestone::exports
