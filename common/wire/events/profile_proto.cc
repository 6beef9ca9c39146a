#include "common/wire/events/profile_proto.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "common/wire/events/event_fields.h"

namespace cobblestone::wire {

namespace {

template <class F>
void ForEachWithPresence(const google::protobuf::Message& message, F&& f) {
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i)
    if (const auto* field = type.field(i); field->has_optional_keyword()) f(field);
}

}  // namespace

FieldMask PresentFields(const google::protobuf::Message& message) {
  FieldMask present = 0;
  ForEachWithPresence(message, [&](const auto* field) {
    if (message.GetReflection()->HasField(message, field)) present |= FieldBit(field->number());
  });
  return present;
}

void KeepPresent(FieldMask present, google::protobuf::Message* message) {
  ForEachWithPresence(*message, [&](const auto* field) {
    if ((present & FieldBit(field->number())) == 0) message->GetReflection()->ClearField(message, field);
  });
}

OpeningFigures FromProto(const v1::OpeningFigures& m) {
  return {
      .total_credit = m.total_credit(), .expavg_credit = m.expavg_credit(), .expavg_time = m.expavg_time()};
}

UserProfile FromProto(const v1::UserProfile& m) {
  return {.create_time = m.create_time(),
          .cpid = m.cpid(),
          .country = m.country(),
          .url = m.url(),
          .has_profile = m.has_profile(),
          .show_hosts = m.show_hosts(),
          .hidden = m.hidden(),
          .present = PresentFields(m)};
}

HostProfile FromProto(const v1::HostProfile& m) {
  return {.create_time = m.create_time(),
          .rpc_time = m.rpc_time(),
          .timezone = m.timezone(),
          .hidden = m.hidden(),
          .p_ncpus = m.p_ncpus(),
          .p_vendor = m.p_vendor(),
          .p_model = m.p_model(),
          .p_fpops = m.p_fpops(),
          .p_iops = m.p_iops(),
          .p_membw = m.p_membw(),
          .os_name = m.os_name(),
          .os_version = m.os_version(),
          .m_nbytes = m.m_nbytes(),
          .m_cache = m.m_cache(),
          .m_swap = m.m_swap(),
          .d_total = m.d_total(),
          .d_free = m.d_free(),
          .n_bwup = m.n_bwup(),
          .n_bwdown = m.n_bwdown(),
          .avg_turnaround = m.avg_turnaround(),
          .credit_per_cpu_sec = m.credit_per_cpu_sec(),
          .host_cpid = m.host_cpid(),
          .misc = m.misc(),
          .present = PresentFields(m)};
}

TeamProfile FromProto(const v1::TeamProfile& m) {
  return {.create_time = m.create_time(),
          .founder = m.founder(),
          .type = m.type(),
          .url = m.url(),
          .name_html = m.name_html(),
          .description = m.description(),
          .country = m.country(),
          .present = PresentFields(m)};
}

void ToProto(const OpeningFigures& in, v1::OpeningFigures* m) {
  m->set_total_credit(in.total_credit);
  m->set_expavg_credit(in.expavg_credit);
  m->set_expavg_time(in.expavg_time);
}

void ToProto(const UserProfile& in, v1::UserProfile* m) {
  m->set_create_time(in.create_time);
  m->set_cpid(in.cpid);
  m->set_country(in.country);
  m->set_url(in.url);
  m->set_has_profile(in.has_profile);
  m->set_show_hosts(in.show_hosts);
  m->set_hidden(in.hidden);
  KeepPresent(in.present, m);
}

void ToProto(const HostProfile& in, v1::HostProfile* m) {
  m->set_create_time(in.create_time);
  m->set_rpc_time(in.rpc_time);
  m->set_timezone(in.timezone);
  m->set_hidden(in.hidden);
  m->set_p_ncpus(in.p_ncpus);
  m->set_p_vendor(in.p_vendor);
  m->set_p_model(in.p_model);
  m->set_p_fpops(in.p_fpops);
  m->set_p_iops(in.p_iops);
  m->set_p_membw(in.p_membw);
  m->set_os_name(in.os_name);
  m->set_os_version(in.os_version);
  m->set_m_nbytes(in.m_nbytes);
  m->set_m_cache(in.m_cache);
  m->set_m_swap(in.m_swap);
  m->set_d_total(in.d_total);
  m->set_d_free(in.d_free);
  m->set_n_bwup(in.n_bwup);
  m->set_n_bwdown(in.n_bwdown);
  m->set_avg_turnaround(in.avg_turnaround);
  m->set_credit_per_cpu_sec(in.credit_per_cpu_sec);
  m->set_host_cpid(in.host_cpid);
  m->set_misc(in.misc);
  KeepPresent(in.present, m);
}

void ToProto(const TeamProfile& in, v1::TeamProfile* m) {
  m->set_create_time(in.create_time);
  m->set_founder(in.founder);
  m->set_type(in.type);
  m->set_url(in.url);
  m->set_name_html(in.name_html);
  m->set_description(in.description);
  m->set_country(in.country);
  KeepPresent(in.present, m);
}

namespace {

BadgeHeld FromProto(const v1::BadgeHeld& m) { return {.badge = m.badge(), .create_time = m.create_time()}; }

AppCredit FromProto(const v1::AppCredit& m) {
  return {.app = m.app(),
          .credit_type = m.credit_type(),
          .njobs = m.njobs(),
          .total = m.total(),
          .expavg = m.expavg(),
          .expavg_time = m.expavg_time()};
}

Tombstone FromProto(const v1::Tombstone& m) {
  return {.public_cross_project_id = m.public_cross_project_id(), .time = m.time()};
}

AppProfile FromProto(const v1::AppProfile& m) {
  return {.app = m.app(),
          .name = m.name(),
          .user_friendly_name = m.user_friendly_name(),
          .deprecated = m.deprecated()};
}

Badge FromProto(const v1::Badge& m) {
  return {.badge = m.badge(), .name = m.name(), .title = m.title(), .image_url = m.image_url()};
}

void ToProto(const BadgeHeld& in, v1::BadgeHeld* m) {
  m->set_badge(in.badge);
  m->set_create_time(in.create_time);
}

void ToProto(const AppCredit& in, v1::AppCredit* m) {
  m->set_app(in.app);
  m->set_credit_type(in.credit_type);
  m->set_njobs(in.njobs);
  m->set_total(in.total);
  m->set_expavg(in.expavg);
  m->set_expavg_time(in.expavg_time);
}

void ToProto(const Tombstone& in, v1::Tombstone* m) {
  m->set_public_cross_project_id(in.public_cross_project_id);
  m->set_time(in.time);
}

void ToProto(const AppProfile& in, v1::AppProfile* m) {
  m->set_app(in.app);
  m->set_name(in.name);
  m->set_user_friendly_name(in.user_friendly_name);
  m->set_deprecated(in.deprecated);
}

void ToProto(const Badge& in, v1::Badge* m) {
  m->set_badge(in.badge);
  m->set_name(in.name);
  m->set_title(in.title);
  m->set_image_url(in.image_url);
}

template <class Value, class Messages>
std::vector<Value> ListFrom(const Messages& messages) {
  std::vector<Value> values;
  values.reserve(static_cast<std::size_t>(messages.size()));
  for (const auto& one : messages) values.push_back(FromProto(one));
  return values;
}

template <class Value, class Messages>
void ListTo(const std::vector<Value>& values, Messages* messages) {
  for (const Value& one : values) ToProto(one, messages->Add());
}

}  // namespace

AccountFacts FromProto(const v1::AccountFacts& m) {
  AccountFacts out{.kind = NarrowEnum<AccountKind>(static_cast<std::uint32_t>(m.kind())),
                   .account = m.account()};
  if (m.has_badges()) out.badges = ListFrom<BadgeHeld>(m.badges().badges());
  if (m.has_credit()) out.credit = ListFrom<AppCredit>(m.credit().apps());
  if (m.has_consent()) out.consent = m.consent().copies();
  if (m.has_tombstone()) out.tombstone = FromProto(m.tombstone());
  return out;
}

void ToProto(const AccountFacts& in, v1::AccountFacts* m) {
  m->set_kind(static_cast<v1::AccountKind>(in.kind));
  m->set_account(in.account);
  if (in.badges) ListTo(*in.badges, m->mutable_badges()->mutable_badges());
  if (in.credit) ListTo(*in.credit, m->mutable_credit()->mutable_apps());
  if (in.consent) m->mutable_consent()->set_copies(*in.consent);
  if (in.tombstone) ToProto(*in.tombstone, m->mutable_tombstone());
}

ProjectProfile FromProto(const v1::ProjectProfile& m) {
  ProjectProfile out{.apps = ListFrom<AppProfile>(m.apps()),
                     .badges = ListFrom<Badge>(m.badges()),
                     .subprojects = {},
                     .has_consent_type = m.has_consent_type(),
                     .consent_enabled = m.consent_enabled()};
  for (const v1::Subproject& one : m.subprojects())
    out.subprojects.push_back({.name = one.name(), .apps = {one.apps().begin(), one.apps().end()}});
  return out;
}

void ToProto(const ProjectProfile& in, v1::ProjectProfile* m) {
  ListTo(in.apps, m->mutable_apps());
  ListTo(in.badges, m->mutable_badges());
  for (const Subproject& one : in.subprojects) {
    auto* to = m->add_subprojects();
    to->set_name(one.name);
    to->mutable_apps()->Add(one.apps.begin(), one.apps.end());
  }
  m->set_has_consent_type(in.has_consent_type);
  m->set_consent_enabled(in.consent_enabled);
}

}  // namespace cobblestone::wire
