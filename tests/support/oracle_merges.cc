#include "tests/support/oracle_merges.h"

#include <algorithm>

namespace cobblestone::testing {

OracleMerges::Verdict OracleMerges::Apply(const v1::Envelope& e, std::string_view bytes, std::uint64_t owner,
                                          double now) {
  const OracleHostId host{e.project(), e.host_merge().host()};
  const auto [merge, is_new] =
      merges_.emplace(host, Merge{e.id(), std::string(bytes), e.host_merge().into()});
  if (is_new) {
    waiting_.push_back({host, owner, std::max(e.time(), now)});
    return Verdict::kAccepted;
  }
  // A repeat is recognised by its facts, whatever its id.
  const auto facts = [](v1::Envelope one) {
    one.clear_id();
    return one.SerializeAsString();
  };
  v1::Envelope first;
  first.ParseFromString(merge->second.bytes);
  if (facts(first) == facts(e)) return Verdict::kNothingNew;
  return merge->second.id != e.id() ? Verdict::kDecided : Verdict::kOtherContents;
}

std::size_t OracleMerges::Expire(std::uint32_t project, double now) {
  return std::erase_if(waiting_, [&](const Waiting& one) {
    return one.host.first == project && one.since + 30.0 * 86400 < now;
  });
}

OracleHostId OracleMerges::HeirOf(OracleHostId host) const {
  for (auto next = became_.find(host); next != became_.end(); next = became_.find(host)) host = next->second;
  return host;
}

OracleHostId OracleMerges::HeirOf(OracleHostId host, std::uint64_t owner) const {
  for (auto next = became_.find(host); next != became_.end() && became_under_.at(host) == owner;
       next = became_.find(host))
    host = next->second;
  return host;
}

std::vector<std::pair<OracleHostId, OracleHostId>> OracleMerges::EndPeriod(std::uint64_t* refused) {
  std::vector<std::pair<OracleHostId, OracleHostId>> done;
  for (auto one = waiting_.begin(); one != waiting_.end();) {
    const OracleHostId heir = HeirOf({one->host.first, merges_.at(one->host).into});
    const auto owner = owners_.find(heir);
    if (heir == one->host) {
      ++*refused;
    } else if (owner != owners_.end() && owner->second == one->owner) {
      became_[one->host] = heir;
      became_under_[one->host] = one->owner;
      done.emplace_back(one->host, heir);
    } else {
      ++one;
      continue;
    }
    waiting_.erase(one);
    one = waiting_.begin();  // other merges may have waited for this one
  }
  return done;
}

}  // namespace cobblestone::testing
