#include "services/hub/push/project_push.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "common/stream/hash128.h"
#include "common/stream/record.h"
#include "common/wire/events/event_codec.h"
#include "services/hub/collector/edition_maker.h"
#include "services/hub/collector/record_file.h"
#include "services/hub/push/push_edition.h"

namespace cobblestone::hub {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// Rounds after which a hub without a state counts as one that has lost it. A new hub on Kafka has none before the first
// event.
constexpr int kRoundsWithoutState = 10;
constexpr double kTickPatience = 3600;  // s
// Rounds after which an edition that the hub does not show counts as refused. By then a hub whose workers were away for
// an hour has processed it.
constexpr int kUnconfirmedRounds = 10;
constexpr std::uint32_t kMostAttempts = 1000;
constexpr auto kConfirmEvery = std::chrono::milliseconds(250);
constexpr double kPoliteWait = 1;  // s: a hub that is starting asks for this, and may be asked in between

// The hub's own words, for the operator.
std::string AnswerText(const HubReply& reply) {
  std::string text = "the hub answers with status " + std::to_string(reply.status);
  const json body = json::parse(reply.body, nullptr, false);
  if (!body.is_object() || !body.contains("error") || !body["error"].is_object()) return text;
  const json& message = body["error"].value("message", json());
  if (message.is_string()) text += ": " + message.get<std::string>().substr(0, 500);
  return text;
}

// A field of an answer; none: it is not a number.
std::optional<std::uint64_t> NumberAt(const json& object, const char* field) {
  if (!object.is_object()) return std::nullopt;
  const auto found = object.find(field);
  if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<std::uint64_t>();
}

// Of a report the time alone is no news.
std::uint64_t HashOfFact(wire::EventBody body) {
  if (auto* versions = std::get_if<wire::FeedVersions>(&body)) versions->as_of = 1;
  return stream::HashBytes(wire::EncodeEvent({.head = {}, .body = std::move(body)})).low;
}

Status DirectoryError(const std::string& what, const std::string& path, const std::error_code& error) {
  return Status::Unwritten(error.value(), "cannot " + what + " " + path + ": " + error.message());
}

}  // namespace

Result<std::unique_ptr<ProjectPush>> ProjectPush::Open(const std::string& directory, ProjectId project,
                                                       const PushOptions& options) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return DirectoryError("create", directory, error);
  std::unique_ptr<ProjectPush> push(new ProjectPush(directory, project, options));
  auto state = LoadPushState(push->In("state.json"));
  if (state.ok()) push->state_ = std::move(*state);
  return push;
}

std::string ProjectPush::Source() const {
  std::string name = "push-" + std::to_string(project_.value) + "-" + std::to_string(state_.edition);
  if (state_.attempt > 0) name += "-" + std::to_string(state_.attempt);
  return name;
}

Status ProjectPush::Round(const HubClient& hub, const std::function<Result<PushedContents>()>& contents,
                          double now, const std::function<void(const std::string&)>& report,
                          const std::stop_token& stop) {
  asked_ = {};
  if (state_.sending)
    if (Status s = FinishSending(hub, report, stop); !s.ok()) return s;
  const auto view = Ask(hub, stop);
  if (!view.ok()) return view.status();
  not_started_ = view->started ? 0 : not_started_ + 1;
  if (!view->started && state_.accepted != 0 && not_started_ < kRoundsWithoutState)
    return Status::Retry("the hub cannot say yet which edition it has");
  if (Status s = Make(*view, contents, now); !s.ok()) return s;
  return state_.sending ? FinishSending(hub, report, stop) : Status::Ok();
}

Result<HubReply> ProjectPush::Noted(Result<HubReply> reply) {
  if (reply.ok() && (reply->status == 429 || reply->status == 503))
    asked_ = {.status = reply->status, .seconds = reply->retry_after};
  return reply;
}

Result<ProjectPush::HubView> ProjectPush::Ask(const HubClient& hub, const std::stop_token& stop) {
  // The figures of the hub's index are not needed, and a large hub builds it for minutes after a start.
  const auto reply = Noted(hub.Get(
      "/api/v1/federation/projects/" + std::to_string(project_.value) + "?limit=1&figures=false", stop));
  if (!reply.ok()) return reply.status();
  HubView view{.clock = reply->date};
  // Not registered yet, or not a hub at all.
  if (reply->status == 404 && AnswerText(*reply).find("not registered") != std::string::npos) return view;
  if (reply->status == 403) {
    view.readable = false;
    return view;
  }
  if (reply->status == 503) {
    view.started = false;
    return view;
  }
  if (reply->status != 200) return Status::Retry(AnswerText(*reply));
  const json body = json::parse(reply->body, nullptr, false);
  const json data = body.is_object() ? body.value("data", json()) : json();
  const auto complete = NumberAt(data, "complete_edition");
  const auto arriving = NumberAt(data, "arriving_edition");
  if (!complete || !arriving) return Status::Retry("the hub's answer is not that of a federation hub");
  view.complete = *complete;
  view.arriving = *arriving != 0;
  view.newest = std::max({*complete, *arriving, NumberAt(data, "held_edition").value_or(0)});
  return view;
}

// ---- Making an edition ------------------------------------------------------------------------------------------

Status ProjectPush::Make(const HubView& view, const std::function<Result<PushedContents>()>& contents,
                         double now) {
  auto made_of = contents();
  if (!made_of.ok()) return made_of.status();
  const bool whole = state_.accepted == 0 || !view.started ||
                     (view.readable && (view.complete != state_.accepted || view.arriving));
  if (whole) state_.facts.clear();
  // A hub without a complete edition may be another one than before, with another clock.
  if (view.readable && view.complete == 0) state_.last_time = 0;
  double time = made_of->time > 0 ? made_of->time : now;
  if (view.clock > 0) time = std::min(time, view.clock);
  PushedEditionRequest request{
      .project = project_,
      .edition = std::max({state_.edition + 1, static_cast<std::uint64_t>(now * 1000), view.newest + 1}),
      .time = std::max(time, state_.last_time),
      .whole = whole,
      .indexes = directory_,
      .work = In("work")};
  std::map<std::string, std::uint64_t> facts = state_.facts;
  for (auto& [kind, body] : made_of->facts) {
    const std::uint64_t hash = HashOfFact(body);
    if (const auto known = facts.find(kind); known != facts.end() && known->second == hash) continue;
    facts[kind] = hash;
    request.facts.push_back(std::move(body));
  }
  std::error_code error;
  fs::remove_all(request.work, error);
  fs::create_directories(request.work, error);
  if (error) return DirectoryError("create", request.work, error);
  const auto made = MakePushedEdition(*made_of->source, request);
  if (!made.ok()) return made.status();
  // Without a tick an edition has the clock's time, and no later one an earlier time: a history that is ingested next would
  // have all its credit on today. So a project without accounts waits, and one with accounts waits for its first tick.
  const bool has_accounts = std::any_of(made->sums.begin(), made->sums.end(),
                                        [](const wire::FeedSum& sum) { return sum.accounts > 0; });
  if (made_of->time <= 0 && has_accounts && without_tick_since_ == 0) without_tick_since_ = now;
  if (made_of->time <= 0 && state_.accepted == 0 &&
      (!has_accounts || now < without_tick_since_ + kTickPatience)) {
    fs::remove_all(request.work, error);
    return Status::Ok();
  }
  const bool due = now >= state_.accepted_time + options_.heartbeat.count() || now < state_.accepted_time;
  if (!made->whole && made->changed == 0 && request.facts.empty() && !due) {
    fs::remove_all(request.work, error);
    return Status::Ok();
  }
  state_.edition = request.edition;
  state_.last_time = request.time;
  state_.sending = true;
  state_.attempt = 0;
  state_.made_time = now;
  state_.next_facts = std::move(facts);
  file_lines_ = made->events;
  unconfirmed_ = 0;
  return Save();
}

// ---- Sending it -------------------------------------------------------------------------------------------------

Status ProjectPush::FinishSending(const HubClient& hub, const std::function<void(const std::string&)>& report,
                                  const std::stop_token& stop) {
  Status sent = Send(hub, stop);
  if (sent.code() == StatusCode::kNotFound || sent.code() == StatusCode::kCorrupted) {
    report("the file of edition " + std::to_string(state_.edition) + " is lost (" + sent.message() +
           "); all accounts are sent again");
    return Abandon();
  }
  if (!sent.ok()) return sent;
  const Status confirmed = Confirm(hub, stop);
  if (confirmed.ok()) return Accept();
  if (confirmed.code() != StatusCode::kRetry || stop.stop_requested() || ++unconfirmed_ < kUnconfirmedRounds)
    return confirmed;
  report("the hub has refused edition " + std::to_string(state_.edition) +
         ", or another sender has replaced it; its refused records say why. All accounts are sent again");
  return Abandon();
}

Status ProjectPush::Send(const HubClient& hub, const std::stop_token& stop) {
  if (file_lines_ == 0) {
    auto file = RecordFileReader::Open(In("work/") + kEventsName);
    if (!file.ok()) return file.status();
    std::uint64_t lines = 0;
    std::string_view record;
    auto found = file->Next(&record);
    for (; found.ok() && *found; found = file->Next(&record)) ++lines;
    if (!found.ok()) return found.status();
    file_lines_ = lines;
  }
  const auto position = Position(hub, stop);
  if (!position.ok()) return position.status();
  return *position == file_lines_ ? Status::Ok() : SendFrom(hub, *position, stop);
}

// A source belongs to the token that first used it. A nameless token that replaces it, or a stranger who took the name,
// makes the source unusable: the same file is then sent under the next name. The hub's stages recognise the events that
// they already have.
Result<std::uint64_t> ProjectPush::Position(const HubClient& hub, const std::stop_token& stop) {
  for (; state_.attempt < kMostAttempts; ++state_.attempt) {
    const auto reply = Noted(hub.Get("/api/v1/events?source=" + Source(), stop));
    if (!reply.ok()) return reply.status();
    const json body = json::parse(reply->body, nullptr, false);
    if (reply->status == 403 && AnswerText(*reply).find("source " + Source()) == std::string::npos)
      return Status::Retry(AnswerText(*reply));  // the token may not send at all
    if (reply->status == 403) continue;
    if (reply->status != 200) return Status::Retry(AnswerText(*reply));
    const auto lines = body.is_object() ? NumberAt(body.value("data", json()), "lines") : std::nullopt;
    if (!lines) return Status::Retry("the hub's answer is not that of a federation hub");
    if (*lines > file_lines_) continue;
    if (Status s = Save(); !s.ok()) return s;
    return *lines;
  }
  return Status::Retry("the hub has given every source of edition " + std::to_string(state_.edition) +
                       " to others");
}

Status ProjectPush::SendFrom(const HubClient& hub, std::uint64_t position, const std::stop_token& stop) {
  auto file = RecordFileReader::Open(In("work/") + kEventsName);
  if (!file.ok()) return file.status();
  std::string_view record;
  const auto next = [&]() -> Result<bool> { return file->Next(&record); };
  auto found = next();
  for (std::uint64_t line = 0; found.ok() && *found && line < position; ++line) found = next();
  while (found.ok() && *found) {
    if (stop.stop_requested()) return Status::Retry("the process is stopping");
    std::string body;
    std::uint64_t lines = 0;
    for (; found.ok() && *found && (lines == 0 || body.size() + record.size() <= options_.request_bytes);
         ++lines, found = next())
      stream::AppendRecord(body, record);
    if (!found.ok()) return found.status();
    const auto reply = Noted(hub.Post(
        "/api/v1/events?source=" + Source() + "&first_line=" + std::to_string(position), body, stop));
    if (!reply.ok()) return reply.status();
    if (reply->status != 200) return Status::Retry(AnswerText(*reply));
    position += lines;
  }
  return found.ok() ? Status::Ok() : found.status();
}

Status ProjectPush::Confirm(const HubClient& hub, const std::stop_token& stop) {
  const auto until = std::chrono::steady_clock::now() + options_.confirm;
  for (;;) {
    const auto view = Ask(hub, stop);
    if (!view.ok()) return view.status();
    if (!view->readable || (view->started && view->complete >= state_.edition)) return Status::Ok();
    const bool asked_to_leave = !view->started && asked_.seconds > kPoliteWait;
    if (asked_to_leave || stop.stop_requested() || std::chrono::steady_clock::now() >= until)
      return Status::Retry("the hub has received edition " + std::to_string(state_.edition) +
                           ", but does not show it as complete yet");
    std::this_thread::sleep_for(kConfirmEvery);
  }
}

Status ProjectPush::Accept() {
  for (const RecordKind kind : kRecordKinds) {
    const std::string index = In("work/") + IndexName(kind);
    // Absent: the process died behind this step.
    if (fs::exists(index) && ::rename(index.c_str(), In(IndexName(kind)).c_str()) != 0)
      return Status::Unwritten(errno, "cannot replace " + In(IndexName(kind)) + ": " + std::strerror(errno));
  }
  state_.accepted = state_.edition;
  state_.accepted_time = state_.made_time;
  state_.facts = std::move(state_.next_facts);
  state_.next_facts = {};
  state_.sending = false;
  if (Status s = Save(); !s.ok()) return s;
  std::error_code stays;  // the next edition removes it
  fs::remove_all(In("work"), stays);
  return Status::Ok();
}

Status ProjectPush::Abandon() {
  state_.accepted = 0;
  state_.facts.clear();
  state_.next_facts.clear();
  state_.sending = false;
  unconfirmed_ = 0;
  file_lines_ = 0;
  return Save();
}

}  // namespace cobblestone::hub
