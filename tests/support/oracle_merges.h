// The oracle's own reading of hosts that become others (docs/rules.md, section 34). Inside tests/support only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/events.pb.h"

namespace cobblestone::testing {

using OracleHostId = std::pair<std::uint32_t, std::uint64_t>;  // project, host

class OracleMerges {
 public:
  enum class Heard { kNothingNew, kTaken, kOtherContents, kDecided };

  // Of a host that is known, not deleted, and `owner`'s. `now`: of the project, UNIX s.
  Heard Hear(const v1::Envelope& e, std::string_view bytes, std::uint64_t owner, double now);
  [[nodiscard]] bool Ended(OracleHostId host) const { return said_.count(host) != 0; }
  // What it was said to become.
  [[nodiscard]] std::optional<std::uint64_t> Into(OracleHostId host) const {
    const auto said = said_.find(host);
    return said == said_.end() ? std::nullopt : std::optional(said->second.into);
  }

  void SetOwner(OracleHostId host, std::uint64_t owner) { owners_[host] = owner; }
  // How many have waited in vain for the other host to be the same owner's: nothing waits for longer than 30 days.
  std::size_t Expire(std::uint32_t project, double now);

  [[nodiscard]] OracleHostId HeirOf(OracleHostId host) const;
  // What it has become as this owner's, whose estimates go along.
  [[nodiscard]] OracleHostId HeirOf(OracleHostId host, std::uint64_t owner) const;
  // A period has ended. Those that have become others since, each with that one, in order; and how many merges were refused.
  std::vector<std::pair<OracleHostId, OracleHostId>> EndPeriod(std::uint64_t* refused);

 private:
  struct Waiting {
    OracleHostId host;
    std::uint64_t owner = 0;
    double since = 0;
  };

  struct Said {
    std::uint64_t id = 0;
    std::string bytes;
    std::uint64_t into = 0;
  };

  std::map<OracleHostId, Said> said_;
  std::vector<Waiting> waiting_;  // in order of lines
  std::map<OracleHostId, OracleHostId> became_;
  std::map<OracleHostId, std::uint64_t> became_under_;  // whose it was then
  std::map<OracleHostId, std::uint64_t> owners_;
};

}  // namespace cobblestone::testing
