#include "services/access/follow.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <tuple>
#include <utility>

#include "common/stream/hash128.h"

namespace cobblestone::access {

using events::AtEnd;
using events::EventFile;
using events::EventItem;

namespace fs = std::filesystem;

namespace {

bool IsCompressed(const std::string& path) { return path.ends_with(".gz") || path.ends_with(".zst"); }

// 0: there is no such file.
std::uint64_t InodeOf(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 ? about.st_ino : 0;
}

std::uint64_t SizeOf(const std::string& path) {
  std::error_code missing;
  const auto size = fs::file_size(path, missing);
  return missing ? 0 : size;
}

// Whether the file has an event, or the beginning of a file that is none, which EventFile recognizes.
bool HasEvent(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string start(events::kForeignStartBytes, '\0');
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(in.gcount()));
  if (start.size() == events::kForeignStartBytes && events::LooksDelimited(start)) return true;
  in.clear();
  in.seekg(0);
  for (std::string line; std::getline(in, line) && !in.eof();)
    if (line.find_first_not_of(" \t\r") != std::string::npos) return true;
  return false;
}

}  // namespace

Result<std::unique_ptr<FeedFile>> FeedFile::Open(const std::string& path, Follow follow) {
  std::unique_ptr<FeedFile> feed(new FeedFile());
  feed->path_ = path;
  feed->growing_ = follow != nullptr;
  events::EventFileOptions options;
  if (follow) {
    options.follow = [self = feed.get(), follow = std::move(follow)](bool at_end) {
      return self->stop_ ? AtEnd::kStop : follow(at_end, self->file_->bytes_read());
    };
  }
  auto file = EventFile::Open(path, options);
  if (!file.ok()) return file.status();
  feed->file_ = std::move(*file);
  const auto more = feed->file_->Next(&feed->first_);
  if (!more.ok()) return more.status();
  if (!*more) return std::unique_ptr<FeedFile>();
  const stream::Hash128 hash = stream::HashBytes(feed->first_.raw);
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash.low));
  feed->hash_ = text;
  return feed;
}

Status FeedFile::ForEach(const std::function<Status(const EventItem&)>& take) {
  if (Status s = take(first_); !s.ok()) return s;
  return file_->ForEach(take);
}

Feed::Feed(Client& client, std::string file, std::string name, std::function<bool(bool wait)> stopped,
           std::function<void(const std::string&)> warn)
    : client_(client),
      file_(std::move(file)),
      name_(std::move(name)),
      stopped_(std::move(stopped)),
      warn_(std::move(warn)) {}

Result<std::optional<Feed::Part>> Feed::Next() {
  // The rest of a file that became shorter is in its copy, which Find() finds.
  if (!current_.empty() && !std::exchange(shrunk_, false)) done_.insert(current_);
  current_.clear();
  left_ = false;
  for (;;) {
    if (stopped_(false)) return std::optional<Part>();
    if (parts_.empty()) {
      const Status s = Find();
      if (!s.ok() && s.code() != StatusCode::kNotFound) return s;
    }
    if (!parts_.empty()) {
      std::optional<Part> part = std::move(parts_.back());
      parts_.pop_back();
      current_ = part->source;
      return part;
    }
    if (stopped_(true)) return std::optional<Part>();
  }
}

std::vector<std::string> Feed::Rotated() const {
  const fs::path file(file_);
  const std::string begin = file.filename().string();
  std::vector<std::pair<fs::file_time_type, std::string>> found;
  std::error_code error;
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.size() <= begin.size() || !name.starts_with(begin)) continue;
    if (name[begin.size()] != '.' && name[begin.size()] != '-') continue;
    std::error_code gone;
    if (!it->is_regular_file(gone) || gone) continue;
    const auto time = it->last_write_time(gone);
    if (!gone) found.emplace_back(time, it->path().string());
  }
  // A compressor writes its file before it removes the original.
  std::erase_if(found, [&](const auto& one) {
    if (!IsCompressed(one.second)) return false;
    const std::string original = one.second.substr(0, one.second.rfind('.'));
    return std::any_of(found.begin(), found.end(),
                       [&](const auto& other) { return other.second == original; });
  });
  // FILE.2 is older than FILE.1.
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, b.second) < std::tie(b.first, a.second);
  });
  std::vector<std::string> paths;
  for (auto& [time, path] : found) paths.push_back(std::move(path));
  return paths;
}

Status Feed::Find() {
  std::vector<std::string> paths = Rotated();
  const bool has_file = HasEvent(file_);
  if (has_file) paths.push_back(file_);
  std::vector<Part> parts;
  std::set<std::string> sources;
  bool begun = false;
  for (std::size_t i = paths.size(); i-- > 0 && !begun;) {
    auto file = OpenPart(paths[i], i + 1 == paths.size());
    if (!file.ok()) return file.status();
    if (*file == nullptr) continue;
    std::string source = name_ + "@" + (*file)->hash();
    if (!sources.insert(source).second) continue;
    if (done_.contains(source)) {
      begun = true;
      break;
    }
    const auto known = Begun(source);
    if (!known.ok()) return known.status();
    begun = *known;
    parts.push_back({.file = std::move(*file), .source = std::move(source)});
  }
  // Files that were rotated before the first reader began are history.
  if (!begun) std::erase_if(parts, [&](const Part& part) { return part.file->path() != file_; });
  parts_ = std::move(parts);
  return Status::Ok();
}

Result<std::unique_ptr<FeedFile>> Feed::OpenPart(const std::string& path, bool may_grow) {
  const bool rotated = path != file_;
  const std::uint64_t inode = InodeOf(path);
  FeedFile::Follow follow;
  if (may_grow && !IsCompressed(path))
    follow = [this, inode](bool at_end, std::uint64_t read) { return Continue(inode, at_end, read); };
  auto file = FeedFile::Open(path, std::move(follow));
  if (inode != InodeOf(path)) return Status::NotFound(path + " was renamed");
  if (file.status().code() == StatusCode::kInvalidArgument && rotated) {
    if (warned_.insert(path).second) warn_(file.status().message() + "; the file is skipped");
    return std::unique_ptr<FeedFile>();
  }
  if (!file.ok() || *file == nullptr) return file;
  if ((*file)->has_own_ticks())
    return Status::InvalidArgument(path + ": a golden file does not grow and cannot be followed");
  return file;
}

Result<bool> Feed::Begun(const std::string& source) {
  bool lockstep = false;
  const auto known = client_.Producer(source, &lockstep);
  if (!known.ok()) return known.status();
  if (lockstep)
    return Status::InvalidArgument(
        "a pipeline with `order: lockstep` cannot follow a file: a period ends at the end of a file");
  return known->lines > 0;
}

AtEnd Feed::Continue(std::uint64_t inode, bool at_end, std::uint64_t read) {
  if (!at_end) return stopped_(false) ? AtEnd::kStop : AtEnd::kReadOn;
  // Once the writer has left the file, what it wrote before is read to its end.
  if (left_) return AtEnd::kComplete;
  if (stopped_(true)) return AtEnd::kStop;
  const std::uint64_t newest = InodeOf(file_);
  if (newest == inode && SizeOf(file_) < read) {
    shrunk_ = true;
    return AtEnd::kStop;
  }
  left_ = newest != 0 && newest != inode && HasEvent(file_);
  return AtEnd::kReadOn;
}

}  // namespace cobblestone::access
