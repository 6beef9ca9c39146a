// The oracle's own implementation of host merges (docs/rules.md, section 34). Inside tests/support only.
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
  enum class Verdict { kNothingNew, kAccepted, kOtherContents, kDecided };

  // For a host that is known, not deleted, and belongs to `owner`. `now`: the project's time, UNIX s.
  Verdict Apply(const v1::Envelope& e, std::string_view bytes, std::uint64_t owner, double now);
  [[nodiscard]] bool Ended(OracleHostId host) const { return merges_.count(host) != 0; }
  // The host that `host` is to be merged into.
  [[nodiscard]] std::optional<std::uint64_t> Into(OracleHostId host) const {
    const auto merge = merges_.find(host);
    return merge == merges_.end() ? std::nullopt : std::optional(merge->second.into);
  }

  void SetOwner(OracleHostId host, std::uint64_t owner) { owners_[host] = owner; }
  // Drops merges whose target host did not get the same owner in time, and returns their number: a merge waits for 30
  // days at most.
  std::size_t Expire(std::uint32_t project, double now);

  [[nodiscard]] OracleHostId HeirOf(OracleHostId host) const;
  // The host that `host` has become through merges under this owner. The owner's estimates move with these merges.
  [[nodiscard]] OracleHostId HeirOf(OracleHostId host, std::uint64_t owner) const;
  // Ends a period. Returns the hosts merged since, each with its heir, in order, and the number of refused merges.
  std::vector<std::pair<OracleHostId, OracleHostId>> EndPeriod(std::uint64_t* refused);

 private:
  struct Waiting {
    OracleHostId host;
    std::uint64_t owner = 0;
    double since = 0;
  };

  struct Merge {
    std::uint64_t id = 0;
    std::string bytes;
    std::uint64_t into = 0;
  };

  std::map<OracleHostId, Merge> merges_;
  std::vector<Waiting> waiting_;  // by line number
  std::map<OracleHostId, OracleHostId> became_;
  std::map<OracleHostId, std::uint64_t> became_under_;  // owner at the merge
  std::map<OracleHostId, std::uint64_t> owners_;
};

}  // namespace cobblestone::testing
