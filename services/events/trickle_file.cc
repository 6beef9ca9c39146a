#include "services/events/trickle_file.h"

#include <cstdio>
#include <filesystem>
#include <string_view>
#include <utility>

#include "common/settings/trickle_formats.h"
#include "common/wire/events/event_codec.h"
#include "services/boinc/trickle_rows.h"

namespace cobblestone::events {
namespace {

// The row in the format of message bodies, so that a refused one can be corrected and sent again.
std::string AsMessage(const boinc::TrickleMessageRow& row) {
  std::string variety;
  for (const char c : row.variety) {
    switch (c) {
      case '&': variety += "&amp;"; break;
      case '<': variety += "&lt;"; break;
      case '>': variety += "&gt;"; break;
      case '"': variety += "&quot;"; break;
      default: variety += c;
    }
  }
  char time[40];
  std::snprintf(time, sizeof time, "%.17g", row.create_time);
  return "<msg_from_host id=\"" + std::to_string(row.id) + "\" create_time=\"" + time + "\" hostid=\"" +
         std::to_string(row.host.value) + "\" variety=\"" + variety + "\">\n" + row.xml +
         "\n</msg_from_host>";
}

}  // namespace

Result<TrickleFormats> TrickleFormats::Load(const std::string& path) {
  std::set<std::string> measures;
  for (const std::string_view name : boinc::TrickleFieldNames()) measures.emplace(name);
  auto loaded = settings::LoadTrickleFormats(path, measures);
  if (!loaded.ok()) return loaded.status();
  TrickleFormats formats;
  formats.path_ = path;
  formats.ignored_ = std::move(loaded->ignored);
  for (const auto& [name, variety] : loaded->varieties) {
    boinc::TrickleFormat format{.app = variety.app, .elements = {}};
    for (const auto& [element, measure] : variety.elements)
      format.elements.emplace(element, *boinc::TrickleFieldByName(measure));
    formats.varieties_.emplace(name, std::move(format));
  }
  return formats;
}

const boinc::TrickleFormat* TrickleFormats::Of(const std::string& variety) const {
  if (path_.empty()) return &any_;
  const auto found = varieties_.find(variety);
  return found == varieties_.end() ? nullptr : &found->second;
}

Result<std::unique_ptr<EventStream>> TrickleFile::Open(const std::string& path, ProjectId project,
                                                       const TrickleFormats& formats,
                                                       const boinc::BareBodies& bare) {
  const std::string file = path == "-" ? "/dev/stdin" : path;
  std::error_code error;
  if (!std::filesystem::exists(file, error))
    return Status::NotFound(path + ": no such file or directory of trickle messages");
  std::uint64_t bytes = 0;
  if (std::filesystem::is_regular_file(file, error)) bytes = std::filesystem::file_size(file, error);
  if (std::filesystem::is_directory(file, error)) {
    const auto files = boinc::TrickleFilesOf(file, bare);
    if (!files.ok()) return files.status();
    for (const std::string& one : *files) bytes += std::filesystem::file_size(one, error);
  }
  return std::unique_ptr<EventStream>(new TrickleFile(file, project, formats, bare, error ? 0 : bytes));
}

Status TrickleFile::ForEach(const std::function<Status(const EventItem&)>& take) {
  return boinc::ReadTrickleMessages(
      path_, bare_, [&](const boinc::TrickleFilePlace& place, const boinc::TrickleMessageRow& row) {
        bytes_read_ = place.bytes_read;
        const std::string raw = AsMessage(row);
        EventItem item{.raw = raw, .line = place.counted_before + row.before};
        if (formats_.Ignored(row.variety)) return take(item);
        const std::string where = place.file + ", line " + std::to_string(row.line);
        const boinc::TrickleFormat* format = formats_.Of(row.variety);
        std::string envelope;
        if (!row.problem.empty()) {
          item.problem = where + ": " + row.problem;
        } else if (format == nullptr) {
          item.problem = where + ", message " + std::to_string(row.id) + ": " + formats_.path() +
                         " does not define variety '" + row.variety +
                         "'; add the variety to `varieties`, or to `ignore` if it does not measure work";
        } else if (auto event = boinc::TrickleOf(row, *format, where); event.ok()) {
          event->head.project = project_;
          envelope = wire::EncodeEvent({.head = event->head, .body = std::move(event->trickle)});
          item.envelope = envelope;
        } else {
          item.problem = event.status().message();
        }
        return take(item);
      });
}

}  // namespace cobblestone::events
