#include "services/feeds/feeds_stage.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "common/credit/accounts/day_history.h"
#include "common/federation/identity/facts.h"
#include "common/wire/control/control_codec.h"
#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "services/feeds/proofs.h"
#include "services/stage/inbox.h"
#include "services/stage/profile_rows.h"
#include "services/stage/refuse.h"

namespace cobblestone::feeds {

using stream::Emitter;
using stream::RecordView;
using wire::EditionState;
using wire::EventHead;
using wire::FeedProject;
using wire::RefusalReason;
using wire::StampOrder;

namespace {

constexpr double kFactorsPeriod = 86400;  // s

// The topics that MEMBERS reads.
constexpr wire::Topic kWatermarkedTopics[] = {wire::kHosts, wire::kUsers, wire::kTeams};

// Whether an event whose subject has the stamp `in_force` is to be applied. An event with a known id and other
// contents is refused here.
bool IsNewer(const RecordView& record, const EventHead& head, const wire::EventStamp& in_force,
             Emitter& out) {
  const StampOrder order = wire::CompareStamps(wire::StampOf(head, record.value), in_force);
  if (order == StampOrder::kOtherContents)
    stage::Refuse(record, head.project, RefusalReason::kDuplicateWithOtherContents,
                  "another event of this kind has this id", out);
  return order == StampOrder::kNewer;
}

// The largest number of an edition: this long after its append, in milliseconds since 1970, which is what senders count in.
// No later edition could have a larger number than that of a sender that counts in smaller units, or sends any number.
constexpr double kFurthestEdition = 366 * 86400.0;  // s

bool IsTooFar(const RecordView& record, const wire::FeedEdition& edition) {
  return record.append_time > 0 &&
         static_cast<double>(edition.edition) > (record.append_time + kFurthestEdition) * 1000;
}

// Why an edition cannot begin, complete or be held now; none: it can.
std::optional<std::string> Misplaced(const ProjectRow& project, const wire::FeedEdition& edition) {
  if (edition.edition <= project.complete)
    return "edition " + std::to_string(project.complete) + " is already complete";
  if (edition.state == EditionState::kComplete && edition.edition != project.begun)
    return "the edition has not begun";
  // A whole edition replaces one that will never be complete, because its sender lost it.
  if (edition.state != EditionState::kComplete && project.begun != 0 && !edition.whole)
    return "edition " + std::to_string(project.begun) + " has begun and is not complete";
  return std::nullopt;
}

// The UNIX day; 0 for a time before 1970-01-02.
std::uint32_t DayOf(double time) {
  const std::int64_t day = credit::DayOf(time);
  return day < 1 ? 0 : static_cast<std::uint32_t>(day);
}

// A report is as old as the event with it, at least: one from the future would never be stale.
federation::VersionReport ReportOf(std::uint32_t project, const ProjectRow& row,
                                   const wire::FeedVersion& version) {
  return {.project = project,
          .project_name = row.project.name,
          .app = version.app,
          .app_name = version.app_name,
          .app_version = version.app_version,
          .platform = version.platform,
          .plan_class = version.plan_class,
          .resource = version.resource,
          .samples = version.samples,
          .scale = version.scale > 0 ? std::optional(version.scale) : std::nullopt,
          .recent_credit = version.recent_credit,
          .recent_time = std::min(version.recent_time, row.versions_stamp.time),
          .both_kinds = version.both_kinds,
          .time = std::min(row.versions.as_of, row.versions_stamp.time)};
}

}  // namespace

std::vector<stream::TopicPartition> FeedsStage::Inputs() { return {{wire::kCatalogue, 0}}; }

FeedsStage::FeedsStage(const FeedsOptions& options, stream::TableHost& tables)
    : options_(options),
      projects_(tables, kProjectsTable, true),
      editions_(tables, kEditionsTable, false),
      edition_lists_(tables, kEditionListsTable, false),
      days_(tables, kProjectDaysTable, false),
      factors_(tables, kFactorsTable, false),
      factors_state_(tables, kFactorsStateTable, true),
      relay_(tables, kRelayTable, options.partitions, kWatermarkedTopics) {}

std::vector<stream::TableBase*> FeedsStage::tables() {
  return {&projects_, &editions_, &edition_lists_, &days_, &factors_, &factors_state_, relay_.table()};
}

void FeedsStage::Process(std::size_t, const RecordView& record, Emitter& out) {
  auto event = stage::ReadEvent(record, options_.future_limit, out);
  if (!event) return;
  const EventHead& head = event->head;
  if (const auto* barrier = std::get_if<wire::Barrier>(&event->body)) {
    relay_.SendWatermark({.barrier = head.id, .ends_period = barrier->ends_period}, out);
  } else if (const auto* tick = std::get_if<wire::Tick>(&event->body)) {
    if (auto refusal = stage::FromTheFuture(record, tick->time, options_.future_limit))
      return stage::Refuse(record, head.project, refusal->reason, std::move(refusal->detail), out);
    if (!head.project) OnTick(tick->time, out);
  } else if (auto* project = std::get_if<wire::FeedProject>(&event->body)) {
    OnProject(record, head, std::move(*project), out);
  } else if (auto* edition = std::get_if<wire::FeedEdition>(&event->body)) {
    OnEdition(record, head, std::move(*edition), out);
  } else if (auto* versions = std::get_if<wire::FeedVersions>(&event->body)) {
    OnVersions(record, head, std::move(*versions), out);
  } else if (auto* health = std::get_if<wire::FeedHealth>(&event->body)) {
    OnHealth(record, head, std::move(*health), out);
  } else if (const auto* decision = std::get_if<wire::IdentityDecision>(&event->body)) {
    OnDecision(record, head, *decision, out);
  } else if (const auto* proof = std::get_if<wire::OwnershipProof>(&event->body)) {
    OnProof(record, head, *proof, out);
  } else {
    stage::Refuse(record, head.project, RefusalReason::kNotSupported,
                  "a federation hub accepts no events of this kind on this topic", out);
  }
}

// Each field has the value of the newest event with it: a project that sends its accounts knows its name and URL, and an
// operator of the hub has set the other fields.
void FeedsStage::OnProject(const RecordView& record, const EventHead& head, wire::FeedProject project,
                           Emitter& out) {
  const ProjectRow* before = projects_.Find(ProjectKey(head.project));
  const wire::EventStamp stamp = wire::StampOf(head, record.value);
  wire::FieldMask news = project.present;
  if (before != nullptr) {
    (void)IsNewer(record, head, before->project_stamp, out);  // refuses another event with a known id
    news = wire::NewerFields(stamp, project.present, before->project_stamp, before->project_earlier);
    if (news == 0) return;
  }
  if (before == nullptr ||
      ((news & FeedProject::kEraseAfter) != 0 && project.erase_after != before->project.erase_after))
    RelayEvent(head, FeedProject{.erase_after = project.erase_after}, out);
  ProjectRow& row = projects_.Mutable(ProjectKey(head.project));
  wire::StampFields(stamp, project.present, FeedProject::kAllFields, &row.project_stamp,
                    &row.project_earlier);
  std::vector<std::uint64_t>& shared = project.shared_accounts;
  std::sort(shared.begin(), shared.end());
  shared.erase(std::unique(shared.begin(), shared.end()), shared.end());
  stage::SetFields(news, project, &row.project);
}

// An edition is announced once in each state: a repeat has the stamp of the row.
void FeedsStage::OnEdition(const RecordView& record, const EventHead& head, wire::FeedEdition edition,
                           Emitter& out) {
  const ProjectRow* project = projects_.Find(ProjectKey(head.project));
  if (project == nullptr)
    return stage::Refuse(record, head.project, RefusalReason::kUnknownProject, "register the project first",
                         out);
  const wire::EventStamp stamp = wire::StampOf(head, record.value);
  if (const EditionRow* before = editions_.Find(EditionKey(head.project, edition.edition)))
    for (const wire::EventStamp& known : {before->begun, before->ended})
      if (known.id == stamp.id && known.hash == stamp.hash) return;
  if (IsTooFar(record, edition))
    return stage::Refuse(
        record, head.project, RefusalReason::kOutOfRange,
        "the number of an edition is at most the milliseconds since 1970 of a year from now, "
        "because later editions have larger numbers",
        out);
  if (auto why = Misplaced(*project, edition))
    return stage::Refuse(record, head.project, RefusalReason::kAlreadyDecided, std::move(*why), out);
  ProjectRow& row = projects_.Mutable(ProjectKey(head.project));
  bool is_new = false;
  EditionRow& kept = editions_.Mutable(EditionKey(head.project, edition.edition), &is_new);
  switch (edition.state) {
    case EditionState::kBegun:
      row.begun = edition.edition;
      kept.begun = stamp;
      if (!row.announced)
        SendFact({.kind = wire::IdentityFactKind::kProject, .project = head.project, .day = DayOf(head.time)},
                 out);
      row.announced = true;
      break;
    case EditionState::kComplete:
      row.begun = 0;
      row.complete = edition.edition;
      if (edition.whole) row.whole = edition.edition;
      kept.ended = stamp;
      CountDay(head, edition, row);
      RelayEvent(
          head, wire::FeedEdition{.edition = edition.edition, .state = edition.state, .whole = edition.whole},
          out);
      break;
    default:
      row.held = edition.edition;
      kept.ended = stamp;
      break;
  }
  const std::uint64_t number = edition.edition;
  kept.edition = std::move(edition);
  if (is_new) NoteEdition(head.project, number, row);
}

// The first edition says what the users had before, which is no day's credit.
void FeedsStage::CountDay(const EventHead& head, const wire::FeedEdition& edition, ProjectRow& project) {
  for (const wire::FeedSum& sum : edition.sums) {
    if (sum.kind != wire::AccountKind::kUser) continue;
    if (project.users_micro) {
      ProjectDayRow& day = days_.Mutable(ProjectDayKey(head.project, credit::DayOf(head.time)));
      day.micro += sum.total_micro - *project.users_micro;
      day.accounts = sum.accounts;
      day.edition = edition.edition;
    }
    project.users_micro = sum.total_micro;
  }
}

void FeedsStage::NoteEdition(ProjectId project, std::uint64_t edition, const ProjectRow& row) {
  std::vector<std::uint64_t>& numbers = edition_lists_.Mutable(ProjectKey(project)).numbers;
  numbers.push_back(edition);
  if (numbers.size() <= kEditionsKept) return;
  const auto oldest = std::find_if(numbers.begin(), numbers.end(), [&](std::uint64_t number) {
    return number != row.begun && number != row.complete && number != row.whole && number != row.held;
  });
  editions_.Erase(EditionKey(project, *oldest));
  numbers.erase(oldest);
}

void FeedsStage::OnVersions(const RecordView& record, const EventHead& head, wire::FeedVersions versions,
                            Emitter& out) {
  const ProjectRow* before = projects_.Find(ProjectKey(head.project));
  if (before == nullptr)
    return stage::Refuse(record, head.project, RefusalReason::kUnknownProject, "register the project first",
                         out);
  if (!IsNewer(record, head, before->versions_stamp, out)) return;
  ProjectRow& row = projects_.Mutable(ProjectKey(head.project));
  row.versions_stamp = wire::StampOf(head, record.value);
  row.versions = std::move(versions);
}

// The decision in force about a subject is found by IDENTITY, by (day, number).
void FeedsStage::OnDecision(const RecordView& record, const EventHead& head,
                            const wire::IdentityDecision& decision, Emitter& out) {
  const auto cpid = federation::ParseCpid(decision.cross_project_id);
  const bool joins = decision.kind == wire::IdentityDecisionKind::kJoin;
  const bool cuts = decision.kind == wire::IdentityDecisionKind::kCut;
  const bool same =
      head.project.value == decision.other_project && decision.user == decision.other_user &&
      std::floor(decision.create_time) == std::floor(decision.other_create_time);  // as IDENTITY has them
  if (DayOf(head.time) == 0 || decision.create_time < 1 || (cuts && !cpid) ||
      (joins && (decision.other_create_time < 1 || same)))
    return stage::Refuse(record, head.project, RefusalReason::kOutOfRange,
                         "an account is named by user and create_time; JOIN needs two accounts, CUT an id",
                         out);
  wire::IdentityFact fact{.kind = wire::IdentityFactKind::kDecision,
                          .project = head.project,
                          .user = decision.user,
                          .create_time = static_cast<std::uint64_t>(decision.create_time),
                          .day = DayOf(head.time),
                          .decision = decision.kind,
                          .number = head.id,
                          .withdrawn = decision.withdrawn};
  if (cuts) {
    fact.cpid_high = cpid->high;
    fact.cpid_low = cpid->low;
  }
  if (joins) {
    fact.other_project = ProjectId(decision.other_project);
    fact.other_user = decision.other_user;
    fact.other_create_time = static_cast<std::uint64_t>(decision.other_create_time);
  }
  SendFact(fact, out);
}

void FeedsStage::OnProof(const RecordView& record, const EventHead& head, const wire::OwnershipProof& proof,
                         Emitter& out) {
  const ProjectRow* project = projects_.Find(ProjectKey(head.project));
  if (project == nullptr)
    return stage::Refuse(record, head.project, RefusalReason::kUnknownProject, "register the project first",
                         out);
  const auto find = [this](std::string_view url) -> Result<ProjectId> {
    std::optional<ProjectId> found;
    std::size_t count = 0;
    projects_.ForEach([&](const stream::Key& key, const ProjectRow& row) {
      if (row.project.retired || ComparableUrl(row.project.url) != url) return;
      found = ProjectId(key.project);
      ++count;
    });
    if (count == 1) return *found;
    return Status::InvalidArgument(
        count == 0 ? "no project of this hub has the URL in the statement"
                   : "several projects of this hub say that the URL in the statement is theirs");
  };
  auto fact = FactOfProof(proof, head.project, project->project, DayOf(head.time), find);
  if (!fact.ok())
    return stage::Refuse(record, head.project, RefusalReason::kOutOfRange, fact.status().message(), out);
  SendFact(*fact, out);
}

void FeedsStage::RelayEvent(const EventHead& head, wire::EventBody body, Emitter& out) {
  bytes_.clear();
  wire::EncodeControlEvent(
      {.project = head.project, .sequence = 0, .line = 0, .number = relay_.NextNumber()},
      wire::EncodeEvent(
          {.head = {.id = head.id, .project = head.project, .time = head.time}, .body = std::move(body)}),
      &bytes_);
  relay_.Send(bytes_, out);
}

void FeedsStage::SendFact(const wire::IdentityFact& fact, Emitter& out) {
  bytes_.clear();
  wire::EncodeIdentityFact(fact, &bytes_);
  out.Emit(wire::kIdentityFacts, 0, bytes_);
}

void FeedsStage::OnTick(double time, Emitter& out) {
  const FactorsState* before = factors_state_.Find({});
  if (before != nullptr && time <= before->tick) return;
  FactorsState& state = factors_state_.Mutable({});
  state.tick = time;
  if (const std::int64_t day = credit::DayOf(time); day > state.sent_day) {
    state.sent_day = day;
    relay_.SendWatermark({.time = time}, out);
  }
  ComputeFactorsAt(time);
}

// Computed once per period, however often the clock ticks, because the slew limit holds for one computation.
void FeedsStage::ComputeFactorsAt(double time) {
  FactorsState& state = factors_state_.Mutable({});
  if (state.sequence != 0 && time < state.computed + kFactorsPeriod) return;
  std::vector<federation::VersionReport> reports;
  projects_.ForEach([&](const stream::Key& key, const ProjectRow& row) {
    if (row.project.retired || row.project.account_manager) return;
    for (const wire::FeedVersion& version : row.versions.versions)
      reports.push_back(ReportOf(key.project, row, version));
  });
  if (reports.empty() && state.sequence == 0) return;
  const FactorsRow* last = state.sequence == 0 ? nullptr : factors_.Find(FactorsKey(state.sequence));
  federation::Factors computed = federation::ComputeFactors(
      reports, {}, last == nullptr ? std::span<const federation::Factor>() : last->factors.factors, time);
  ++state.sequence;
  state.computed = time;
  factors_.Mutable(FactorsKey(state.sequence)) = {.time = time, .factors = std::move(computed)};
}

void FeedsStage::OnHealth(const RecordView& record, const EventHead& head, wire::FeedHealth health,
                          Emitter& out) {
  const ProjectRow* before = projects_.Find(ProjectKey(head.project));
  if (before == nullptr)
    return stage::Refuse(record, head.project, RefusalReason::kUnknownProject, "register the project first",
                         out);
  if (!IsNewer(record, head, before->health_stamp, out)) return;
  ProjectRow& row = projects_.Mutable(ProjectKey(head.project));
  row.health_stamp = wire::StampOf(head, record.value);
  row.health = std::move(health);
}

}  // namespace cobblestone::feeds
