#include "services/gateway/rights/token_store.h"

#include <sys/stat.h>

#include <chrono>
#include <utility>

namespace cobblestone::gateway {
namespace {

constexpr double kLookEvery = 1;  // s

double SystemSteady() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::int64_t Nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

TokenStore::TokenStore(std::string path, TokenStoreOptions options, std::shared_ptr<const Tokens> tokens)
    : path_(std::move(path)), options_(std::move(options)), tokens_(std::move(tokens)) {}

Result<std::unique_ptr<TokenStore>> TokenStore::OpenFile(const std::string& path, TokenStoreOptions options) {
  if (!options.steady) options.steady = SystemSteady;
  // Before the file is read: the next look detects a change during the read.
  const Version version = VersionOf(path);
  auto tokens = Tokens::Load(path);
  if (!tokens.ok()) return tokens.status();
  std::unique_ptr<TokenStore> store(
      new TokenStore(path, std::move(options), std::make_shared<const Tokens>(std::move(*tokens))));
  store->version_ = version;
  store->looked_ = store->options_.steady();
  return store;
}

std::unique_ptr<TokenStore> TokenStore::Of(Tokens tokens) {
  return std::unique_ptr<TokenStore>(
      new TokenStore({}, {.steady = SystemSteady}, std::make_shared<const Tokens>(std::move(tokens))));
}

TokenStore::Version TokenStore::VersionOf(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return {};
  return {.device = about.st_dev,
          .inode = about.st_ino,
          .size = about.st_size,
          .changed_ns = Nanoseconds(about.st_ctim),
          .modified_ns = Nanoseconds(about.st_mtim)};
}

void TokenStore::Look() {
  if (path_.empty()) return;
  const std::unique_lock looking(look_mutex_, std::try_to_lock);
  if (!looking.owns_lock()) return;
  const double now = options_.steady();
  if (now - looked_ < kLookEvery) return;
  looked_ = now;
  const Version version = VersionOf(path_);
  // The clock of file times does not advance for some milliseconds, in which a file can change twice: a file
  // that has changed recently is read again.
  const auto wall = std::chrono::duration_cast<std::chrono::nanoseconds>(
                        std::chrono::system_clock::now().time_since_epoch())
                        .count();
  const bool fresh = version.changed_ns > wall - 2'000'000'000 && version.changed_ns <= wall;
  if (version == version_ && !fresh) return;
  version_ = version;
  auto read = Tokens::Load(path_);
  if (!read.ok()) {
    const std::string& why = read.status().message();
    {
      const std::lock_guard lock(mutex_);
      broken_ = true;
    }
    if (std::exchange(warned_, why) != why && options_.warn)
      options_.warn("the previous tokens stay in force: " + why);
    return;
  }
  warned_.clear();
  auto tokens = std::make_shared<const Tokens>(std::move(*read));
  const std::lock_guard lock(mutex_);
  tokens_ = std::move(tokens);
  broken_ = false;
}

std::shared_ptr<const Tokens> TokenStore::Now() {
  Look();
  const std::lock_guard lock(mutex_);
  return tokens_;
}

std::optional<Rights> TokenStore::Find(std::string_view token) { return Now()->Find(token); }

std::string TokenStore::problem() {
  Look();
  const std::lock_guard lock(mutex_);
  return broken_ ? "the token file is unusable; the previous tokens stay in force" : "";
}

}  // namespace cobblestone::gateway
