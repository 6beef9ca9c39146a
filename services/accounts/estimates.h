// Sums of estimates (docs/rules.md, sections 42 and 43): a part of ACCOUNTS with its own rows.
//
// Estimates stay with the owner under whom they were reported, as grants do: a host has a row in the partition
// of each of its owners, with the estimates reported under owners of that partition. So nothing has to move
// with a host's account, and in any order of events, grants under an owner settle the estimates under the same
// owner. If a host becomes another host, its estimates under the owner of both are added to the other host, and
// so are later reports and grants under its number.
//
// Invariant: a project's row is the sum over all its hosts in this partition.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/credit/accounts/day_history.h"
#include "common/credit/estimates/estimate_account.h"
#include "common/stream/table.h"

namespace cobblestone::accounts {

// By host.
struct HostEstimates {
  std::vector<credit::OwnerEstimates> owners;  // in the order of their first estimate

  [[nodiscard]] std::uint32_t NumberOf(const credit::OwnerEstimates& owner) const {
    return static_cast<std::uint32_t>(&owner - owners.data());
  }
  // Null: nothing was estimated for the host under this owner.
  [[nodiscard]] credit::OwnerEstimates* Of(UserId user) {
    const auto at =
        std::find_if(owners.begin(), owners.end(), [user](const auto& one) { return one.user == user; });
    return at == owners.end() ? nullptr : &*at;
  }

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.owners);
  }
};

// By project; `id` 0.
struct ProjectEstimates {
  credit::EstimateSums sums;
  credit::MicroTotal open = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.sums, s.open);
  }
};

inline constexpr stream::TableSpec<HostEstimates> kHostEstimatesTable{.id = 44, .version = 1};
// By user.
inline constexpr stream::TableSpec<credit::UserEstimates> kUserEstimatesTable{.id = 45, .version = 1};
// Older days of both (services/stage/day_rows.h).
inline constexpr stream::TableSpec<credit::DayBlock<credit::EstimateDay>> kHostEstimateDaysTable{
    .id = 72, .version = 1};
inline constexpr stream::TableSpec<credit::DayBlock<credit::EstimateDay>> kUserEstimateDaysTable{
    .id = 73, .version = 1};
inline constexpr stream::TableSpec<ProjectEstimates> kProjectEstimatesTable{.id = 75, .version = 1};
inline constexpr stream::TableSpec<credit::DayBlock<credit::EstimateDay>> kProjectEstimateDaysTable{
    .id = 76, .version = 1};

}  // namespace cobblestone::accounts
