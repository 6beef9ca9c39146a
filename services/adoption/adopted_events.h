// Rows of a project's database as bodies of events (schemas/events.proto), for `adopt`. Pure.
//
// What never gets into an event: the internal cross-project id, the address, the authenticator, a host's domain name. What
// statistics files show of them is worked out here.
#pragma once

#include <cstdint>

#include "common/wire/events/events.h"
#include "services/export/rows.h"

namespace cobblestone::adoption {

// `agrees`: by its rows of consent.
wire::UserMember MemberOf(const statistics::User& user, bool agrees);
wire::HostMember MemberOf(const statistics::Host& host);
wire::TeamMember MemberOf(const statistics::Team& team);

// A total that cannot be a balance (wire::BalanceOf) opens the account with 0, a time that is none with time 0: the figures
// have what the database had.
wire::OpeningTotal OpeningOf(const statistics::User& user);
wire::OpeningTotal OpeningOf(const statistics::Host& host);
wire::OpeningTotal OpeningOf(const statistics::Team& team);

wire::ProjectProfile ProfileOf(const statistics::Catalogue& catalogue);

// 0 and less are nobody's number.
inline std::uint64_t AccountNumber(std::int64_t id) { return static_cast<std::uint64_t>(id); }

}  // namespace cobblestone::adoption
