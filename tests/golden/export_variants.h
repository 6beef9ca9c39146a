// The golden variants of BOINC's statistics files: exported from rows of any source, and compared file by file.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "services/export/settings.h"
#include "services/export/source.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::statistics {

std::string Data(const std::string& name);
std::string Bytes(const std::string& path);
// Reads a file with zlib or libzip, not with the export's own reader.
std::string Content(const std::string& path);
// The head, the records and the rest of a file, sorted, for files without a defined order.
std::vector<std::string> RecordsOf(const std::string& content);

struct Published {
  testing::TempDir dir;
  std::string out = dir / "stats";
};

// Opens the rows of a file of entities, in the way of the test; null after a failure. The rows live until the
// variant is written.
using OpenRows = std::function<std::unique_ptr<exports::Source>(const std::string& entities,
                                                                const exports::Settings& settings)>;

// Writes the variant like the program does, with the variant's settings.
void WriteVariant(const std::string& variant, const std::string& spec_path, const OpenRows& open,
                  Published& run);
// Expects that every file of the variant is equal.
void ExpectVariant(const std::string& variant, const OpenRows& open);

// All variants except f_zip, in which upstream failed.
inline constexpr const char* kVariants[] = {"a_default",
                                            "b_sort_total_credit",
                                            "b2_sort_expavg_credit",
                                            "c_sort_id_recs10",
                                            "c2_two_outputs",
                                            "d_consent",
                                            "d2_consent_sort_id",
                                            "e_credit_by_app",
                                            "e2_flags_off",
                                            "f_none",
                                            "g_team_detail",
                                            "i_empty"};

}  // namespace cobblestone::statistics
