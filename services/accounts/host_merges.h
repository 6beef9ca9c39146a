// Hosts that become another host of the same owner (docs/rules.md, section 34).
//
// CLAIMS sends the owner's partition the merge (HOST_MERGED). The partition of CLAIMS that knows the other host
// sends the answer whether that host has the same owner (HOST_NAMED, HOST_OTHERS; if no event has named the
// other host yet, HOST_NAMED follows when one does). The merge waits until the host's account is in this
// partition and the ledger has shown here that the other host is this owner's: by HOST_NAMED, a grant, an
// opening, the arrival of its account or a merge of it. Then the account is added to the other host, and
// everything that arrives later for the ended host is applied to the other host, or to the host that it has
// become in turn.
//
// A merge of a host with itself, also through other hosts, is refused. A merge is also refused if the other
// host is not this owner's at the end of a window, and CLAIMS has answered (in arrival order the question may
// stay unread while time passes). The ended host then keeps its credit and its later grants.
//
// If the other host has itself become a third host, the merge waits for the third host, whoever owned both at that
// time: an account carries the list of hosts that have become it to each partition that it moves to
// (JoinedHosts). So the partition with the account knows all hosts that have become it, and no other partition
// needs to.
//
// `order: lockstep`: waiting merges are examined at the end of a period, in order of lines.
// Invariant: all credit that the ledger gives a host is in its account, was sent on, waits, or was added to the
// host that it has become.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/credit/accounts/account.h"

namespace cobblestone::accounts {

// Part of a host's row.
struct HostMerge {
  HostId into;        // the merge target that the event names; after the merge: the host that it has become
  bool done = false;  // the merge is complete: the account is at `into`
  // Sums of the credit and the grants that were added to `into`.
  credit::MicroTotal given_micro = 0;
  std::uint64_t given_grants = 0;
  std::uint32_t joined = 0;  // the number of hosts that have become this one, while its account is here

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.into, s.done, s.given_micro, s.given_grants, s.joined);
  }
};

struct WaitingMerge {
  std::uint64_t host = 0;
  std::uint64_t user = 0;    // the owner
  std::uint64_t line = 0;    // input line (lockstep)
  std::uint64_t offset = 0;  // of the record, in the ledger's partition
  double append_time = 0;    // UNIX s, of the record
  std::string bytes;         // the record
  double since = 0;          // UNIX s: its event's time, or its arrival if that is later
  bool answered = false;     // CLAIMS has answered whether this user owns the other host

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.host, s.user, s.line, s.offset, s.append_time, s.bytes, s.since, s.answered);
  }
};

// By the target of the merges, a host that is itself not merged into another host.
struct WaitingMerges {
  std::vector<WaitingMerge> hosts;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.hosts);
  }
};

// By host.
struct JoinedHosts {
  // The host that it has become in another partition, according to the account that arrived from there. A later
  // merge elsewhere may make the entry stale, but not while the account is here: each arriving account sets the
  // entries of all its hosts (AccountsStage::AddJoined).
  HostId target;
  std::vector<HostId> hosts;  // all hosts that have become it, directly or not, while its account is here

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.target, s.hosts);
  }
};

}  // namespace cobblestone::accounts
