// The tokens in force. A change of the tokens file takes effect about a second later, without a restart; a token
// whose line was deleted is then invalid.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "services/gateway/rights/tokens.h"

namespace cobblestone::gateway {

struct TokenStoreOptions {
  // Receives messages that need an operator's reaction; never a token. Any thread. May be empty.
  std::function<void(const std::string&)> warn;
  // Monotonic seconds from any origin; the system's steady clock if empty.
  std::function<double()> steady;
};

// Threads: any, several at once.
class TokenStore {
 public:
  // Reads gateway.tokens_file now and watches it for changes. kInvalidArgument: as Tokens::Load.
  static Result<std::unique_ptr<TokenStore>> OpenFile(const std::string& path, TokenStoreOptions options);
  // Tokens that never change.
  static std::unique_ptr<TokenStore> Of(Tokens tokens);

  // Rights of a token; none if the token is unknown. Checks the file first if the last check is a second old.
  //
  // A missing, half-written or invalid file changes nothing: the last valid tokens stay in force, `warn` is called
  // once for each such version of the file, and problem() reports it until the file is valid again.
  [[nodiscard]] std::optional<Rights> Find(std::string_view token);
  // Public text without a path; "" if all is well. Checks the file as Find() does.
  [[nodiscard]] std::string problem();

 private:
  TokenStore(std::string path, TokenStoreOptions options, std::shared_ptr<const Tokens> tokens);

  // Identifies one version of the file.
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

  const std::string path_;  // empty: no file to watch
  const TokenStoreOptions options_;
  // One thread checks the file; other threads use the tokens in force.
  std::mutex look_mutex_;
  // Steady s of the last check; guarded by look_mutex_, as are the next two members.
  double looked_ = 0;
  Version version_;     // version that was read last
  std::string warned_;  // last warning; empty while the file is valid
  std::mutex mutex_;
  std::shared_ptr<const Tokens> tokens_;  // guarded by mutex_
  bool broken_ = false;                   // guarded by mutex_
};

}  // namespace cobblestone::gateway
