// Traffic of a federation hub, and what follows from it, computed by plain maps.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/wire/events/account_kind.h"
#include "tests/robustness/traffic.h"

namespace cobblestone::testing {

// Days of four projects: editions with accounts that earn, leave and return, some sent whole after a loss of the
// collector's directory; ids that swing; decisions; signed proofs, some of them forged; deletions; and the hub's ticks, by
// which accounts are erased 5 days after they left. Broadcasts are blocks of their own, so the outcome does not depend on the
// order in which topics are read.
std::vector<Event> HubTraffic(std::uint64_t seed, int days);

struct HubOutcome {
  // "PROJECT/KIND/ID": everything about an account that the hub still knows, as text.
  std::map<std::string, std::string> accounts;
  // The rows of IDENTITY as stored: "TABLE PROJECT.ID.SUB" and bytes.
  std::map<std::string, std::string> identities;
  std::uint64_t refused = 0;
  // What FEEDS and MEMBERS have sent to IDENTITY, sorted; of the oracle only.
  std::vector<std::string> facts;
  // How often things happened, so that a test is not empty.
  std::map<std::string, int> counts;
};

// The events one after the other. The facts about identities are applied in another order than they arrived.
HubOutcome HubOracle(const std::vector<Event>& events);
// The texts of HubOutcome.
std::string KindText(wire::AccountKind kind);
std::string AccountText(bool gone, std::int64_t total, std::int64_t opening, std::int64_t counted,
                        const std::string& name, const std::map<std::int64_t, std::int64_t>& days);
std::string RowName(std::uint8_t table, std::uint32_t project, std::uint64_t id, std::uint64_t sub);

}  // namespace cobblestone::testing
