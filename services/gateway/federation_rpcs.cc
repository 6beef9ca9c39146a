// The questions of BOINC's web pages, clients and signature images, at the paths that statistics sites have: get_user.php and
// others. Other parameters than those named are ignored, because these callers add their own.
#include <nlohmann/json.hpp>

#include "services/gateway/federation_answers.h"
#include "services/gateway/federation_xml.h"
#include "services/gateway/handlers.h"
#include "services/view/hub_questions.h"

namespace cobblestone::gateway {

using nlohmann::json;

namespace {

constexpr std::size_t kMostAtProjects = 500;

// The parameter, or an empty text.
std::string RpcText(const Request& request, const std::string& name) {
  const auto found = request.query.find(name);
  return found == request.query.end() ? std::string() : found->second;
}

Answer XmlAnswer(std::string body) {
  return {.type = "application/xml; charset=utf-8", .body = std::move(body)};
}

// The answer to the same error as JSON, with its status and Retry-After, in XML.
Answer XmlError(const Answer& plain) {
  Answer answer = plain;
  const json body = json::parse(plain.body, nullptr, false);
  answer.type = "application/xml; charset=utf-8";
  answer.body = ErrorXml(body.is_discarded() ? "error" : body["error"]["message"].get<std::string>());
  return answer;
}
Answer XmlError(const Status& status) { return XmlError(ErrorAnswer(status)); }

}  // namespace

// `make` returns the document from the answer about the person and all projects.
template <class Make>
Answer Handlers::RpcOfPerson(const Request& request, Make&& make) {
  if (auto refused = NoFederation(request, false)) return XmlError(*refused);
  const std::string cpid = RpcText(request, "cpid");
  if (cpid.empty()) return XmlError(Status::InvalidArgument("cpid not specified"));
  view::HubQuestions& hub = *questions_.hub();
  // Ranks are a part of the answer, which callers keep for a day.
  if (const auto index = hub.lists().Ready(); !index.ok()) return XmlError(index.status());
  const auto person = hub.PersonOfCpid(cpid);
  if (!person.ok()) return XmlError(person.status());
  const auto projects = hub.Projects();
  if (!projects.ok()) return XmlError(projects.status());
  return XmlAnswer(make(*person, cpid, *projects));
}

Answer Handlers::RpcGetUser(const Request& request) {
  return RpcOfPerson(request, [](const json& person, const std::string& cpid, const json& projects) {
    return UserXml(person, cpid, projects);
  });
}

Answer Handlers::RpcGetUserCreditHistory(const Request& request) {
  return RpcOfPerson(request, [&](const json& person, const std::string& cpid, const json&) {
    return UserHistoryXml(person, cpid, static_cast<std::int64_t>(questions_.hub()->lists().now() / 86400));
  });
}

Answer Handlers::RpcGetProjects(const Request& request) {
  if (auto refused = NoFederation(request, false)) return XmlError(*refused);
  const auto projects = questions_.hub()->Projects();
  return projects.ok() ? XmlAnswer(ProjectsXml(*projects)) : XmlError(projects.status());
}

Answer Handlers::RpcGetHost(const Request& request) {
  if (auto refused = NoFederation(request, false)) return XmlError(*refused);
  const std::string text = RpcText(request, "cpid");
  const auto cpid = federation::ParseCpid(text);
  if (!cpid) return XmlError(Status::InvalidArgument("cpid: 32 hexadecimal digits"));
  const auto hosts = questions_.hub()->lists().Hosts(*cpid, {.offset = 0, .limit = kMostAtProjects});
  if (!hosts.ok()) return XmlError(hosts.status());
  if (hosts->at("data").empty()) return XmlError(Status::NotFound("no host is known by this id"));
  const auto projects = questions_.hub()->Projects();
  if (!projects.ok()) return XmlError(projects.status());
  return XmlAnswer(HostXml(hosts->at("data"), text, *projects));
}

Answer Handlers::RpcGetTeam(const Request& request) {
  if (auto refused = NoFederation(request, false)) return XmlError(*refused);
  const std::string name = RpcText(request, "name");
  const auto key = name.empty() ? view::ParseTeamNameKey(RpcText(request, "key")) : view::TeamNameKeyOf(name);
  if (!key)
    return XmlError(Status::InvalidArgument(
        "name not specified, nor key (the MD5 of the name in lower case, 32 digits)"));
  const auto team = questions_.hub()->lists().Team(*key, {.offset = 0, .limit = kMostAtProjects});
  if (!team.ok()) return XmlError(team.status());
  const auto projects = questions_.hub()->Projects();
  if (!projects.ok()) return XmlError(projects.status());
  return XmlAnswer(TeamXml(team->at("data"), *projects));
}

}  // namespace cobblestone::gateway
