// Compares projects by the credit that the same hosts get: information about what a day of a host earns where, not a
// factor. How a host divides its time between projects is unknown, but it cancels in the median over many hosts, unless
// hosts prefer one of the projects.
#pragma once

#include "services/view/hub/hub_index.h"

namespace cobblestone::view {

// Fewer hosts would tell the credit of single ones, and no interval.
inline constexpr std::size_t kLeastSharedHosts = 10;
// Of a pair of projects; more change little. Those with the lowest cross-project ids, which are random.
inline constexpr std::size_t kMostSharedHosts = 4096;

// Sets IndexedProject::shared_hosts, from the hosts in order of their cross-project ids.
void CompareSharedHosts(HubIndex& index);

}  // namespace cobblestone::view
