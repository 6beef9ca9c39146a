// Signed proofs of account ownership: from a proof to the fact for IDENTITY.
#pragma once

#include <functional>
#include <string_view>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/federation/identity/facts.h"
#include "common/wire/control/identity_fact.h"
#include "common/wire/events/feeds.h"

namespace cobblestone::feeds {

// The form in which master URLs are compared: lower case, without scheme and final slashes.
std::string ComparableUrl(std::string_view url);

// The project with this URL (ComparableUrl). kInvalidArgument: none has it, or several. A project says its URL itself, so it
// could take over the statements about another one.
using FindProject = std::function<Result<ProjectId>(std::string_view comparable_url)>;

// `signer`: as the project of the envelope is registered. `day`: of the event. kInvalidArgument, with a message for whoever
// handed the proof in: the project has no key or has not signed this, or the statement is not one for a hub. The message
// has no text of the proof, because refused records are kept for ever.
Result<wire::IdentityFact> FactOfProof(const wire::OwnershipProof& proof, ProjectId project,
                                       const wire::FeedProject& signer, federation::Day day,
                                       const FindProject& find_project);

}  // namespace cobblestone::feeds
