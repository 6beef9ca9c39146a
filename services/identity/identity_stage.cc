#include "services/identity/identity_stage.h"

#include "common/wire/control/identity_fact.h"
#include "common/wire/control/topics.h"

namespace cobblestone::identity {

namespace {

federation::AccountKey AccountOf(const wire::IdentityFact& fact) {
  return {.project = fact.project.value, .user = fact.user, .create_time = fact.create_time};
}

federation::AccountKey OtherOf(const wire::IdentityFact& fact) {
  return {
      .project = fact.other_project.value, .user = fact.other_user, .create_time = fact.other_create_time};
}

federation::Cpid CpidOf(const wire::IdentityFact& fact) {
  return {.high = fact.cpid_high, .low = fact.cpid_low};
}

Status Apply(const wire::IdentityFact& fact, federation::Identities& identities) {
  switch (fact.kind) {
    case wire::IdentityFactKind::kProject:
      // Refused if accounts were sent before the first edition began; they are then trusted less, which is safe.
      (void)identities.AddProject(fact.project.value, fact.day);
      return Status::Ok();
    case wire::IdentityFactKind::kSighting:
      return identities
          .Add(federation::Sighting{.account = AccountOf(fact), .cpid = CpidOf(fact), .day = fact.day})
          .status();
    case wire::IdentityFactKind::kDecision:
      return identities
          .Add(federation::Decision{.kind = static_cast<federation::DecisionKind>(fact.decision),
                                    .account = AccountOf(fact),
                                    .cpid = CpidOf(fact),
                                    .other = OtherOf(fact),
                                    .day = fact.day,
                                    .number = fact.number,
                                    .withdrawn = fact.withdrawn})
          .status();
    case wire::IdentityFactKind::kOwnership:
      return identities
          .Add(federation::Ownership{.project = fact.project.value,
                                     .user = fact.user,
                                     .other_project = fact.other_project.value,
                                     .other_user = fact.other_user,
                                     .day = fact.day})
          .status();
    case wire::IdentityFactKind::kDeparture:
      return identities
          .Add(federation::Departure{
              .project = fact.project.value, .user = fact.user, .day = fact.day, .returns = fact.withdrawn})
          .status();
    case wire::IdentityFactKind::kDeletion:
      return identities
          .Add(federation::Deletion{.project = fact.project.value, .user = fact.user, .day = fact.day})
          .status();
    case wire::IdentityFactKind::kUnknown: break;
  }
  return Status::Corrupted("an identity fact of an unknown kind");
}

}  // namespace

std::vector<stream::TopicPartition> IdentityStage::Inputs() { return {{wire::kIdentityFacts, 0}}; }

IdentityStage::IdentityStage(stream::TableHost& tables)
    : users_(tables, kUsersTable, false),
      cpids_(tables, kCpidsTable, false),
      identities_rows_(tables, kIdentitiesTable, false),
      projects_(tables, kProjectsTable, true),
      swingers_(tables, kSwingersTable, false),
      deletions_(tables, kDeletionsTable, false),
      all_{users_, cpids_, identities_rows_, projects_, swingers_, deletions_},
      identities_(all_) {}

std::vector<stream::TableBase*> IdentityStage::tables() {
  return {users_.table(),    cpids_.table(),    identities_rows_.table(),
          projects_.table(), swingers_.table(), deletions_.table()};
}

void IdentityStage::Process(std::size_t, const stream::RecordView& record, stream::Emitter& out) {
  wire::IdentityFact fact;
  if (!wire::DecodeIdentityFact(record.value, &fact))
    return out.Fail(Status::Corrupted("an identity fact cannot be decoded"));
  // FEEDS and MEMBERS send well-formed facts only.
  if (Status s = Apply(fact, identities_); !s.ok()) out.Fail(std::move(s));
}

}  // namespace cobblestone::identity
