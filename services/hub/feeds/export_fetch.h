// Fetches one export of a project: tables.xml, the files of users, hosts and teams, and tables.xml again. A server
// publishes an export with two renames of a directory, so between two requests the directory can be gone, or another
// one. File and tables belong together if tables.xml is the same before and behind the files (JudgeFile).
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "services/hub/feeds/feed_folder.h"
#include "services/hub/feeds/fetcher.h"
#include "services/hub/feeds/statistics_reader.h"
#include "services/hub/feeds/tables_file.h"

namespace cobblestone::hub {

struct ExportRequest {
  std::string base_url{};  // of the directory, with or without a slash at its end: https://example.org/stats/
  std::vector<RecordKind> kinds = {RecordKind::kUser, RecordKind::kTeam, RecordKind::kHost};
  const FetchCredentials* credentials = nullptr;
  double now = 0;  // UNIX s
  // The update_time of an export that the caller has imported: with it in tables.xml nothing else is fetched. 0: none.
  std::uint64_t imported = 0;
  // Without ETag and date. A fetch that is to confirm a held file must be one, since a 304 is no second transfer.
  bool in_full = false;
};

struct FetchedKind {
  RecordKind kind{};
  // In the folder, in the order to read them; several for a set with numbers (user_0.gz, user_1.gz, ...). Empty: failed.
  std::vector<std::string> names{};
  bool changed = false;  // at least one was not a copy that is still current
  FetchFailure failure = FetchFailure::kNone;
  std::string text{};
  std::string cause{};  // as ExportFetch::cause
};

struct ExportFetch {
  // Of tables.xml; with a failure other than kMissing nothing else was fetched.
  FetchFailure failure = FetchFailure::kNone;
  FileProblem problem = FileProblem::kNone;  // of tables.xml that was fetched and cannot be read
  std::string text{};
  // For everybody, without the URL: "tables.xml (server_error): the server answered 503". Printable ASCII, at most 300 bytes.
  std::string cause{};
  std::optional<TablesFile> before{};
  std::optional<TablesFile> after{};
  std::vector<FetchedKind> kinds{};
  bool imported = false;      // tables.xml is that of ExportRequest::imported
  std::string moved_to{};     // of tables.xml; empty: it has not moved
  std::string retry_after{};  // of the last failure

  // Whether nothing failed, for FetchHistory.
  [[nodiscard]] bool ok() const;
};

// Names are tried in this order, the one that was there last first: user.gz, user_id.gz, user.xml.gz, user.xml, user,
// user.zst, user_0.gz and so on.
ExportFetch FetchExport(Fetcher& fetcher, FeedFolder& folder, const ExportRequest& request,
                        const FetchLimits& limits, const std::stop_token& stop = {});

// The names of a kind, without the numbered ones.
std::vector<std::string> NamesOfKind(RecordKind kind);

}  // namespace cobblestone::hub
