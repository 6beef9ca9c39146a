// Converts rows of a project's database to bodies of events (schemas/events.proto), for `adopt`. Pure.
//
// Never part of an event: the internal cross-project id, the address, the authenticator, and a host's domain
// name. The values that statistics files derive from them are computed here.
#pragma once

#include <cstdint>

#include "common/wire/events/events.h"
#include "services/export/rows.h"

namespace cobblestone::adoption {

wire::UserMember MemberOf(const exports::User& user);
wire::HostMember MemberOf(const exports::Host& host);
wire::TeamMember MemberOf(const exports::Team& team);

// A total that cannot be a balance (wire::BalanceOf) opens the account with 0; an invalid time becomes 0. The
// figures keep the values of the database.
wire::OpeningTotal OpeningOf(const exports::User& user);
wire::OpeningTotal OpeningOf(const exports::Host& host);
wire::OpeningTotal OpeningOf(const exports::Team& team);

wire::ProjectProfile ProfileOf(const exports::Catalogue& catalogue);

// Ids of 0 and below belong to no account.
inline std::uint64_t AccountNumber(std::int64_t id) { return static_cast<std::uint64_t>(id); }

}  // namespace cobblestone::adoption
