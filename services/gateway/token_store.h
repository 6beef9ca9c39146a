// The tokens in force. Where they come from a file, a changed file is in force about a second later, without a restart: a
// token whose line is gone opens nothing any more.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "services/gateway/tokens.h"

namespace cobblestone::gateway {

struct TokenStoreOptions {
  // What an operator must react to; never a token. Any thread. May be empty.
  std::function<void(const std::string&)> warn;
  std::function<double()> steady;  // s since anything, never goes back; the system's steady clock when empty
};

// Threads: any, several at once.
class TokenStore {
 public:
  // gateway.tokens_file: read now, and looked at for changes from then on. kInvalidArgument: as Tokens::Load.
  static Result<std::unique_ptr<TokenStore>> OpenFile(const std::string& path, TokenStoreOptions options);
  // Tokens that stay as they are.
  static std::unique_ptr<TokenStore> Of(Tokens tokens);

  // Rights of a token; none where it is not known. Looks at the file first where the last look is a second old.
  //
  // A file that is gone, half written or wrong changes nothing: the last good tokens stay in force, `warn` is called once
  // for each such state of the file, and problem() says so until the file is good again.
  [[nodiscard]] std::optional<Rights> Find(std::string_view token);
  // For everybody, without a path: "" where all is well. Looks at the file as Find() does.
  [[nodiscard]] std::string problem();

 private:
  TokenStore(std::string path, TokenStoreOptions options, std::shared_ptr<const Tokens> tokens);

  // What tells one state of a file from another.
  struct Version {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size = -1;  // -1: there is no file
    std::int64_t changed_ns = 0;
    std::int64_t modified_ns = 0;

    friend bool operator==(const Version&, const Version&) = default;
  };
  static Version VersionOf(const std::string& path);
  void Look();
  std::shared_ptr<const Tokens> Now();

  const std::string path_;  // empty: nothing to look at
  const TokenStoreOptions options_;
  std::mutex look_mutex_;  // one thread looks; others go on with what is in force
  double looked_ = 0;      // steady s; guarded by look_mutex_, as are the next two
  Version version_;        // that was read last
  std::string warned_;     // the last warning, until the file is good again
  std::mutex mutex_;
  std::shared_ptr<const Tokens> tokens_;  // guarded by mutex_
  bool broken_ = false;                   // guarded by mutex_
};

}  // namespace cobblestone::gateway
