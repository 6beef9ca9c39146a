#include "services/boinc/bare_bodies.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "services/boinc/trickle_xml.h"

namespace cobblestone::boinc {
namespace {

// The file's time of last modification, UNIX s, to the microsecond.
std::optional<double> WrittenAt(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return std::nullopt;
  return static_cast<double>(file.st_mtim.tv_sec) + static_cast<double>(file.st_mtim.tv_nsec / 1000) * 1e-6;
}

std::string FileNameOf(const std::string& path) { return std::filesystem::path(path).filename().string(); }

}  // namespace

Result<BareBodies> BareBodies::Of(BareBodyOptions options) {
  struct Field {
    std::string_view name;
    std::string_view form;
    std::string Name::*value;
  };
  static constexpr std::string_view kDigits = "([0-9]+)";
  static const Field kFields[] = {{"{host}", kDigits, &Name::host},
                                  {"{received}", "([0-9]+(?:\\.[0-9]+)?)", &Name::received},
                                  {"{variety}", "(.+?)", &Name::variety},
                                  {"{id}", kDigits, &Name::id}};
  BareBodies bodies;
  std::string form;
  const std::string& name = options.file_name;
  for (std::size_t k = 0; k < name.size();) {
    if (name[k] == '{') {
      const auto field = std::find_if(std::begin(kFields), std::end(kFields), [&](const Field& f) {
        return name.compare(k, f.name.size(), f.name) == 0;
      });
      if (field == std::end(kFields))
        return Status::InvalidArgument(
            "'" + name + "': the names in braces must be {host}, {received}, {variety} or {id}");
      if (std::find(bodies.fields_.begin(), bodies.fields_.end(), field->value) != bodies.fields_.end())
        return Status::InvalidArgument("'" + name + "': " + std::string(field->name) + " occurs twice");
      bodies.fields_.push_back(field->value);
      form += field->form;
      k += field->name.size();
      continue;
    }
    if (name[k] == '*') {
      form += ".*";
    } else {
      if (std::string_view("\\^$.|?+()[]{}").find(name[k]) != std::string_view::npos) form += '\\';
      form += name[k];
    }
    ++k;
  }
  bodies.name_ = std::regex(form);
  bodies.options_ = std::move(options);
  return bodies;
}

bool BareBodies::given() const {
  return options_.host || options_.received || options_.variety || !options_.file_name.empty();
}

std::optional<BareBodies::Name> BareBodies::NameOf(const std::string& path) const {
  Name name;
  if (options_.file_name.empty()) return name;
  const std::string file = FileNameOf(path);
  std::smatch groups;
  if (!std::regex_match(file, groups, name_)) return std::nullopt;
  for (std::size_t k = 0; k < fields_.size(); ++k) name.*fields_[k] = groups[k + 1].str();
  return name;
}

std::optional<double> BareBodies::ReceivedOf(const std::string& path) const {
  if (const auto name = NameOf(path); name && !name->received.empty())
    return ParseTrickleNumber(name->received);
  return options_.received ? options_.received : WrittenAt(path);
}

Status BareBodies::Fill(const std::string& path, TrickleMessageRow* row) const {
  if (!options_.host && std::find(fields_.begin(), fields_.end(), &Name::host) == fields_.end())
    return Status::InvalidArgument(
        path +
        ", line 1: a body without the line <msg_from_host id=... create_time=... hostid=... "
        "variety=...>, so the host is unknown: set --host, or --file-name if the file names "
        "contain the host");
  const auto name = NameOf(path);
  if (!name) {
    row->problem = "the file name does not match " + options_.file_name;
    return Status::Ok();
  }
  const auto set = [&](TrickleColumn column, const std::string& value) {
    if (Status s = SetTrickleColumn(column, value, row); !s.ok() && row->problem.empty())
      row->problem = s.message();
  };
  if (name->host.empty()) {
    row->host = options_.host;
  } else {
    set(TrickleColumn::kHostId, name->host);
  }
  const auto received = ReceivedOf(path);
  if (received && *received > 0) {
    row->create_time = *received;
  } else if (row->problem.empty()) {
    row->problem = "the arrival time is unknown; set --received";
  }
  if (!name->id.empty()) {
    set(TrickleColumn::kId, name->id);
  } else {
    row->id = static_cast<std::uint64_t>(std::min(row->create_time * 1e6, 1e18));
  }
  if (!name->variety.empty()) {
    set(TrickleColumn::kVariety, name->variety);
  } else if (options_.variety) {
    set(TrickleColumn::kVariety, *options_.variety);
  } else if (const auto body = ParseTrickleBody(row->xml, path); body.ok()) {
    row->variety = body->variety;  // the reader of the message reports a malformed body
    if (row->variety.empty() && row->problem.empty()) row->problem = "the variety is unknown; set --variety";
  }
  return Status::Ok();
}

}  // namespace cobblestone::boinc
