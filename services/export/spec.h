// The spec file of an export, BOINC's db_dump.xml: which tables go out, in which files, order and compression.
// Rules: tests/golden/export/README.md, 'Files and names', 'Order'.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace cobblestone::statistics {

enum class Table { kUser, kTeam, kHost, kUserDeleted, kHostDeleted };
enum class Sort { kNone, kId, kTotalCredit, kExpavgCredit };
enum class Compression { kNone, kGzip, kZip };

struct Output {
  std::uint64_t recs_per_file =
      0;  // 0: one file for all. Takes effect with Sort::kId only; otherwise nothing is written
  Compression compression = Compression::kNone;
  bool detail = false;
};

struct Enumeration {
  Table table = Table::kUser;
  std::string filename;  // without the compression's ending
  Sort sort = Sort::kNone;
  std::vector<Output> outputs;
};

struct Spec {
  std::string text;  // the file as it is: a copy of it is published
  std::string output_dir;
  std::string final_output_dir;
  std::string archive_dir;
  std::vector<Enumeration> enumerations;
  // What is not an error upstream either: an unknown compression stands for none.
  std::vector<std::string> warnings;
};

// `name` is the file's, for messages. InvalidArgument names it, the line, and what may stand there.
Result<Spec> ParseSpec(std::string_view text, const std::string& name);
// NotFound where there is no such file.
Result<Spec> LoadSpec(const std::string& path);

// "user"
std::string_view NameOf(Table table);
// "", ".gz", ".zip"
std::string_view EndingOf(Compression compression);

}  // namespace cobblestone::statistics
