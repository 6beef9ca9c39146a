#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "common/wire/control/topics.h"
#include "services/gateway/handlers.h"
#include "services/gateway/scheduler_xml.h"

namespace cobblestone::gateway {

using nlohmann::json;

namespace {

constexpr std::uint64_t kLargestId = std::numeric_limits<std::int64_t>::max();

// An anonymous platform has one record per app.
Status CheckVersion(AppVersionId version, AppId app) {
  if (version.anonymous() && !app)
    return Status::InvalidArgument("the anonymous platform has one record per app: set the app with app=A");
  return Status::Ok();
}

bool WantsXml(const Request& request, const std::string& format) {
  if (!format.empty()) return format == "xml";
  return request.accept.find("application/xml") != std::string::npos ||
         request.accept.find("text/xml") != std::string::npos;
}

}  // namespace

Answer Handlers::HostVersions(const Request& request) {
  Query query(request);
  std::optional<AppVersionId> version;
  if (query.Has("app_version")) version = AppVersionId(query.RequiredSigned("app_version"));
  const AppId app(query.Number("app", 0, kLargestId));
  if (version)
    if (Status s = CheckVersion(*version, app); !s.ok()) query.Fail(s.message());
  if (Status s = query.status(); !s.ok()) return ErrorAnswer(s);
  const auto subject = SubjectOf(request);
  if (!subject.ok()) return ErrorAnswer(subject.status());
  if (!visibility_.MaySeeAll(request.rights)) {
    const auto owner = OwnerOf(subject->project, subject->id);
    if (!owner.ok() || !visibility_.MaySee(request.rights, subject->project, *owner))
      return Forbidden(request);
  }
  return About(subject->project, [&]() -> Result<json> {
    auto found = questions_.HostVersions(subject->project, HostId(subject->id), version, app);
    if (!found.ok()) return found;
    return std::move((*found)["rows"]);
  });
}

Answer Handlers::Estimate(const Request& request) {
  Query query(request);
  view::Questions::Job job;
  job.version = AppVersionId(query.RequiredSigned("app_version"));
  job.app = AppId(query.Number("app", 0, kLargestId));
  job.fpops_est = query.Positive("fpops_est");
  job.peak_flops = query.Positive("peak_flops");
  if (Status s = CheckVersion(job.version, job.app); !s.ok()) query.Fail(s.message());
  if (Status s = query.status(); !s.ok()) return ErrorAnswer(s);
  const auto subject = SubjectOf(request);
  if (!subject.ok()) return ErrorAnswer(subject.status());
  if (!visibility_.MaySeeAll(request.rights)) {
    const auto owner = OwnerOf(subject->project, subject->id);
    if (!owner.ok() || !visibility_.MaySee(request.rights, subject->project, *owner))
      return Forbidden(request);
  }
  job.host = HostId(subject->id);
  return About(subject->project, [&] { return questions_.Estimate(subject->project, job); });
}

Answer Handlers::SchedulerReply(const Request& request) {
  Query query(request);
  const HostId host(query.RequiredNumber("host", 1, kLargestId));
  std::string format;
  if (query.Has("format")) format = query.Word("format", {"json", "xml"});
  if (Status s = query.status(); !s.ok()) return ErrorAnswer(s);
  const auto project = ProjectOf(request);
  if (!project.ok()) return ErrorAnswer(project.status());
  const auto owner = OwnerOf(*project, host.value);
  if (!owner.ok() && !visibility_.MaySeeAll(request.rights)) return Forbidden(request);
  if (!owner.ok()) return ErrorAnswer(owner.status());
  if (!visibility_.MaySee(request.rights, *project, *owner)) return Forbidden(request);
  const auto reply = [&]() -> Result<json> {
    auto fields = questions_.SchedulerReply(*project, host);
    if (fields.ok()) visibility_.Reply(request.rights, *project, *owner, *fields);
    return fields;
  };
  if (!WantsXml(request, format)) return About(*project, reply);
  auto as_of = questions_.AsOf(*project);
  if (!as_of.ok()) return ErrorAnswer(as_of.status());
  const auto fields = reply();
  if (!fields.ok()) return ErrorAnswer(fields.status());
  // Only the position of the owner's partition, from which the fields come: a header must be short.
  json& positions = (*as_of)["positions"];
  const auto partition =
      wire::PartitionOf(*project, owner->value, static_cast<std::uint32_t>(positions.size()));
  positions = json::array({positions[partition]});
  return {.type = "application/xml; charset=utf-8",
          .body = SchedulerReplyXml(*fields),
          .headers = {{"Cobblestone-As-Of", as_of->dump()}}};
}

}  // namespace cobblestone::gateway
