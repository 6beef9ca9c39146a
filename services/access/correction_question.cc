#include "services/access/correction_question.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace cobblestone::access {

using corrections::CorrectionRequest;
using corrections::TargetKind;

namespace {

constexpr std::array<std::pair<TargetKind, std::string_view>, 4> kTargets = {
    {{TargetKind::kResult, "result"},
     {TargetKind::kHost, "host"},
     {TargetKind::kWorkunit, "workunit"},
     {TargetKind::kAppVersion, "app-version"}}};

template <class Number>
bool Read(const Question& question, const char* name, Number* number) {
  const auto found = question.parameters.find(name);
  if (found == question.parameters.end()) return true;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

std::string Exact(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

}  // namespace

Result<CorrectionRequest> CorrectionRequestOf(const Question& question) {
  CorrectionRequest request;
  std::uint32_t project = 1;
  const auto text = [&](const char* name) {
    const auto found = question.parameters.find(name);
    return found == question.parameters.end() ? std::string() : found->second;
  };
  for (const auto& [kind, name] : kTargets)
    if (text("target") == name) request.target = kind;
  request.reason = text("reason");
  if (request.target == TargetKind::kNone)
    return Status::InvalidArgument("target must be result, host, workunit or app-version");
  for (const char* name : {"project", "id", "since", "until", "version", "time"}) {
    const std::string_view one = name;
    const bool good = one == "project"   ? Read(question, name, &project)
                      : one == "id"      ? Read(question, name, &request.id)
                      : one == "since"   ? Read(question, name, &request.since)
                      : one == "until"   ? Read(question, name, &request.until)
                      : one == "version" ? Read(question, name, &request.policy_version)
                                         : Read(question, name, &request.time);
    if (!good)
      return Status::InvalidArgument(std::string(name) + " must be a number, not '" + text(name) + "'");
  }
  request.reinstates = text("reinstates") == "1";
  request.judged_invalid = text("judged_invalid") == "1";
  if (request.judged_invalid && !request.reinstates)
    return Status::InvalidArgument("judged_invalid is only allowed for a reinstatement");
  if (!text("credit").empty()) {
    double credit = 0;
    if (!Read(question, "credit", &credit) || !std::isfinite(credit) || credit < 0)
      return Status::InvalidArgument("credit must be a number of Cobblestones of 0 or more, not '" +
                                     text("credit") + "'");
    if (!request.reinstates) return Status::InvalidArgument("credit is only allowed for a reinstatement");
    request.credit = credit;
  }
  if (request.reinstates && request.policy_version != 0)
    return Status::InvalidArgument(
        "version is not allowed for a reinstatement: a result is reinstated at its own price");
  request.project = ProjectId(project);
  if (request.id == 0) return Status::InvalidArgument("the parameter id is missing");
  if (request.reason.empty())
    return Status::InvalidArgument("the parameter reason is missing: the ledger stores the reason");
  return request;
}

Question QuestionOf(const CorrectionRequest& request) {
  Question question{.path = "/corrections",
                    .parameters = {{"project", std::to_string(request.project.value)},
                                   {"id", std::to_string(request.id)},
                                   {"reason", request.reason}}};
  for (const auto& [kind, name] : kTargets)
    if (kind == request.target) question.parameters["target"] = name;
  if (request.since > 0) question.parameters["since"] = Exact(request.since);
  if (std::isfinite(request.until)) question.parameters["until"] = Exact(request.until);
  if (request.policy_version != 0) question.parameters["version"] = std::to_string(request.policy_version);
  if (request.reinstates) question.parameters["reinstates"] = "1";
  if (request.judged_invalid) question.parameters["judged_invalid"] = "1";
  if (request.credit) question.parameters["credit"] = Exact(*request.credit);
  if (request.time > 0) question.parameters["time"] = Exact(request.time);
  return question;
}

}  // namespace cobblestone::access
