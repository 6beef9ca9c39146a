#include "services/feeds/proofs.h"

#include <algorithm>
#include <string>

#include "common/federation/identity/ownership_proof.h"

namespace cobblestone::feeds {

using federation::OwnerStatement;
using federation::StatementKind;
using wire::IdentityFact;
using wire::IdentityFactKind;

std::string ComparableUrl(std::string_view url) {
  std::string text(url);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  for (const std::string_view scheme : {"https://", "http://"})
    if (text.starts_with(scheme)) {
      text.erase(0, scheme.size());
      break;
    }
  while (text.ends_with('/')) text.pop_back();
  return text;
}

Result<IdentityFact> FactOfProof(const wire::OwnershipProof& proof, ProjectId project,
                                 const wire::FeedProject& signer, federation::Day day,
                                 const FindProject& find_project) {
  if (signer.ownership_key.empty())
    return Status::InvalidArgument(
        "the hub has no public key of this project; set ownership_key of its entry in `projects`");
  // Two projects may have one key.
  if (ComparableUrl(proof.master_url) != ComparableUrl(signer.url))
    return Status::InvalidArgument("the proof is of another project; this one has the URL " + signer.url);
  const federation::OwnershipProof checked{
      .master_url = proof.master_url, .message = proof.message, .signature = proof.signature};
  if (Status s = federation::VerifyOwnershipProof(checked, signer.ownership_key); !s.ok()) return s;
  const Result<OwnerStatement> statement = federation::ParseStatement(proof.message);
  if (!statement.ok()) return statement.status();
  if (statement->kind == StatementKind::kJoins) {
    const auto other = find_project(ComparableUrl(statement->other_url));
    if (!other.ok()) return other.status();
    if (*other == project && statement->other_user == statement->user)
      return Status::InvalidArgument("the proof joins an account to itself");
    return IdentityFact{.kind = IdentityFactKind::kOwnership,
                        .project = project,
                        .user = statement->user,
                        .day = day,
                        .other_project = *other,
                        .other_user = statement->other_user};
  }
  // No later statement could end one that is dated far ahead. The signer's day may have begun earlier than here.
  if (statement->day > day + 1)
    return Status::InvalidArgument("the statement is of a day that has not come yet");
  return IdentityFact{.kind = IdentityFactKind::kDeparture,
                      .project = project,
                      .user = statement->user,
                      .day = statement->day,
                      .withdrawn = statement->kind == StatementKind::kReturns};
}

}  // namespace cobblestone::feeds
