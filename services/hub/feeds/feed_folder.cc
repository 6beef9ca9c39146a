#include "services/hub/feeds/feed_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/check.h"
#include "common/base/private_directory.h"

namespace cobblestone::hub {
namespace {

namespace fs = std::filesystem;

constexpr const char* kListName = ".files.json";
constexpr const char* kPart = ".part";

bool IsFileName(const std::string& name) {
  return !name.empty() && name.size() < 200 && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                  c == '-' || c == '.';
         });
}

Status RenameDurably(const std::string& from, const std::string& to, const std::string& folder) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    return Status::Unwritten(errno, "cannot rename " + from + ": " + std::strerror(errno));
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = directory >= 0 && ::fsync(directory) == 0;
  const int error = errno;
  if (directory >= 0) ::close(directory);
  return synced ? Status::Ok()
                : Status::Unwritten(error, "cannot sync " + folder + ": " + std::strerror(error));
}

std::string TextIn(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

double NumberIn(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

}  // namespace

Result<FeedFolder> FeedFolder::Open(const std::string& path) {
  const Status made = MakePrivateDirectory(path, {});
  if (!made.ok()) return made;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    std::error_code ignored;  // what cannot be removed is overwritten by the next fetch
    if (entry.path().extension() == kPart) fs::remove(entry.path(), ignored);
  }
  if (error) return Status::InvalidArgument("cannot read the directory " + path + ": " + error.message());
  FeedFolder folder(path);
  folder.Load();
  return folder;
}

std::optional<StoredFile> FeedFolder::Find(const std::string& name) const {
  const auto found = files_.find(name);
  if (found == files_.end()) return std::nullopt;
  std::error_code error;
  const std::uintmax_t size = fs::file_size(PathOf(name), error);
  if (error || size != found->second.bytes) return std::nullopt;
  return found->second;
}

std::string FeedFolder::PathOf(const std::string& name) const {
  COBBLESTONE_CHECK(IsFileName(name), name);
  return path_ + "/" + name;
}

std::string FeedFolder::PartPathOf(const std::string& name) const { return PathOf(name) + kPart; }

Status FeedFolder::Store(const std::string& name, const StoredFile& about) {
  const Status renamed = RenameDurably(PartPathOf(name), PathOf(name), path_);
  if (!renamed.ok()) return renamed;
  files_[name] = about;
  return Save();
}

Status FeedFolder::Forget(const std::string& name) {
  if (files_.erase(name) == 0) return Status::Ok();
  return Save();
}

void FeedFolder::Load() {
  std::ifstream file(path_ + "/" + kListName);
  const auto list = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!list.is_object()) return;
  for (const auto& [name, about] : list.items()) {
    if (!IsFileName(name) || !about.is_object()) continue;
    files_[name] = {.url = TextIn(about, "url"),
                    .etag = TextIn(about, "etag"),
                    .last_modified = TextIn(about, "last_modified"),
                    .bytes = static_cast<std::uint64_t>(std::clamp(NumberIn(about, "bytes"), 0.0, 1e15)),
                    .fetched = NumberIn(about, "fetched")};
  }
}

Status FeedFolder::Save() const {
  auto list = nlohmann::json::object();
  for (const auto& [name, about] : files_) {
    list[name] = {{"url", about.url},
                  {"etag", about.etag},
                  {"last_modified", about.last_modified},
                  {"bytes", about.bytes},
                  {"fetched", about.fetched}};
  }
  const std::string path = path_ + "/" + kListName;
  const std::string text = list.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  const int file = ::open((path + kPart).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  bool written = file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  written = written && ::fsync(file) == 0;
  const int error = errno;
  if (file >= 0) ::close(file);
  if (!written) return Status::Unwritten(error, "cannot write " + path + ": " + std::strerror(error));
  return RenameDurably(path + kPart, path, path_);
}

}  // namespace cobblestone::hub
