#include "common/wire/events/event_proto.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/stubs/logging.h>

#include <limits>
#include <type_traits>
#include <utility>

#include "common/base/check.h"
#include "common/wire/events/constant_fields.h"
#include "common/wire/events/event_fields.h"
#include "common/wire/events/profile_proto.h"
#include "common/wire/int128_fields.h"
#include "schemas/events.pb.h"

namespace cobblestone::wire {
namespace {

using wire::FromProto;  // profile_proto.h
using wire::ToProto;

// Presence of a scalar with `optional`: the generated code's has_ and value as one std::optional.
#define COBBLESTONE_GET_OPTIONAL(field) \
  if (m.has_##field()) out.field = m.field()
#define COBBLESTONE_SET_OPTIONAL(field) \
  if (in.field) m->set_##field(*in.field)

// ---- From generated code ----------------------------------------------------------------------------------

credit::Average FromProto(const v1::Average& m) { return {.n = m.n(), .mean = m.mean()}; }
credit::AverageVar FromProto(const v1::AverageVar& m) {
  return {.n = m.n(), .mean = m.mean(), .var = m.var(), .q = m.q()};
}

DeviceUsage FromProto(const v1::DeviceUsage& m) {
  return {.resource = NarrowEnum<credit::Resource>(static_cast<std::uint32_t>(m.resource())),
          .count = m.count(),
          .peak_flops = m.peak_flops()};
}

Dispatch FromProto(const v1::Dispatch& m) {
  Dispatch out;
  out.facts.result = ResultId(m.result());
  out.facts.host = HostId(m.host());
  out.facts.workunit = WorkunitId(m.workunit());
  out.facts.app = AppId(m.app());
  out.facts.version = AppVersionId(m.app_version());
  out.facts.peak_flops = m.peak_flops();
  out.facts.sent_time = m.sent_time();
  out.facts.delay_bound = m.delay_bound();
  for (const v1::DeviceUsage& device : m.usage()) {
    out.usage.push_back(FromProto(device));
    AddUsage(out.usage.back(), &out.facts);
  }
  out.fpops_est = m.fpops_est();
  out.fpops_bound = m.fpops_bound();
  out.result_name = m.result_name();
  return out;
}

Trickle FromProto(const v1::Trickle& m) {
  Trickle out;
  out.result = ResultId(m.result());
  out.host = HostId(m.host());
  out.app = AppId(m.app());
  out.variety = m.variety();
  COBBLESTONE_GET_OPTIONAL(sequence);
  COBBLESTONE_GET_OPTIONAL(elapsed_time);
  COBBLESTONE_GET_OPTIONAL(cpu_time);
  COBBLESTONE_GET_OPTIONAL(fraction_done);
  COBBLESTONE_GET_OPTIONAL(steps);
  COBBLESTONE_GET_OPTIONAL(runtime_increment);
  out.result_name = m.result_name();
  COBBLESTONE_GET_OPTIONAL(phase);
  for (const v1::TrickleElement& element : m.others())
    out.others.push_back({.name = element.name(), .text = element.text()});
  return out;
}

HostMember FromProto(const v1::Host& m) {
  HostMember out{.host = HostId(m.host()),
                 .user = UserId(m.user()),
                 .cross_project_id = m.cross_project_id(),
                 .whetstone = m.whetstone(),
                 .dhrystone = m.dhrystone(),
                 .cpus = m.cpus(),
                 .gpus = m.gpus(),
                 .deleted = m.deleted(),
                 .create_time = m.create_time(),
                 .name = m.name(),
                 .present = PresentFields(m)};
  if (m.has_profile()) out.profile = FromProto(m.profile());
  return out;
}

UserMember FromProto(const v1::User& m) {
  UserMember out{.user = UserId(m.user()),
                 .team = TeamId(m.team()),
                 .cross_project_id = m.cross_project_id(),
                 .deleted = m.deleted(),
                 .create_time = m.create_time(),
                 .name = m.name(),
                 .country = m.country(),
                 .present = PresentFields(m)};
  if (m.has_profile()) out.profile = FromProto(m.profile());
  return out;
}

TeamMember FromProto(const v1::Team& m) {
  TeamMember out{.team = TeamId(m.team()),
                 .name = m.name(),
                 .deleted = m.deleted(),
                 .create_time = m.create_time(),
                 .country = m.country(),
                 .present = PresentFields(m)};
  if (m.has_profile()) out.profile = FromProto(m.profile());
  return out;
}

HostMerge FromProto(const v1::HostMerge& m) { return {.host = HostId(m.host()), .into = HostId(m.into())}; }

HeldResult FromProto(const v1::HeldResult& m) {
  HeldResult out{.host = HostId(m.host()),
                 .result = ResultId(m.result()),
                 .holder = HostId(m.holder()),
                 .result_name = m.result_name(),
                 .until = m.until(),
                 .sent = m.sent(),
                 .by = {},
                 .after = m.after()};
  for (const std::uint64_t host : m.by()) out.by.emplace_back(host);
  return out;
}

HandedEvent FromProto(const v1::HandedEvent& m) {
  return {.host = HostId(m.host()),
          .named = HostId(m.named()),
          .after = m.after(),
          .event = m.event(),
          .hops = m.hops()};
}

DecidedResult FromProto(const v1::DecidedResult& m) {
  return {.host = HostId(m.host()),
          .result = ResultId(m.result()),
          .named = HostId(m.named()),
          .after = m.after()};
}

// By field name, because constant_fields.h is the only list of the constants.
ConstantChanges FromProto(const v1::PolicyConstants& m) {
  ConstantChanges out;
  const auto* reflection = m.GetReflection();
  const auto field = [&](const char* name) {
    const auto* found = m.GetDescriptor()->FindFieldByName(name);
    COBBLESTONE_CHECK(found != nullptr, std::string("PolicyConstants has no field ") + name);
    return reflection->HasField(m, found) ? found : nullptr;
  };
  for (const ConstantField& constant : kConstantFields) {
    if (const auto* f = field(constant.name)) out.*constant.change = reflection->GetDouble(m, f);
  }
  COBBLESTONE_GET_OPTIONAL(replication);
  COBBLESTONE_GET_OPTIONAL(benchmark);
  COBBLESTONE_GET_OPTIONAL(version_median);
  return out;
}

TrickleRuleChange FromProto(const v1::TrickleRule& m) {
  TrickleRuleChange out{.variety = m.variety(),
                        .kind = m.kind(),
                        .measure = m.measure(),
                        .incremental = m.incremental(),
                        .max_increment = m.max_increment(),
                        .min_step_seconds = m.min_step_seconds(),
                        .median_speed = m.median_speed(),
                        .speed_limit = m.speed_limit(),
                        .credit_per_day = m.credit_per_day(),
                        .max_credit = m.max_credit()};
  for (const v1::TricklePhase& phase : m.phases())
    out.phases.push_back({.last_step = phase.last_step(), .credit_per_step = phase.credit_per_step()});
  COBBLESTONE_GET_OPTIONAL(model_factor);
  COBBLESTONE_GET_OPTIONAL(multiplier);
  return out;
}

AppChange FromProto(const v1::App& m) {
  AppChange out;
  out.app = AppId(m.app());
  out.name = m.name();
  out.policy = m.policy();
  out.policy_version = m.policy_version();
  if (m.has_constants()) out.constants = FromProto(m.constants());
  out.target_nresults = m.target_nresults();
  COBBLESTONE_GET_OPTIONAL(min_avg_pfc);
  out.host_scale_check = m.host_scale_check();
  out.delay_bound = m.delay_bound();
  out.result_window = m.result_window();
  out.deleted = m.deleted();
  for (const v1::TrickleRule& rule : m.trickles()) out.trickles.push_back(FromProto(rule));
  out.trickle_settlement = m.trickle_settlement();
  return out;
}

AppVersionChange FromProto(const v1::AppVersion& m) {
  AppVersionChange out;
  out.row.id = m.app_version();
  out.row.app = AppId(m.app());
  out.row.version_num = m.version_num();
  out.row.platform = m.platform();
  out.row.plan_class = m.plan_class();
  out.row.resource = NarrowEnum<credit::Resource>(static_cast<std::uint32_t>(m.resource()));
  out.row.deprecated = m.deprecated();
  out.row.deleted = m.deleted();
  return out;
}

EstimateLimitChanges FromProto(const v1::EstimateLimits& m) {
  EstimateLimitChanges out;
  COBBLESTONE_GET_OPTIONAL(cpus);
  COBBLESTONE_GET_OPTIONAL(cpu_flops);
  COBBLESTONE_GET_OPTIONAL(gpus);
  COBBLESTONE_GET_OPTIONAL(gpu_flops);
  COBBLESTONE_GET_OPTIONAL(saved_time);
  return out;
}

SettingsChange FromProto(const v1::Settings& m) {
  SettingsChange out;
  COBBLESTONE_GET_OPTIONAL(max_granted_credit);
  COBBLESTONE_GET_OPTIONAL(daily_result_quota);
  COBBLESTONE_GET_OPTIONAL(scale_period);
  if (m.has_estimates()) out.estimates = FromProto(m.estimates());
  return out;
}

PlanClassFactor FromProto(const v1::PlanClassFactor& m) {
  return {.plan_class = m.plan_class(), .factor = m.factor(), .provenance = m.provenance()};
}

OpeningTotal FromProto(const v1::OpeningTotal& m) {
  OpeningTotal out;
  out.kind = NarrowEnum<AccountKind>(static_cast<std::uint32_t>(m.kind()));
  out.account = m.account();
  COBBLESTONE_GET_OPTIONAL(total_micro);
  COBBLESTONE_GET_OPTIONAL(total);
  out.rac = m.rac();
  out.rac_time = m.rac_time();
  if (m.has_figures()) out.figures = FromProto(m.figures());
  return out;
}

OpeningHostVersion FromProto(const v1::OpeningHostVersion& m) {
  OpeningHostVersion out;
  out.host = HostId(m.host());
  out.app = AppId(m.app());
  out.version = AppVersionId(m.app_version());
  out.pfc = FromProto(m.pfc());
  out.et = FromProto(m.et());
  out.turnaround = FromProto(m.turnaround());
  out.consecutive_valid = m.consecutive_valid();
  out.max_jobs_per_day = m.max_jobs_per_day();
  COBBLESTONE_GET_OPTIONAL(error_rate);
  return out;
}

OpeningAppVersion FromProto(const v1::OpeningAppVersion& m) {
  return {.app_version = m.app_version(),
          .pfc = FromProto(m.pfc()),
          .pfc_scale = m.pfc_scale(),
          .expavg_credit = m.expavg_credit(),
          .expavg_time = m.expavg_time()};
}

OpeningApp FromProto(const v1::OpeningApp& m) {
  OpeningApp out;
  out.app = AppId(m.app());
  COBBLESTONE_GET_OPTIONAL(min_avg_pfc);
  return out;
}

LedgerEntry FromProto(const v1::LedgerEntry& m) {
  return {.user = UserId(m.user()),
          .host = HostId(m.host()),
          .team = TeamId(m.team()),
          .workunit = WorkunitId(m.workunit()),
          .app = AppId(m.app()),
          .app_version = AppVersionId(m.app_version()),
          .credit_micro = m.credit_micro(),
          .recent = m.recent(),
          .recent_time = m.recent_time(),
          .counted = m.counted(),
          .previous = m.previous()};
}

template <class M>
std::optional<LedgerEntry> EntryFromProto(const M& m) {
  return m.has_entry() ? std::optional(FromProto(m.entry())) : std::nullopt;
}

Repricing FromProto(const v1::Repricing& m) {
  Repricing out{.policy_version = m.policy_version(),
                .result = ResultId(m.result()),
                .reason = m.reason(),
                .entry = EntryFromProto(m),
                .credit_micro = m.credit_micro()};
  if (m.has_judged_invalid())
    out.judged_invalid = JudgedInvalid{.team_time = m.judged_invalid().team_time(),
                                       .like_result = ResultId(m.judged_invalid().like_result())};
  return out;
}

JobRepricing FromProto(const v1::JobRepricing& m) {
  JobRepricing out{.host = HostId(m.host()),
                   .result = ResultId(m.result()),
                   .reason = m.reason(),
                   .policy_version = m.policy_version()};
  for (const v1::RepricedShare& share : m.shares())
    out.shares.push_back({.entry = EntryFromProto(share),
                          .paid_micro = share.paid_micro(),
                          .taken_micro = share.taken_micro(),
                          .repriced_paid_micro = share.repriced_paid_micro(),
                          .repriced_taken_micro = share.repriced_taken_micro()});
  return out;
}

MachineHost FromProto(const v1::MachineHost& m) {
  return {.machine = m.machine(), .host = HostId(m.host()), .user = UserId(m.user()), .gone = m.gone()};
}

EstimatedCredit FromProto(const v1::EstimatedCredit& m) {
  EstimatedCredit out;
  out.host = HostId(m.host());
  out.machine = m.machine();
  out.cpus = m.cpus();
  out.cpu_flops = m.cpu_flops();
  out.gpus = m.gpus();
  out.gpu_flops = m.gpu_flops();
  for (const v1::ResourceCounter& counter : m.counters()) {
    out.counters.push_back(
        {.resource = NarrowEnum<credit::Resource>(static_cast<std::uint32_t>(counter.resource())),
         .credit = counter.credit(),
         .run_time = counter.run_time(),
         .jobs = counter.jobs(),
         .failed_jobs = counter.failed_jobs(),
         .failed_run_time = counter.failed_run_time()});
  }
  return out;
}

FeedProject FromProto(const v1::FeedProject& m) {
  const auto& shared = m.shared_accounts().users();
  return {.name = m.name(),
          .url = m.url(),
          .mode = NarrowEnum<FeedMode>(static_cast<std::uint32_t>(m.mode())),
          .retired = m.retired(),
          .ownership_key = m.ownership_key(),
          .points_per_cobblestone = m.points_per_cobblestone(),
          .erase_after = m.erase_after(),
          .shared_accounts = {shared.begin(), shared.end()},
          .account_manager = m.account_manager(),
          .points_since = m.points_since(),
          .present = PresentFields(m) | FeedProject::kRequired};
}

FeedEdition FromProto(const v1::FeedEdition& m) {
  FeedEdition out{.edition = m.edition(),
                  .state = NarrowEnum<EditionState>(static_cast<std::uint32_t>(m.state())),
                  .published_time = m.published_time(),
                  .digest = m.digest(),
                  .reason = m.reason(),
                  .released = m.released(),
                  .whole = m.whole()};
  for (const v1::FeedSum& sum : m.sums())
    out.sums.push_back(
        {.kind = NarrowEnum<AccountKind>(static_cast<std::uint32_t>(sum.kind())),
         .accounts = sum.accounts(),
         .total_micro = JoinHalves(sum.total_micro_low(), sum.total_micro_high()),
         .changed = sum.changed(),
         .not_shown = sum.not_shown(),
         .not_shown_micro = JoinHalves(sum.not_shown_micro_low(), sum.not_shown_micro_high())});
  return out;
}

FeedVersions FromProto(const v1::FeedVersions& m) {
  FeedVersions out{.as_of = m.as_of()};
  for (const v1::FeedVersion& version : m.versions())
    out.versions.push_back(
        {.app = version.app(),
         .app_name = version.app_name(),
         .app_version = version.app_version(),
         .platform = version.platform(),
         .plan_class = version.plan_class(),
         .resource = NarrowEnum<credit::Resource>(static_cast<std::uint32_t>(version.resource())),
         .samples = version.samples(),
         .scale = version.scale(),
         .recent_credit = version.recent_credit(),
         .recent_time = version.recent_time(),
         .both_kinds = version.both_kinds()});
  return out;
}

FeedHealth FromProto(const v1::FeedHealth& m) {
  return {.condition = NarrowEnum<FeedCondition>(static_cast<std::uint32_t>(m.condition())),
          .reason = m.reason()};
}

FeedAccount FromProto(const v1::FeedAccount& m) {
  FeedAccount out{.kind = NarrowEnum<AccountKind>(static_cast<std::uint32_t>(m.kind())),
                  .account = m.account(),
                  .edition = m.edition(),
                  .gone = m.gone(),
                  .total_micro = m.total_micro(),
                  .recent = m.recent(),
                  .recent_time = m.recent_time(),
                  .create_time = m.create_time(),
                  .name = m.name(),
                  .country = m.country(),
                  .url = m.url(),
                  .cross_project_id = m.cross_project_id(),
                  .team = m.team(),
                  .owner = m.owner(),
                  .description = m.description(),
                  .erased = m.erased()};
  for (const v1::FeedCorrection& one : m.corrections())
    out.corrections.push_back({.micro = JoinHalves(one.micro_low(), one.micro_high()),
                               .came = one.day_came(),
                               .about = one.day_about()});
  return out;
}

IdentityDecision FromProto(const v1::IdentityDecision& m) {
  return {.kind = NarrowEnum<IdentityDecisionKind>(static_cast<std::uint32_t>(m.kind())),
          .user = m.user(),
          .create_time = m.create_time(),
          .cross_project_id = m.cross_project_id(),
          .other_project = m.other_project(),
          .other_user = m.other_user(),
          .other_create_time = m.other_create_time(),
          .withdrawn = m.withdrawn(),
          .reason = m.reason()};
}

EventBody BodyFromProto(const v1::Envelope& m) {
  switch (m.event_case()) {
    case v1::Envelope::kDispatch: {
      Dispatch dispatch = FromProto(m.dispatch());
      dispatch.facts.event_time = m.time();
      return dispatch;
    }
    case v1::Envelope::kTrickle: return FromProto(m.trickle());
    case v1::Envelope::kHost: return FromProto(m.host());
    case v1::Envelope::kUser: return FromProto(m.user());
    case v1::Envelope::kTeam: return FromProto(m.team());
    case v1::Envelope::kHostMerge: return FromProto(m.host_merge());
    case v1::Envelope::kAccountFacts: return FromProto(m.account_facts());
    case v1::Envelope::kHostAsked:
      return HostAsked{.host = HostId(m.host_asked().host()), .user = UserId(m.host_asked().user())};
    case v1::Envelope::kHeldResult: return FromProto(m.held_result());
    case v1::Envelope::kHandedEvent: return FromProto(m.handed_event());
    case v1::Envelope::kDecidedResult: return FromProto(m.decided_result());
    case v1::Envelope::kApp: return FromProto(m.app());
    case v1::Envelope::kAppVersion: return FromProto(m.app_version());
    case v1::Envelope::kSettings: return FromProto(m.settings());
    case v1::Envelope::kValidatorRestart: return ValidatorRestart{};
    case v1::Envelope::kTick: return Tick{.time = m.tick().time()};
    case v1::Envelope::kPlanClassFactor: return FromProto(m.plan_class_factor());
    case v1::Envelope::kBarrier: return Barrier{.ends_period = m.barrier().ends_period()};
    case v1::Envelope::kMark:
      return Watermark{.number = m.mark().number(),
                       .project = ProjectId(m.project()),
                       .time = m.mark().time(),
                       .barrier = m.mark().barrier(),
                       .ends_period = m.mark().ends_period()};
    case v1::Envelope::kProjectProfile: return FromProto(m.project_profile());
    case v1::Envelope::kOpeningTotal: return FromProto(m.opening_total());
    case v1::Envelope::kOpeningHostVersion: return FromProto(m.opening_host_version());
    case v1::Envelope::kOpeningAppVersion: return FromProto(m.opening_app_version());
    case v1::Envelope::kOpeningApp: return FromProto(m.opening_app());
    case v1::Envelope::kReversal:
      return Reversal{.result = ResultId(m.reversal().result()),
                      .reason = m.reversal().reason(),
                      .entry = EntryFromProto(m.reversal())};
    case v1::Envelope::kRepricing: return FromProto(m.repricing());
    case v1::Envelope::kJobReversal:
      return JobReversal{.host = HostId(m.job_reversal().host()),
                         .result = ResultId(m.job_reversal().result()),
                         .reason = m.job_reversal().reason(),
                         .entry = EntryFromProto(m.job_reversal()),
                         .paid_micro = m.job_reversal().paid_micro(),
                         .repriced = m.job_reversal().repriced()};
    case v1::Envelope::kJobRepricing: return FromProto(m.job_repricing());
    case v1::Envelope::kEstimatedCredit: return FromProto(m.estimated_credit());
    case v1::Envelope::kMachineHost: return FromProto(m.machine_host());
    case v1::Envelope::kProjectName:
      return ProjectName{.name = m.project_name().name(), .url = m.project_name().url()};
    case v1::Envelope::kFeedProject: return FromProto(m.feed_project());
    case v1::Envelope::kFeedEdition: return FromProto(m.feed_edition());
    case v1::Envelope::kFeedVersions: return FromProto(m.feed_versions());
    case v1::Envelope::kFeedHealth: return FromProto(m.feed_health());
    case v1::Envelope::kFeedAccount: return FromProto(m.feed_account());
    case v1::Envelope::kOwnershipProof:
      return OwnershipProof{.master_url = m.ownership_proof().master_url(),
                            .message = m.ownership_proof().message(),
                            .signature = m.ownership_proof().signature()};
    case v1::Envelope::kIdentityDecision: return FromProto(m.identity_decision());
    case v1::Envelope::kCompletion:
    case v1::Envelope::kValidation:
    case v1::Envelope::EVENT_NOT_SET: break;
  }
  return std::monostate{};
}

// ---- To generated code ------------------------------------------------------------------------------------

v1::Resource ToProto(credit::Resource resource) { return static_cast<v1::Resource>(resource); }

void ToProto(const credit::Average& in, v1::Average* m) {
  m->set_n(in.n);
  m->set_mean(in.mean);
}

void ToProto(const credit::AverageVar& in, v1::AverageVar* m) {
  m->set_n(in.n);
  m->set_mean(in.mean);
  m->set_var(in.var);
  m->set_q(in.q);
}

void Put(std::monostate, v1::Envelope*) {}
void Put(const Completion&, v1::Envelope*) {}
void Put(const credit::ValidationFacts&, v1::Envelope*) {}

void Put(const Dispatch& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_dispatch();
  m->set_result(in.facts.result.value);
  m->set_host(in.facts.host.value);
  m->set_workunit(in.facts.workunit.value);
  m->set_app(in.facts.app.value);
  m->set_app_version(in.facts.version.value);
  m->set_peak_flops(in.facts.peak_flops);
  m->set_sent_time(in.facts.sent_time);
  m->set_delay_bound(in.facts.delay_bound);
  for (const DeviceUsage& device : in.usage) {
    auto* usage = m->add_usage();
    usage->set_resource(ToProto(device.resource));
    usage->set_count(device.count);
    usage->set_peak_flops(device.peak_flops);
  }
  m->set_fpops_est(in.fpops_est);
  m->set_fpops_bound(in.fpops_bound);
  m->set_result_name(in.result_name);
}

void Put(const Trickle& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_trickle();
  m->set_result(in.result.value);
  m->set_host(in.host.value);
  m->set_app(in.app.value);
  m->set_variety(in.variety);
  COBBLESTONE_SET_OPTIONAL(sequence);
  COBBLESTONE_SET_OPTIONAL(elapsed_time);
  COBBLESTONE_SET_OPTIONAL(cpu_time);
  COBBLESTONE_SET_OPTIONAL(fraction_done);
  COBBLESTONE_SET_OPTIONAL(steps);
  COBBLESTONE_SET_OPTIONAL(runtime_increment);
  m->set_result_name(in.result_name);
  COBBLESTONE_SET_OPTIONAL(phase);
  for (const TrickleElement& element : in.others) {
    auto* other = m->add_others();
    other->set_name(element.name);
    other->set_text(element.text);
  }
}

void Put(const HostMember& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_host();
  m->set_host(in.host.value);
  m->set_user(in.user.value);
  m->set_cross_project_id(in.cross_project_id);
  m->set_whetstone(in.whetstone);
  m->set_dhrystone(in.dhrystone);
  m->set_cpus(in.cpus);
  m->set_gpus(in.gpus);
  m->set_deleted(in.deleted);
  m->set_create_time(in.create_time);
  m->set_name(in.name);
  KeepPresent(in.present, m);
  if (in.profile) ToProto(*in.profile, m->mutable_profile());
}

void Put(const UserMember& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_user();
  m->set_user(in.user.value);
  m->set_team(in.team.value);
  m->set_cross_project_id(in.cross_project_id);
  m->set_deleted(in.deleted);
  m->set_create_time(in.create_time);
  m->set_name(in.name);
  m->set_country(in.country);
  KeepPresent(in.present, m);
  if (in.profile) ToProto(*in.profile, m->mutable_profile());
}

void Put(const TeamMember& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_team();
  m->set_team(in.team.value);
  m->set_name(in.name);
  m->set_deleted(in.deleted);
  m->set_create_time(in.create_time);
  m->set_country(in.country);
  KeepPresent(in.present, m);
  if (in.profile) ToProto(*in.profile, m->mutable_profile());
}

void Put(const HostMerge& in, v1::Envelope* envelope) {
  envelope->mutable_host_merge()->set_host(in.host.value);
  envelope->mutable_host_merge()->set_into(in.into.value);
}

void Put(const HostAsked& in, v1::Envelope* envelope) {
  envelope->mutable_host_asked()->set_host(in.host.value);
  envelope->mutable_host_asked()->set_user(in.user.value);
}

void Put(const HeldResult& in, v1::Envelope* envelope) {
  v1::HeldResult* m = envelope->mutable_held_result();
  m->set_host(in.host.value);
  m->set_result(in.result.value);
  m->set_holder(in.holder.value);
  m->set_result_name(in.result_name);
  m->set_until(in.until);
  m->set_sent(in.sent);
  for (const HostId host : in.by) m->add_by(host.value);
  m->set_after(in.after);
}

void Put(const HandedEvent& in, v1::Envelope* envelope) {
  v1::HandedEvent* m = envelope->mutable_handed_event();
  m->set_host(in.host.value);
  m->set_named(in.named.value);
  m->set_after(in.after);
  m->set_event(in.event);
  m->set_hops(in.hops);
}

void Put(const DecidedResult& in, v1::Envelope* envelope) {
  v1::DecidedResult* m = envelope->mutable_decided_result();
  m->set_host(in.host.value);
  m->set_result(in.result.value);
  m->set_named(in.named.value);
  m->set_after(in.after);
}

void Put(const AccountFacts& in, v1::Envelope* envelope) { ToProto(in, envelope->mutable_account_facts()); }

void Put(const ProjectProfile& in, v1::Envelope* envelope) {
  ToProto(in, envelope->mutable_project_profile());
}

void ToProto(const ConstantChanges& in, v1::PolicyConstants* m) {
  for (const ConstantField& constant : kConstantFields) {
    const auto* field = m->GetDescriptor()->FindFieldByName(constant.name);
    COBBLESTONE_CHECK(field != nullptr, std::string("PolicyConstants has no field ") + constant.name);
    if (const auto& value = in.*constant.change) m->GetReflection()->SetDouble(m, field, *value);
  }
  COBBLESTONE_SET_OPTIONAL(replication);
  COBBLESTONE_SET_OPTIONAL(benchmark);
  COBBLESTONE_SET_OPTIONAL(version_median);
}

void ToProto(const TrickleRuleChange& in, v1::TrickleRule* m) {
  m->set_variety(in.variety);
  m->set_kind(in.kind);
  m->set_measure(in.measure);
  m->set_incremental(in.incremental);
  m->set_max_increment(in.max_increment);
  for (const credit::TricklePhase& phase : in.phases) {
    auto* out = m->add_phases();
    out->set_last_step(phase.last_step);
    out->set_credit_per_step(phase.credit_per_step);
  }
  COBBLESTONE_SET_OPTIONAL(model_factor);
  COBBLESTONE_SET_OPTIONAL(multiplier);
  m->set_min_step_seconds(in.min_step_seconds);
  m->set_median_speed(in.median_speed);
  m->set_speed_limit(in.speed_limit);
  m->set_credit_per_day(in.credit_per_day);
  m->set_max_credit(in.max_credit);
}

void Put(const AppChange& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_app();
  m->set_app(in.app.value);
  m->set_name(in.name);
  m->set_policy(in.policy);
  m->set_policy_version(in.policy_version);
  if (in.constants) ToProto(*in.constants, m->mutable_constants());
  m->set_target_nresults(in.target_nresults);
  COBBLESTONE_SET_OPTIONAL(min_avg_pfc);
  m->set_host_scale_check(in.host_scale_check);
  m->set_delay_bound(in.delay_bound);
  m->set_result_window(in.result_window);
  m->set_deleted(in.deleted);
  for (const TrickleRuleChange& rule : in.trickles) ToProto(rule, m->add_trickles());
  m->set_trickle_settlement(in.trickle_settlement);
}

void Put(const AppVersionChange& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_app_version();
  m->set_app_version(in.row.id);
  m->set_app(in.row.app.value);
  m->set_version_num(in.row.version_num);
  m->set_platform(in.row.platform);
  m->set_plan_class(in.row.plan_class);
  m->set_resource(ToProto(in.row.resource));
  m->set_deprecated(in.row.deprecated);
  m->set_deleted(in.row.deleted);
}

void Put(const EstimateLimitChanges& in, v1::EstimateLimits* m) {
  COBBLESTONE_SET_OPTIONAL(cpus);
  COBBLESTONE_SET_OPTIONAL(cpu_flops);
  COBBLESTONE_SET_OPTIONAL(gpus);
  COBBLESTONE_SET_OPTIONAL(gpu_flops);
  COBBLESTONE_SET_OPTIONAL(saved_time);
}

void Put(const SettingsChange& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_settings();
  COBBLESTONE_SET_OPTIONAL(max_granted_credit);
  COBBLESTONE_SET_OPTIONAL(daily_result_quota);
  COBBLESTONE_SET_OPTIONAL(scale_period);
  if (in.estimates != EstimateLimitChanges{}) Put(in.estimates, m->mutable_estimates());
}

void Put(const ValidatorRestart&, v1::Envelope* envelope) { envelope->mutable_validator_restart(); }
void Put(const Tick& in, v1::Envelope* envelope) { envelope->mutable_tick()->set_time(in.time); }

void Put(const Barrier& in, v1::Envelope* envelope) {
  envelope->mutable_barrier()->set_ends_period(in.ends_period);
}

void Put(const Watermark& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_mark();
  m->set_number(in.number);
  m->set_time(in.time);
  m->set_barrier(in.barrier);
  m->set_ends_period(in.ends_period);
}

void Put(const PlanClassFactor& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_plan_class_factor();
  m->set_plan_class(in.plan_class);
  m->set_factor(in.factor);
  m->set_provenance(in.provenance);
}

void Put(const FeedProject& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_feed_project();
  m->set_name(in.name);
  m->set_url(in.url);
  m->set_mode(static_cast<v1::FeedMode>(in.mode));
  m->set_retired(in.retired);
  m->set_ownership_key(in.ownership_key);
  m->set_points_per_cobblestone(in.points_per_cobblestone);
  m->set_erase_after(in.erase_after);
  auto* shared = m->mutable_shared_accounts();  // present, if empty as well
  shared->mutable_users()->Assign(in.shared_accounts.begin(), in.shared_accounts.end());
  m->set_account_manager(in.account_manager);
  m->set_points_since(in.points_since);
  KeepPresent(in.present | FeedProject::kRequired, m);
}

void Put(const FeedEdition& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_feed_edition();
  m->set_edition(in.edition);
  m->set_state(static_cast<v1::EditionState>(in.state));
  m->set_published_time(in.published_time);
  m->set_digest(in.digest);
  m->set_reason(in.reason);
  m->set_released(in.released);
  m->set_whole(in.whole);
  for (const FeedSum& sum : in.sums) {
    auto* one = m->add_sums();
    one->set_kind(static_cast<v1::AccountKind>(sum.kind));
    one->set_accounts(sum.accounts);
    one->set_total_micro_low(LowHalf(sum.total_micro));
    one->set_total_micro_high(HighHalf(sum.total_micro));
    one->set_changed(sum.changed);
    one->set_not_shown(sum.not_shown);
    one->set_not_shown_micro_low(LowHalf(sum.not_shown_micro));
    one->set_not_shown_micro_high(HighHalf(sum.not_shown_micro));
  }
}

void Put(const FeedVersions& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_feed_versions();
  m->set_as_of(in.as_of);
  for (const FeedVersion& version : in.versions) {
    auto* one = m->add_versions();
    one->set_app(version.app);
    one->set_app_name(version.app_name);
    one->set_app_version(version.app_version);
    one->set_platform(version.platform);
    one->set_plan_class(version.plan_class);
    one->set_resource(ToProto(version.resource));
    one->set_samples(version.samples);
    one->set_scale(version.scale);
    one->set_recent_credit(version.recent_credit);
    one->set_recent_time(version.recent_time);
    one->set_both_kinds(version.both_kinds);
  }
}

void Put(const FeedHealth& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_feed_health();
  m->set_condition(static_cast<v1::FeedCondition>(in.condition));
  m->set_reason(in.reason);
}

void Put(const FeedAccount& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_feed_account();
  m->set_kind(static_cast<v1::AccountKind>(in.kind));
  m->set_account(in.account);
  m->set_edition(in.edition);
  m->set_gone(in.gone);
  m->set_total_micro(in.total_micro);
  m->set_recent(in.recent);
  m->set_recent_time(in.recent_time);
  m->set_create_time(in.create_time);
  m->set_name(in.name);
  m->set_country(in.country);
  m->set_url(in.url);
  m->set_cross_project_id(in.cross_project_id);
  m->set_team(in.team);
  m->set_owner(in.owner);
  m->set_description(in.description);
  m->set_erased(in.erased);
  for (const credit::CorrectedDay& one : in.corrections) {
    v1::FeedCorrection* correction = m->add_corrections();
    correction->set_day_came(one.came);
    correction->set_day_about(one.about);
    correction->set_micro_low(LowHalf(one.micro));
    correction->set_micro_high(HighHalf(one.micro));
  }
}

void Put(const OwnershipProof& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_ownership_proof();
  m->set_master_url(in.master_url);
  m->set_message(in.message);
  m->set_signature(in.signature);
}

void Put(const IdentityDecision& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_identity_decision();
  m->set_kind(static_cast<v1::IdentityDecisionKind>(in.kind));
  m->set_user(in.user);
  m->set_create_time(in.create_time);
  m->set_cross_project_id(in.cross_project_id);
  m->set_other_project(in.other_project);
  m->set_other_user(in.other_user);
  m->set_other_create_time(in.other_create_time);
  m->set_withdrawn(in.withdrawn);
  m->set_reason(in.reason);
}

void Put(const OpeningTotal& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_opening_total();
  m->set_kind(static_cast<v1::AccountKind>(in.kind));
  m->set_account(in.account);
  COBBLESTONE_SET_OPTIONAL(total_micro);
  COBBLESTONE_SET_OPTIONAL(total);
  m->set_rac(in.rac);
  m->set_rac_time(in.rac_time);
  if (in.figures) ToProto(*in.figures, m->mutable_figures());
}

void Put(const OpeningHostVersion& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_opening_host_version();
  m->set_host(in.host.value);
  m->set_app(in.app.value);
  m->set_app_version(in.version.value);
  ToProto(in.pfc, m->mutable_pfc());
  ToProto(in.et, m->mutable_et());
  ToProto(in.turnaround, m->mutable_turnaround());
  m->set_consecutive_valid(in.consecutive_valid);
  m->set_max_jobs_per_day(in.max_jobs_per_day);
  COBBLESTONE_SET_OPTIONAL(error_rate);
}

void Put(const OpeningAppVersion& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_opening_app_version();
  m->set_app_version(in.app_version);
  ToProto(in.pfc, m->mutable_pfc());
  m->set_pfc_scale(in.pfc_scale);
  m->set_expavg_credit(in.expavg_credit);
  m->set_expavg_time(in.expavg_time);
}

void Put(const OpeningApp& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_opening_app();
  m->set_app(in.app.value);
  COBBLESTONE_SET_OPTIONAL(min_avg_pfc);
}

void Put(const LedgerEntry& in, v1::LedgerEntry* m) {
  m->set_user(in.user.value);
  m->set_host(in.host.value);
  m->set_team(in.team.value);
  m->set_workunit(in.workunit.value);
  m->set_app(in.app.value);
  m->set_app_version(in.app_version.value);
  m->set_credit_micro(in.credit_micro);
  m->set_recent(in.recent);
  m->set_recent_time(in.recent_time);
  m->set_counted(in.counted);
  m->set_previous(in.previous);
}

void Put(const Reversal& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_reversal();
  m->set_result(in.result.value);
  m->set_reason(in.reason);
  if (in.entry) Put(*in.entry, m->mutable_entry());
}

void Put(const Repricing& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_repricing();
  m->set_policy_version(in.policy_version);
  m->set_result(in.result.value);
  m->set_reason(in.reason);
  if (in.entry) Put(*in.entry, m->mutable_entry());
  m->set_credit_micro(in.credit_micro);
  if (in.judged_invalid) {
    m->mutable_judged_invalid()->set_team_time(in.judged_invalid->team_time);
    m->mutable_judged_invalid()->set_like_result(in.judged_invalid->like_result.value);
  }
}

void Put(const JobReversal& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_job_reversal();
  m->set_host(in.host.value);
  m->set_result(in.result.value);
  m->set_reason(in.reason);
  if (in.entry) Put(*in.entry, m->mutable_entry());
  m->set_paid_micro(in.paid_micro);
  m->set_repriced(in.repriced);
}

void Put(const JobRepricing& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_job_repricing();
  m->set_host(in.host.value);
  m->set_result(in.result.value);
  m->set_reason(in.reason);
  m->set_policy_version(in.policy_version);
  for (const RepricedShare& share : in.shares) {
    auto* one = m->add_shares();
    if (share.entry) Put(*share.entry, one->mutable_entry());
    one->set_paid_micro(share.paid_micro);
    one->set_taken_micro(share.taken_micro);
    one->set_repriced_paid_micro(share.repriced_paid_micro);
    one->set_repriced_taken_micro(share.repriced_taken_micro);
  }
}

void Put(const MachineHost& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_machine_host();
  m->set_machine(in.machine);
  m->set_host(in.host.value);
  m->set_user(in.user.value);
  m->set_gone(in.gone);
}

void Put(const ProjectName& in, v1::Envelope* envelope) {
  envelope->mutable_project_name()->set_name(in.name);
  envelope->mutable_project_name()->set_url(in.url);
}

void Put(const EstimatedCredit& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_estimated_credit();
  m->set_host(in.host.value);
  m->set_machine(in.machine);
  m->set_cpus(in.cpus);
  m->set_cpu_flops(in.cpu_flops);
  m->set_gpus(in.gpus);
  m->set_gpu_flops(in.gpu_flops);
  for (const ResourceCounter& counter : in.counters) {
    auto* to = m->add_counters();
    to->set_resource(ToProto(counter.resource));
    to->set_credit(counter.credit);
    to->set_run_time(counter.run_time);
    to->set_jobs(counter.jobs);
    to->set_failed_jobs(counter.failed_jobs);
    to->set_failed_run_time(counter.failed_run_time);
  }
}

#undef COBBLESTONE_GET_OPTIONAL
#undef COBBLESTONE_SET_OPTIONAL

}  // namespace

std::optional<Event> ParseWithGeneratedCode(std::string_view bytes) {
  // Generated code writes a line to standard error for each text that is not UTF-8, so that a producer could
  // fill a disk. The caller reports refused events.
  [[maybe_unused]] static google::protobuf::LogHandler* const quiet =
      google::protobuf::SetLogHandler(nullptr);
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return std::nullopt;
  v1::Envelope envelope;
  if (!envelope.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return std::nullopt;
  Event event;
  event.head = {.id = envelope.id(), .project = ProjectId(envelope.project()), .time = envelope.time()};
  event.body = BodyFromProto(envelope);
  return event;
}

std::string EncodeWithGeneratedCode(const Event& event) {
  v1::Envelope envelope;
  envelope.set_id(event.head.id);
  envelope.set_project(event.head.project.value);
  envelope.set_time(event.head.time);
  std::visit([&](const auto& body) { Put(body, &envelope); }, event.body);
  return envelope.SerializeAsString();
}

}  // namespace cobblestone::wire
