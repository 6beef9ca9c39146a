#include "common/wire/event_proto.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/stubs/logging.h>

#include <limits>
#include <type_traits>
#include <utility>

#include "common/base/check.h"
#include "common/wire/constant_fields.h"
#include "common/wire/event_fields.h"
#include "schemas/events.pb.h"

namespace cobblestone::wire {
namespace {

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
  return out;
}

HostMember FromProto(const v1::Host& m) {
  return {.host = HostId(m.host()),
          .user = UserId(m.user()),
          .cross_project_id = m.cross_project_id(),
          .whetstone = m.whetstone(),
          .dhrystone = m.dhrystone(),
          .cpus = m.cpus(),
          .gpus = m.gpus(),
          .deleted = m.deleted(),
          .create_time = m.create_time(),
          .name = m.name()};
}

UserMember FromProto(const v1::User& m) {
  return {.user = UserId(m.user()),
          .team = TeamId(m.team()),
          .cross_project_id = m.cross_project_id(),
          .statistics_consent = m.statistics_consent(),
          .deleted = m.deleted(),
          .create_time = m.create_time(),
          .name = m.name(),
          .country = m.country()};
}

TeamMember FromProto(const v1::Team& m) {
  return {.team = TeamId(m.team()),
          .name = m.name(),
          .deleted = m.deleted(),
          .create_time = m.create_time(),
          .country = m.country()};
}

HostMerge FromProto(const v1::HostMerge& m) { return {.host = HostId(m.host()), .into = HostId(m.into())}; }

// By name, because constant_fields.h is the one list of them.
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

SettingsChange FromProto(const v1::Settings& m) {
  SettingsChange out;
  COBBLESTONE_GET_OPTIONAL(max_granted_credit);
  COBBLESTONE_GET_OPTIONAL(daily_result_quota);
  COBBLESTONE_GET_OPTIONAL(scale_period);
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

// Reversal and Repricing name their targets alike.
template <class M>
Target TargetFromProto(const M& m) {
  switch (m.target_case()) {
    case M::kResult: return {TargetKind::kResult, m.result()};
    case M::kHost: return {TargetKind::kHost, m.host()};
    case M::kWorkunit: return {TargetKind::kWorkunit, m.workunit()};
    case M::kAppVersion: return {TargetKind::kAppVersion, m.app_version()};
    case M::TARGET_NOT_SET: break;
  }
  return {};
}

EstimatedCredit FromProto(const v1::EstimatedCredit& m) {
  EstimatedCredit out;
  out.host = HostId(m.host());
  for (const v1::ResourceCounter& counter : m.counters()) {
    out.counters.push_back(
        {.resource = NarrowEnum<credit::Resource>(static_cast<std::uint32_t>(counter.resource())),
         .credit = counter.credit(),
         .run_time = counter.run_time()});
  }
  return out;
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
    case v1::Envelope::kApp: return FromProto(m.app());
    case v1::Envelope::kAppVersion: return FromProto(m.app_version());
    case v1::Envelope::kSettings: return FromProto(m.settings());
    case v1::Envelope::kValidatorRestart: return ValidatorRestart{};
    case v1::Envelope::kTick: return Tick{.time = m.tick().time()};
    case v1::Envelope::kPlanClassFactor: return FromProto(m.plan_class_factor());
    case v1::Envelope::kBarrier: return Barrier{.ends_period = m.barrier().ends_period()};
    case v1::Envelope::kMark:
      return Mark{.number = m.mark().number(),
                  .project = ProjectId(m.project()),
                  .time = m.mark().time(),
                  .barrier = m.mark().barrier(),
                  .ends_period = m.mark().ends_period()};
    case v1::Envelope::kOpeningTotal: return FromProto(m.opening_total());
    case v1::Envelope::kOpeningHostVersion: return FromProto(m.opening_host_version());
    case v1::Envelope::kOpeningAppVersion: return FromProto(m.opening_app_version());
    case v1::Envelope::kReversal:
      return Reversal{.target = TargetFromProto(m.reversal()), .reason = m.reversal().reason()};
    case v1::Envelope::kRepricing:
      return Repricing{.policy_version = m.repricing().policy_version(),
                       .target = TargetFromProto(m.repricing()),
                       .reason = m.repricing().reason()};
    case v1::Envelope::kEstimatedCredit: return FromProto(m.estimated_credit());
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
}

void Put(const UserMember& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_user();
  m->set_user(in.user.value);
  m->set_team(in.team.value);
  m->set_cross_project_id(in.cross_project_id);
  m->set_statistics_consent(in.statistics_consent);
  m->set_deleted(in.deleted);
  m->set_create_time(in.create_time);
  m->set_name(in.name);
  m->set_country(in.country);
}

void Put(const TeamMember& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_team();
  m->set_team(in.team.value);
  m->set_name(in.name);
  m->set_deleted(in.deleted);
  m->set_create_time(in.create_time);
  m->set_country(in.country);
}

void Put(const HostMerge& in, v1::Envelope* envelope) {
  envelope->mutable_host_merge()->set_host(in.host.value);
  envelope->mutable_host_merge()->set_into(in.into.value);
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

void Put(const SettingsChange& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_settings();
  COBBLESTONE_SET_OPTIONAL(max_granted_credit);
  COBBLESTONE_SET_OPTIONAL(daily_result_quota);
  COBBLESTONE_SET_OPTIONAL(scale_period);
}

void Put(const ValidatorRestart&, v1::Envelope* envelope) { envelope->mutable_validator_restart(); }
void Put(const Tick& in, v1::Envelope* envelope) { envelope->mutable_tick()->set_time(in.time); }

void Put(const Barrier& in, v1::Envelope* envelope) {
  envelope->mutable_barrier()->set_ends_period(in.ends_period);
}

void Put(const Mark& in, v1::Envelope* envelope) {
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

void Put(const OpeningTotal& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_opening_total();
  m->set_kind(static_cast<v1::AccountKind>(in.kind));
  m->set_account(in.account);
  COBBLESTONE_SET_OPTIONAL(total_micro);
  COBBLESTONE_SET_OPTIONAL(total);
  m->set_rac(in.rac);
  m->set_rac_time(in.rac_time);
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

template <class M>
void PutTarget(const Target& target, M* m) {
  switch (target.kind) {
    case TargetKind::kNone: break;
    case TargetKind::kResult: m->set_result(target.id); break;
    case TargetKind::kHost: m->set_host(target.id); break;
    case TargetKind::kWorkunit: m->set_workunit(target.id); break;
    case TargetKind::kAppVersion: m->set_app_version(target.id); break;
  }
}

void Put(const Reversal& in, v1::Envelope* envelope) {
  PutTarget(in.target, envelope->mutable_reversal());
  envelope->mutable_reversal()->set_reason(in.reason);
}

void Put(const Repricing& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_repricing();
  m->set_policy_version(in.policy_version);
  PutTarget(in.target, m);
  m->set_reason(in.reason);
}

void Put(const EstimatedCredit& in, v1::Envelope* envelope) {
  auto* m = envelope->mutable_estimated_credit();
  m->set_host(in.host.value);
  for (const ResourceCounter& counter : in.counters) {
    auto* to = m->add_counters();
    to->set_resource(ToProto(counter.resource));
    to->set_credit(counter.credit);
    to->set_run_time(counter.run_time);
  }
}

#undef COBBLESTONE_GET_OPTIONAL
#undef COBBLESTONE_SET_OPTIONAL

}  // namespace

std::optional<Event> ParseWithGeneratedCode(std::string_view bytes) {
  // Generated code writes a line to standard error for each text that is no UTF-8: a way for any producer to
  // fill a disk. Whoever calls us says what was refused.
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
