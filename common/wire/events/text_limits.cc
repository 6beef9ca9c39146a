#include "common/wire/events/text_limits.h"

#include <initializer_list>
#include <string>
#include <variant>

namespace cobblestone::wire {
namespace {

using Check = std::optional<Refusal>;

struct Text {
  const char* field;
  const std::string& value;
  std::size_t limit = kMaxText;
};

Check Within(const char* field, std::size_t size, std::size_t limit) {
  if (size <= limit) return std::nullopt;
  return Refusal{RefusalReason::kOutOfRange, std::string(field) + ": " + std::to_string(size) +
                                                 " bytes, more than the " + std::to_string(limit) +
                                                 " allowed"};
}

Check All(std::initializer_list<Text> texts) {
  for (const Text& text : texts)
    if (Check failed = Within(text.field, text.value.size(), text.limit)) return failed;
  return std::nullopt;
}

template <class T>
Check Texts(const T&) {
  return std::nullopt;
}
Check Texts(const Dispatch& d) { return All({{"result_name", d.result_name, kMaxName}}); }
Check Texts(const HeldResult& h) { return All({{"result_name", h.result_name, kMaxName}}); }
Check Texts(const Trickle& t) {
  if (Check failed = All({{"variety", t.variety, kMaxName}, {"result_name", t.result_name, kMaxName}}))
    return failed;
  // Names have a separate limit: trickle-xml keeps the name of a text that it leaves out. One byte is added
  // for each name, so that empty ones count too.
  std::size_t names = 0;
  std::size_t texts = 0;
  for (const TrickleElement& other : t.others) {
    names += other.name.size() + 1;
    texts += other.text.size();
  }
  if (Check failed = Within("others.name", names, kMaxText)) return failed;
  return Within("others.text", texts, kMaxTrickleTexts);
}
Check Texts(const HostMember& h) {
  if (Check failed = All({{"cross_project_id", h.cross_project_id, kMaxName}, {"name", h.name, kMaxName}}))
    return failed;
  if (!h.profile) return std::nullopt;
  const HostProfile& p = *h.profile;
  return All({{"profile.p_vendor", p.p_vendor},
              {"profile.p_model", p.p_model},
              {"profile.os_name", p.os_name},
              {"profile.os_version", p.os_version},
              {"profile.host_cpid", p.host_cpid, kMaxName},
              {"profile.misc", p.misc}});
}
Check Texts(const UserMember& u) {
  if (Check failed = All({{"cross_project_id", u.cross_project_id, kMaxName},
                          {"name", u.name, kMaxName},
                          {"country", u.country, kMaxName}}))
    return failed;
  if (!u.profile) return std::nullopt;
  return All({{"profile.cpid", u.profile->cpid, kMaxName},
              {"profile.country", u.profile->country, kMaxName},
              {"profile.url", u.profile->url}});
}
Check Texts(const TeamMember& t) {
  if (Check failed = All({{"name", t.name, kMaxName}, {"country", t.country, kMaxName}})) return failed;
  if (!t.profile) return std::nullopt;
  return All({{"profile.url", t.profile->url},
              {"profile.name_html", t.profile->name_html},
              {"profile.description", t.profile->description},
              {"profile.country", t.profile->country, kMaxName}});
}
Check Texts(const AccountFacts& f) {
  if (!f.tombstone) return std::nullopt;
  return All({{"tombstone.public_cross_project_id", f.tombstone->public_cross_project_id, kMaxName}});
}
Check Texts(const AppChange& a) {
  if (Check failed = All({{"name", a.name, kMaxName},
                          {"policy", a.policy, kMaxName},
                          {"trickle_settlement", a.trickle_settlement, kMaxName}}))
    return failed;
  for (const TrickleRuleChange& rule : a.trickles)
    if (Check failed = All({{"trickles.variety", rule.variety, kMaxName},
                            {"trickles.kind", rule.kind, kMaxName},
                            {"trickles.measure", rule.measure, kMaxName}}))
      return failed;
  if (a.constants && a.constants->replication)
    if (Check failed = All({{"replication", *a.constants->replication, kMaxName}})) return failed;
  if (a.constants && a.constants->benchmark) return All({{"benchmark", *a.constants->benchmark, kMaxName}});
  return std::nullopt;
}
Check Texts(const AppVersionChange& v) { return All({{"plan_class", v.row.plan_class, kMaxName}}); }
Check Texts(const PlanClassFactor& f) {
  return All({{"plan_class", f.plan_class, kMaxName}, {"provenance", f.provenance}});
}
Check Texts(const Reversal& r) { return All({{"reason", r.reason}}); }
Check Texts(const Repricing& r) { return All({{"reason", r.reason}}); }
Check Texts(const JobReversal& r) { return All({{"reason", r.reason}}); }
Check Texts(const JobRepricing& r) { return All({{"reason", r.reason}}); }
Check Texts(const ProjectName& p) { return All({{"name", p.name, kMaxName}, {"url", p.url}}); }
Check Texts(const ProjectProfile& p) {
  for (const AppProfile& app : p.apps)
    if (Check failed = All({{"apps.name", app.name, kMaxName},
                            {"apps.user_friendly_name", app.user_friendly_name, kMaxName}}))
      return failed;
  for (const Badge& badge : p.badges)
    if (Check failed = All({{"badges.name", badge.name},
                            {"badges.title", badge.title},
                            {"badges.image_url", badge.image_url}}))
      return failed;
  for (const Subproject& sub : p.subprojects)
    if (Check failed = All({{"subprojects.name", sub.name, kMaxName}})) return failed;
  return std::nullopt;
}

Check Texts(const FeedProject& p) {
  return All({{"name", p.name, kMaxName}, {"url", p.url}, {"ownership_key", p.ownership_key}});
}
Check Texts(const FeedEdition& e) { return All({{"digest", e.digest, kMaxName}, {"reason", e.reason}}); }
Check Texts(const FeedVersions& report) {
  for (const FeedVersion& version : report.versions)
    if (Check failed = All({{"versions.app_name", version.app_name, kMaxName},
                            {"versions.platform", version.platform, kMaxName},
                            {"versions.plan_class", version.plan_class, kMaxName}}))
      return failed;
  return std::nullopt;
}
Check Texts(const OwnershipProof& p) {
  constexpr std::size_t kLongestMessage = 5000;
  constexpr std::size_t kLongestSignature = 4000;
  return All({{"master_url", p.master_url, kMaxName},
              {"message", p.message, kLongestMessage},
              {"signature", p.signature, kLongestSignature}});
}
Check Texts(const IdentityDecision& d) {
  return All({{"cross_project_id", d.cross_project_id, kMaxName}, {"reason", d.reason}});
}
Check Texts(const FeedHealth& h) { return All({{"reason", h.reason}}); }
Check Texts(const FeedAccount& a) {
  return All({{"name", a.name, kMaxName},
              {"country", a.country, kMaxName},
              {"url", a.url},
              {"cross_project_id", a.cross_project_id, kMaxName},
              {"description", a.description}});
}

}  // namespace

Check CheckTexts(const Event& event) {
  return std::visit([](const auto& body) { return Texts(body); }, event.body);
}

}  // namespace cobblestone::wire
