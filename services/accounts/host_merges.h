// Hosts that become another one of the same owner (docs/rules.md, section 34).
//
// CLAIMS tells the owner's partition (HOST_MERGED), and, from where the other host is known, whether that one is the same owner's
// (HOST_NAMED, HOST_OTHERS; of a host that no event has named yet HOST_NAMED comes once one does). The merge waits until the
// host's account is here, and until the one that it becomes is here as this owner's: as the ledger has shown it, by its name, a
// grant, an opening, its coming or a merge of it. Then the account is added to that one, and whatever comes for the ended host
// goes there from then on, wherever that one goes. Merges that would make a host itself are refused. So are those whose other
// host has not come to be this owner's in a window after they were said, once CLAIMS has answered (in arrival order the question
// may lie unread while time passes): the host keeps what it has, and what still comes for it.
// Where the other host has become one itself, it is that one that the merge waits for, whoever owned the two then: a host's
// account brings along, to each partition that it goes to, which hosts have become it (JoinedHosts). So who has the account to add
// to knows all that were it, and nobody else has to.
// `order: lockstep`: what waits is looked at when a period has ended, in order of lines.
// Invariant: what the ledger gives a host is in its account, was sent on, waits, or was given to the one that it has become.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/credit/accounts/account.h"

namespace cobblestone::accounts {

// Of a host, in its row.
struct HostMerge {
  HostId into;        // that it is to become by its event's word; once it has become one: that one
  bool done = false;  // it has: the account is there
  // All that went there.
  credit::MicroTotal given_micro = 0;
  std::uint64_t given_grants = 0;
  std::uint32_t joined = 0;  // hosts that have become this one, while its account is here

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.into, s.done, s.given_micro, s.given_grants, s.joined);
  }
};

struct WaitingMerge {
  std::uint64_t host = 0;
  std::uint64_t user = 0;    // whose it is
  std::uint64_t line = 0;    // input line (lockstep)
  std::uint64_t offset = 0;  // of the record, in the ledger's partition
  std::string bytes;         // the record
  double since = 0;          // UNIX s: its event's time, or later where it came later
  bool answered = false;     // CLAIMS has said whether the other host is this user's

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.host, s.user, s.line, s.offset, s.bytes, AddedIn<2>(s.since), AddedIn<2>(s.answered));
  }
};

// By the host that they become, which is none that has become another.
struct WaitingMerges {
  std::vector<WaitingMerge> hosts;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.hosts);
  }
};

// By host.
struct JoinedHosts {
  // That it has become in another partition, by the word of the account that came here from there. There it may have become yet
  // another one since: what came last is right about all whose accounts are here.
  HostId heir;
  std::vector<HostId> hosts;  // all that have become it, by whatever way, while its account is here

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.heir, s.hosts);
  }
};

}  // namespace cobblestone::accounts
