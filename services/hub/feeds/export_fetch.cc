#include "services/hub/feeds/export_fetch.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>
#include <variant>

#include "services/hub/feeds/document.h"
#include "services/hub/feeds/file_problem.h"

namespace cobblestone::hub {
namespace {

constexpr const char* kTablesName = "tables.xml";
constexpr int kMostNumbered = 10000;
constexpr std::size_t kLongestCause = 240;  // bytes, without the name
constexpr std::string_view kNoConditions = "the server answered 304 to a request without conditions";
constexpr std::string_view kUnstored = "the collector cannot store the file";

std::string CauseOf(const std::string& name, FetchFailure failure, std::string_view what) {
  return name + " (" + std::string(FetchFailureName(failure)) + "): " + Printable(what, kLongestCause);
}

class ExportFetcher {
 public:
  ExportFetcher(Fetcher& fetcher, FeedFolder& folder, const ExportRequest& request, const FetchLimits& limits,
                std::stop_token stop)
      : fetcher_(fetcher), folder_(folder), request_(request), limits_(limits), stop_(std::move(stop)) {
    base_ = request.base_url.ends_with('/') ? request.base_url : request.base_url + "/";
  }

  ExportFetch Fetch() {
    export_.before = FetchTables();
    if (export_.failure != FetchFailure::kNone && export_.failure != FetchFailure::kMissing)
      return std::move(export_);
    if (export_.before && export_.before->update_time == request_.imported) {
      export_.imported = true;
      return std::move(export_);
    }
    // An export takes effect as a whole, so one file that cannot be fetched says all.
    for (const RecordKind kind : request_.kinds) {
      export_.kinds.push_back(FetchKind(kind));
      const FetchFailure failure = export_.kinds.back().failure;
      if (failure != FetchFailure::kNone && failure != FetchFailure::kMissing) return std::move(export_);
    }
    if (export_.before) export_.after = FetchTables();
    return std::move(export_);
  }

 private:
  std::optional<TablesFile> FetchTables() {
    const std::string path = folder_.PartPathOf(kTablesName);
    const FetchResult result = Fetch(
        {.url = base_ + kTablesName, .path = path, .credentials = request_.credentials}, kLargestDocument);
    if (!result.moved_to.empty()) export_.moved_to = result.moved_to;
    if (result.outcome != FetchOutcome::kFetched) {
      export_.failure = result.outcome == FetchOutcome::kNotModified ? FetchFailure::kNotModifiedWithoutCopy
                                                                     : result.failure;
      export_.text = result.text;
      export_.cause = CauseOf(kTablesName, export_.failure,
                              result.outcome == FetchOutcome::kNotModified ? kNoConditions : result.cause);
      export_.retry_after = result.retry_after;
      return std::nullopt;
    }
    auto parsed = ParseTables(DocumentBytes(path), kTablesName);
    if (const auto* const refusal = std::get_if<FileRefusal>(&parsed)) {
      export_.failure = FetchFailure::kForeign;
      export_.problem = refusal->problem;
      export_.text = refusal->Text();
      export_.cause = CauseOf(kTablesName, export_.failure, FileProblemText(refusal->problem));
      return std::nullopt;
    }
    const Status stored = folder_.Store(
        kTablesName, {.url = base_ + kTablesName, .bytes = result.bytes, .fetched = request_.now});
    if (!stored.ok()) {
      export_.failure = FetchFailure::kDisk;
      export_.text = stored.message();
      export_.cause = CauseOf(kTablesName, export_.failure, kUnstored);
    }
    return std::get<TablesFile>(std::move(parsed));
  }

  FetchedKind FetchKind(RecordKind kind) {
    FetchedKind fetched{.kind = kind};
    std::vector<std::string> names = NamesOfKind(kind);
    std::stable_partition(names.begin(), names.end(),
                          [this](const std::string& name) { return folder_.Find(name).has_value(); });
    for (const std::string& name : names)
      if (FetchName(name, &fetched)) return fetched;
    FetchNumbered(&fetched);
    return fetched;
  }

  void FetchNumbered(FetchedKind* fetched) {
    for (int number = 0; number < kMostNumbered; ++number) {
      const std::string name =
          std::string(RecordKindName(fetched->kind)) + "_" + std::to_string(number) + ".gz";
      if (!FetchName(name, fetched)) break;
      if (fetched->failure != FetchFailure::kNone) break;
    }
    if (fetched->failure == FetchFailure::kMissing && !fetched->names.empty()) {
      fetched->failure = FetchFailure::kNone;
      fetched->text.clear();
      fetched->cause.clear();
    }
    if (fetched->failure == FetchFailure::kMissing) NameMissing(fetched);
    if (fetched->failure != FetchFailure::kNone) fetched->names.clear();
  }

  // The server has none of the names, so the last one that was tried means nothing to an operator.
  void NameMissing(FetchedKind* fetched) {
    std::string others;
    const std::vector<std::string> names = NamesOfKind(fetched->kind);
    for (std::size_t i = 1; i < names.size(); ++i) others += (i == 1 ? "" : ", ") + names[i];
    const std::string what = "the server has neither it nor one of its other names (" + others + ", " +
                             std::string(RecordKindName(fetched->kind)) + "_0.gz)";
    fetched->text = UrlForMessages(base_ + names[0]) + ": " + what;
    fetched->cause = CauseOf(names[0], FetchFailure::kMissing, what);
  }

  // False: there is no such file, so another name may be the right one.
  bool FetchName(const std::string& name, FetchedKind* fetched) {
    const std::optional<StoredFile> copy = folder_.Find(name);
    FetchResult result = FetchOnce(name, copy);
    // A copy that vanished meanwhile, or a cache that answers 304 to a request without conditions.
    if (result.outcome == FetchOutcome::kNotModified && !(copy && folder_.Find(name)))
      result = FetchOnce(name, std::nullopt);
    if (result.outcome == FetchOutcome::kFetched) {
      const Status stored = folder_.Store(name, {.url = base_ + name,
                                                 .etag = result.etag,
                                                 .last_modified = result.last_modified,
                                                 .bytes = result.bytes,
                                                 .fetched = request_.now});
      if (!stored.ok()) {
        result.outcome = FetchOutcome::kFailed;
        result.failure = FetchFailure::kDisk;
        result.text = stored.message();
        result.cause = kUnstored;
      }
      fetched->changed = true;
    } else if (result.outcome == FetchOutcome::kNotModified && !folder_.Find(name)) {
      result.outcome = FetchOutcome::kFailed;
      result.failure = FetchFailure::kNotModifiedWithoutCopy;
      result.text += ": " + std::string(kNoConditions);
      result.cause = kNoConditions;
    }
    fetched->failure = result.failure;
    if (result.outcome == FetchOutcome::kFailed) {
      fetched->text = result.text;
      fetched->cause = CauseOf(name, result.failure, result.cause);
      export_.retry_after = result.retry_after;
      if (result.failure != FetchFailure::kMissing) fetched->names.clear();
      return result.failure != FetchFailure::kMissing;
    }
    fetched->names.push_back(name);
    fetched->text.clear();
    fetched->cause.clear();
    return true;
  }

  FetchResult FetchOnce(const std::string& name, const std::optional<StoredFile>& copy) {
    FetchRequest request{
        .url = base_ + name, .path = folder_.PartPathOf(name), .credentials = request_.credentials};
    if (copy && copy->url == request.url && !request_.in_full) {
      request.etag = copy->etag;
      request.last_modified = copy->last_modified;
    }
    return Fetch(request, limits_.largest);
  }

  // One file after the other, the files of an export have the time and the bytes of one fetch: a server that has each
  // numbered file, or is as slow as it may be with each name, holds up no other project for longer.
  FetchResult Fetch(const FetchRequest& request, std::uint64_t largest) {
    using std::chrono::milliseconds;
    const auto spent =
        std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begun_).count();
    FetchLimits rest = limits_;
    rest.largest = std::min(largest, limits_.largest - std::min(bytes_, limits_.largest));
    rest.total_ms = limits_.total_ms - static_cast<long>(spent);
    if (rest.total_ms <= 0 || rest.largest == 0) {
      const bool late = rest.total_ms <= 0;
      const std::string cause = "not fetched, because the earlier files of this export have used up the " +
                                std::string(late ? "time" : "size") + " limit of a fetch";
      return {.failure = late ? FetchFailure::kTimeout : FetchFailure::kTooLarge,
              .text = UrlForMessages(request.url) + ": " + cause,
              .cause = cause};
    }
    FetchResult result = fetcher_.Fetch(request, rest, stop_);
    bytes_ += result.bytes;
    return result;
  }

  Fetcher& fetcher_;
  FeedFolder& folder_;
  const ExportRequest& request_;
  const FetchLimits& limits_;
  std::stop_token stop_;
  std::string base_;
  ExportFetch export_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::uint64_t bytes_ = 0;  // of all files so far
};

}  // namespace

bool ExportFetch::ok() const {
  return failure == FetchFailure::kNone &&
         std::all_of(kinds.begin(), kinds.end(),
                     [](const FetchedKind& kind) { return kind.failure == FetchFailure::kNone; });
}

std::vector<std::string> NamesOfKind(RecordKind kind) {
  std::vector<std::string> names;
  for (const char* ending : {".gz", "_id.gz", ".xml.gz", ".xml", "", ".zst"})
    names.push_back(std::string(RecordKindName(kind)) + ending);
  return names;
}

ExportFetch FetchExport(Fetcher& fetcher, FeedFolder& folder, const ExportRequest& request,
                        const FetchLimits& limits, const std::stop_token& stop) {
  return ExportFetcher(fetcher, folder, request, limits, stop).Fetch();
}

}  // namespace cobblestone::hub
