#include "services/gateway/handlers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "services/gateway/as_of.h"
#include "services/gateway/embedded_files.h"

namespace cobblestone::gateway {

using nlohmann::json;

namespace {

constexpr std::uint64_t kMaxIds = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kMaxProjects = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kMaxRefused = 1000;
constexpr std::uint64_t kMaxWatched = 100;
constexpr std::uint64_t kMaxEpochs = 5000;
constexpr std::size_t kLongestSource = 200;
constexpr std::size_t kMaxBadLines = 100;  // the pipeline lists at most this many
constexpr auto kRestedAge = std::chrono::milliseconds(100);
constexpr std::size_t kProjectsRested = 1000;
constexpr std::string_view kJsonLines = "application/x-ndjson";
constexpr std::string_view kProtobuf = "application/x-protobuf";

std::string_view GradeName(Health::Grade grade) {
  if (grade == Health::Grade::kOk) return "ok";
  return grade == Health::Grade::kDegraded ? "degraded" : "failed";
}

json BadLinesJson(const std::vector<BadEventLine>& bad) {
  json list = json::array();
  for (const BadEventLine& line : bad) list.push_back({{"line", line.line + 1}, {"reason", line.reason}});
  return list;
}

// Without a full stop: more sentences follow.
std::string LineText(const EventBatch& batch, const BadEventLine& line) {
  std::string reason = line.reason;
  if (reason.ends_with('.')) reason.pop_back();
  return "line " + std::to_string(line.line + 1) + " of " + batch.source + ": " + reason;
}

Answer OthersSource(const std::string& source) {
  return ErrorAnswer(403, "forbidden",
                     "source " + source +
                         " belongs to another token, or is a source of files: use another source name. A "
                         "replacement token keeps the sources of the old token if both have the same name");
}

Answer BeyondRights(const EventBatch& batch, const EventOutcome& outcome) {
  return JsonAnswer({{"error",
                      {{"code", "forbidden"},
                       {"message", LineText(batch, outcome.forbidden.front()) + ". This token may send " +
                                       batch.rights->text() + ". No events of the batch were ingested"}}},
                     {"source", batch.source},
                     {"bad", BadLinesJson(outcome.forbidden)}},
                    403);
}

Answer BadBatch(const EventBatch& batch, const EventOutcome& outcome) {
  std::string message =
      LineText(batch, outcome.bad.front()) +
      ". No events of the batch were ingested; with bad_lines=refuse the other lines are ingested";
  if (outcome.bad.size() >= kMaxBadLines)
    message += ". The batch was read up to bad line " + std::to_string(kMaxBadLines);
  return JsonAnswer({{"error", {{"code", "invalid_argument"}, {"message", message}}},
                     {"source", batch.source},
                     {"lines", outcome.lines},
                     {"bad", BadLinesJson(outcome.bad)}},
                    400);
}

Answer TooEarly(const Throttled& throttled) {
  const auto wait = static_cast<std::uint64_t>(std::ceil(throttled.wait));
  Answer answer = JsonAnswer(
      {{"error",
        {{"code", "quota_exceeded"},
         {"message", throttled.message + "; no events of this request were ingested: send it again in " +
                         std::to_string(wait) + " s"}}},
       {"project", throttled.project.value},
       {"quota", throttled.quota},
       {"retry_after", wait}},
      429);
  answer.headers.emplace_back("Retry-After", std::to_string(wait));
  return answer;
}

}  // namespace

Handlers::Handlers(view::Questions& questions, Pipeline& pipeline, TokenStore& tokens,
                   const settings::GatewaySettings& settings)
    : questions_(questions),
      pipeline_(pipeline),
      tokens_(tokens),
      visibility_(settings.accounts_visible, settings.leaders, [&questions](ProjectId project, UserId user) {
        const auto profile = questions.ProfileOf(project, user);
        if (!profile.ok()) return Visibility::Shown{};
        return Visibility::Shown{.hosts = profile->shows_hosts, .name = profile->named};
      }) {}

Result<ProjectId> Handlers::ProjectOf(const Request& request) {
  const auto number = PathNumber(request.segments.at(0), kMaxProjects);
  if (!number.ok()) return number.status();
  const ProjectId project(static_cast<std::uint32_t>(*number));
  if (Status s = questions_.CheckProject(project); !s.ok()) return s;
  return project;
}

Result<Handlers::Subject> Handlers::SubjectOf(const Request& request) {
  const auto project = ProjectOf(request);
  if (!project.ok()) return project.status();
  const auto id = PathNumber(request.segments.at(1), kMaxIds);
  if (!id.ok()) return id.status();
  return Subject{.project = *project, .id = *id};
}

Result<UserId> Handlers::OwnerOf(ProjectId project, std::uint64_t host) {
  const auto account = questions_.Account(project, wire::AccountKind::kHost, host);
  if (!account.ok()) return account.status();
  return UserId(account->value("user", std::uint64_t{0}));
}

Answer Handlers::Forbidden(const Request& request) const {
  if (request.rights.name == "none") {
    Answer answer = ErrorAnswer(401, "unauthorized", "a token is required: Authorization: Bearer TOKEN");
    answer.headers.emplace_back("WWW-Authenticate", "Bearer");
    return answer;
  }
  return ErrorAnswer(403, "forbidden", "this token does not have access to this resource");
}

Result<std::string> Handlers::AsOf(ProjectId project) {
  const auto now = std::chrono::steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    const auto known = rested_.find(project.value);
    if (known != rested_.end() && now - known->second.at < kRestedAge) return known->second.text;
  }
  const auto as_of = questions_.AsOf(project);
  if (!as_of.ok()) return as_of.status();
  std::string text = JsonText(*as_of);
  text.pop_back();  // the line end
  const std::lock_guard lock(mutex_);
  if (rested_.size() >= kProjectsRested) rested_.clear();
  rested_[project.value] = {.text = text, .at = now};
  return text;
}

Answer Handlers::With(const std::string& as_of, const json& data) {
  Answer answer = JsonAnswer(data);
  answer.body.pop_back();
  answer.body = "{\"as_of\":" + as_of + ",\"data\":" + answer.body + "}\n";
  return answer;
}

// ---- The process --------------------------------------------------------------------------------------------

Answer Handlers::HealthNow(const Request& request) {
  if (Status s = Query(request).status(); !s.ok()) return ErrorAnswer(s);
  Health health = pipeline_.CheckHealth();
  if (std::string problem = tokens_.problem(); !problem.empty()) {
    health.grade = std::max(health.grade, Health::Grade::kDegraded);
    health.problems.push_back(std::move(problem));
  }
  return JsonAnswer({{"status", GradeName(health.grade)}, {"problems", health.problems}},
                    health.grade == Health::Grade::kFailed ? 503 : 200);
}

Answer Handlers::OpenApi(const Request& request) {
  if (Status s = Query(request).status(); !s.ok()) return ErrorAnswer(s);
  return {.type = std::string(kJsonType), .body = std::string(ApiFiles()[0].bytes)};
}

Answer Handlers::Metrics(const Request& request) {
  if (Status s = Query(request).status(); !s.ok()) return ErrorAnswer(s);
  auto text = pipeline_.Metrics();
  if (!text.ok()) return ErrorAnswer(text.status());
  return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = std::move(*text)};
}

Answer Handlers::Tasks(const Request& request) {
  if (Status s = Query(request).status(); !s.ok()) return ErrorAnswer(s);
  json as_of = AsOfAll(questions_);
  auto tasks = pipeline_.Tasks();
  return tasks.ok() ? JsonAnswer({{"as_of", std::move(as_of)}, {"data", std::move(*tasks)}})
                    : ErrorAnswer(tasks.status());
}

// An alarm is a suspicion, so it is for the project alone.
Answer Handlers::Watch(const Request& request) {
  if (!request.rights.read_all) return Forbidden(request);
  Query query(request);
  const std::uint64_t limit = query.Number("limit", 20, kMaxWatched);
  if (Status s = query.status(); !s.ok()) return ErrorAnswer(s);
  json as_of = AsOfAll(questions_);
  auto watch = questions_.Watch(limit);
  return watch.ok() ? JsonAnswer({{"as_of", std::move(as_of)}, {"data", std::move(*watch)}})
                    : ErrorAnswer(watch.status());
}

Answer Handlers::RefusedList(const Request& request) {
  if (!visibility_.MaySeeAll(request.rights)) return Forbidden(request);
  Query query(request);
  const std::uint64_t limit = query.Number("limit", 20, kMaxRefused);
  const bool newest_first = !query.Has("from");
  if (query.Has("from") && query.Has("before"))
    query.Fail("from lists upwards and before lists downwards: set only one of them");
  const std::uint64_t from = query.Number("from", 0, kMaxIds);
  const std::uint64_t before = query.Number("before", kMaxIds, kMaxIds);
  if (Status s = query.status(); !s.ok()) return ErrorAnswer(s);
  json as_of = AsOfAll(questions_);
  auto list = newest_first ? questions_.RefusedBefore(before, limit) : questions_.RefusedList(from, limit);
  if (!list.ok()) return ErrorAnswer(list.status());
  for (json& one : (*list)["refused"]) Visibility::Redact(request.rights, one);
  return JsonAnswer({{"as_of", std::move(as_of)}, {"data", std::move(*list)}});
}

Answer Handlers::RefusedShow(const Request& request) {
  if (!visibility_.MaySeeAll(request.rights)) return Forbidden(request);
  if (Status s = Query(request).status(); !s.ok()) return ErrorAnswer(s);
  // The first refusal has the number 0.
  const auto number = request.segments.at(0) == "0" ? Result<std::uint64_t>(std::uint64_t{0})
                                                    : PathNumber(request.segments.at(0), kMaxIds);
  if (!number.ok()) return ErrorAnswer(number.status());
  json as_of = AsOfAll(questions_);
  auto one = questions_.RefusedShow(*number);
  if (!one.ok()) return ErrorAnswer(one.status());
  Visibility::Redact(request.rights, *one);
  return JsonAnswer({{"as_of", std::move(as_of)}, {"data", std::move(*one)}});
}

Answer Handlers::Resubmit(const Request& request) {
  if (Status s = Query(request).status(); !s.ok()) return ErrorAnswer(s);
  const auto number = request.segments.at(0) == "0" ? Result<std::uint64_t>(std::uint64_t{0})
                                                    : PathNumber(request.segments.at(0), kMaxIds);
  if (!number.ok()) return ErrorAnswer(number.status());
  auto done = pipeline_.Resubmit(*number);
  return done.ok() ? JsonAnswer({{"data", std::move(*done)}}) : ErrorAnswer(done.status());
}

Answer Handlers::Source(const Request& request) {
  Query query(request);
  const std::string source = query.RequiredText("source", kLongestSource);
  if (Status s = query.status(); !s.ok()) return ErrorAnswer(s);
  const auto known = pipeline_.Source(source);
  if (!known.ok()) return ErrorAnswer(known.status());
  const bool unused = known->lines == 0 && known->owner.empty();
  if (!unused && !request.rights.sender.Owns(known->owner)) return OthersSource(source);
  return JsonAnswer({{"data", {{"source", source}, {"lines", known->lines}, {"hash", known->hash}}}});
}

Answer Handlers::Events(const Request& request) {
  Query query(request);
  EventBatch batch;
  batch.source = query.RequiredText("source", kLongestSource);
  batch.first_line = query.Number("first_line", 0, kMaxIds);
  batch.refuse_bad_lines = query.Word("bad_lines", {"stop", "refuse"}) == "refuse";
  if (Status s = query.status(); !s.ok()) return ErrorAnswer(s);
  if (request.content_type == kProtobuf) {
    batch.format = EventBatch::Format::kDelimited;
  } else if (request.content_type != kJsonLines && request.content_type != kJsonType) {
    return ErrorAnswer(415, "unsupported_media_type",
                       "events must be application/x-ndjson (one line of JSON per event) or "
                       "application/x-protobuf (delimited Envelopes)");
  }
  // The route requires this right.
  if (!request.rights.ingest) return ErrorAnswer(403, "forbidden", "this token does not allow this action");
  batch.sender = request.rights.sender;
  batch.rights = &*request.rights.ingest;
  batch.body = request.body;
  const auto outcome = pipeline_.Append(batch);
  if (!outcome.ok()) return ErrorAnswer(outcome.status());
  if (outcome->throttled) return TooEarly(*outcome->throttled);
  if (outcome->others_source) return OthersSource(batch.source);
  if (!outcome->forbidden.empty()) return BeyondRights(batch, *outcome);
  if (!outcome->conflict.empty())
    return JsonAnswer({{"error", {{"code", "conflict"}, {"message", outcome->conflict}}},
                       {"source", batch.source},
                       {"lines", outcome->lines}},
                      409);
  if (!outcome->bad.empty() && !batch.refuse_bad_lines) return BadBatch(batch, *outcome);
  return JsonAnswer({{"data",
                      {{"source", batch.source},
                       {"first_line", batch.first_line},
                       {"lines", outcome->lines},
                       {"appended", outcome->appended},
                       {"repeated", outcome->repeated},
                       {"refused", BadLinesJson(outcome->bad)},
                       {"bad_lines", outcome->bad_lines}}}});
}

std::optional<Answer> Handlers::ThrottledEvents(const Rights& rights) {
  if (!rights.ingest) return std::nullopt;
  const auto throttled = pipeline_.Throttle(*rights.ingest);
  if (!throttled) return std::nullopt;
  return TooEarly(*throttled);
}

// ---- A project ----------------------------------------------------------------------------------------------

Answer Handlers::Projects(const Request& request) {
  if (Status s = Query(request).status(); !s.ok()) return ErrorAnswer(s);
  json as_of = AsOfAll(questions_);
  auto projects = questions_.Projects();
  if (!projects.ok()) return ErrorAnswer(projects.status());
  const Rights& rights = request.rights;
  json viewer{{"role", rights.name},
              {"sees_all", visibility_.MaySeeAll(rights)},
              {"sees_leaders", visibility_.MayList(rights)}};
  if (rights.own)
    viewer["account"] = {{"project", rights.own->project.value}, {"user", rights.own->user.value}};
  return JsonAnswer({{"as_of", std::move(as_of)},
                     {"data", std::move(*projects)},
                     {"role", questions_.hub() == nullptr ? "project" : "hub"},
                     {"viewer", std::move(viewer)}});
}

Answer Handlers::Catalogue(const Request& request) {
  if (Status s = Query(request).status(); !s.ok()) return ErrorAnswer(s);
  const auto project = ProjectOf(request);
  if (!project.ok()) return ErrorAnswer(project.status());
  return About(*project, [&] { return questions_.Catalogue(*project); });
}

Answer Handlers::Scales(const Request& request) {
  if (Status s = Query(request).status(); !s.ok()) return ErrorAnswer(s);
  const auto project = ProjectOf(request);
  if (!project.ok()) return ErrorAnswer(project.status());
  return About(*project, [&] { return questions_.Scales(*project); });
}

Answer Handlers::ScalesHistory(const Request& request) {
  Query query(request);
  view::EpochsWanted wanted;
  wanted.limit = query.Number("limit", 500, kMaxEpochs);
  wanted.evenly = query.Word("pick", {"newest", "evenly"}) == "evenly";
  if (query.Has("before")) wanted.before = query.RequiredNumber("before", 0, kMaxIds);
  if (Status s = query.status(); !s.ok()) return ErrorAnswer(s);
  const auto project = ProjectOf(request);
  if (!project.ok()) return ErrorAnswer(project.status());
  return About(*project, [&] { return questions_.ScalesHistory(*project, wanted); });
}

// For a federation hub: facts of app versions, and none of people.
Answer Handlers::AppVersions(const Request& request) {
  if (Status s = Query(request).status(); !s.ok()) return ErrorAnswer(s);
  const auto project = ProjectOf(request);
  if (!project.ok()) return ErrorAnswer(project.status());
  const auto data = questions_.AppVersions(*project);
  return data.ok() ? JsonAnswer(*data) : ErrorAnswer(data.status());
}

// Removes the records of a result that the viewer may not see: a host may have had another owner before, and
// another host may have reported the result. False if nothing is left.
bool Handlers::ShowExplained(const Rights& viewer, ProjectId project, json& data) {
  bool any = false;
  bool all = true;
  const auto only_seen = [&](const char* list) {
    const auto found = data.find(list);
    if (found == data.end()) return;
    json seen = json::array();
    for (json& one : *found)
      if (visibility_.MaySee(viewer, project, UserId(one.value("user", std::uint64_t{0}))))
        seen.push_back(std::move(one));
    all = all && seen.size() == found->size();
    any = any || !seen.empty();
    *found = std::move(seen);
  };
  for (const char* list : {"grants", "partials", "reversals", "corrections", "unpaid"}) only_seen(list);
  // Sums that include hidden records would reveal their worth.
  if (!all)
    for (const char* sum : {"credit", "paid_by_trickles", "provisional"}) data.erase(sum);
  if (const auto pending = data.find("pending"); pending != data.end()) {
    const auto owner = OwnerOf(project, pending->value("host", std::uint64_t{0}));
    const bool seen = visibility_.MaySee(viewer, project, owner.ok() ? *owner : UserId());
    any = any || seen;
    if (!seen) data.erase("pending");
  }
  if (const auto judged = data.find("judged_invalid"); judged != data.end()) {
    const bool seen = visibility_.MaySee(viewer, project, UserId(judged->value("user", std::uint64_t{0})));
    any = any || seen;
    if (seen)
      visibility_.Unlink(viewer, project, *judged);
    else
      data.erase("judged_invalid");
  }
  if (!any) return false;
  const std::uint64_t result = data.value("result", std::uint64_t{0});
  for (json& grant : data["grants"]) {
    if (grant.contains("claim") && grant["claim"].contains("paid_by_trickles"))
      for (json& paid : grant["claim"]["paid_by_trickles"]) visibility_.Unlink(viewer, project, paid);
    if (!visibility_.MaySeeAll(viewer)) {
      for (json& claim : grant["other_claims"]) visibility_.OtherClaim(viewer, claim);
      if (grant.value("canonical_result", std::uint64_t{0}) != result) grant["canonical_result"] = 0;
    }
    if (visibility_.Unlink(viewer, project, grant)) continue;
    json postings = json::array();
    for (json& posting : grant["postings"])
      if (posting.value("account", "") == "host") postings.push_back(std::move(posting));
    grant["postings"] = std::move(postings);
  }
  if (data.contains("corrections") && !visibility_.MaySeeAll(viewer))
    for (json& one : data["corrections"]) one.erase("like_result");  // the result of another user
  for (const char* list : {"partials", "reversals", "corrections", "unpaid"})
    if (data.contains(list))
      for (json& one : data[list]) visibility_.Unlink(viewer, project, one);
  return true;
}

Answer Handlers::Explain(const Request& request) {
  if (Status s = Query(request).status(); !s.ok()) return ErrorAnswer(s);
  const auto subject = SubjectOf(request);
  if (!subject.ok()) return ErrorAnswer(subject.status());
  const ProjectId project = subject->project;
  const auto as_of = AsOf(project);
  if (!as_of.ok()) return ErrorAnswer(as_of.status());
  auto data = questions_.Explain(project, ResultId(subject->id));
  if (!data.ok()) {
    // Only viewers who may see everything learn that the result does not exist.
    if (data.status().code() == StatusCode::kNotFound && !visibility_.MaySeeAll(request.rights))
      return Forbidden(request);
    return ErrorAnswer(data.status());
  }
  if (!ShowExplained(request.rights, project, *data)) return Forbidden(request);
  return With(*as_of, *data);
}

}  // namespace cobblestone::gateway
