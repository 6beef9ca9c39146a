#include "services/history/event_history.h"

#include <unordered_map>
#include <utility>
#include <variant>

#include "common/credit/policies/policy.h"
#include "common/wire/events/event_codec.h"
#include "services/events/event_file.h"

namespace cobblestone::history {
namespace {

class EventReader {
 public:
  EventReader(ProjectId project, AppId app) : project_(project), history_(app) {}

  Result<History> Run(events::EventFile& file,
                      const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
    std::uint64_t items = 0;
    events::EventItem item;
    for (;;) {
      const auto more = file.Next(&item);
      if (!more.ok()) return more.status();
      if (!*more) break;
      if (progress && (++items & 0xfff) == 0) progress(file.bytes_read(), file.bytes_total());
      if (item.bad() || item.envelope.empty()) continue;
      Take(item.envelope);
    }
    if (!known_)
      return Status::NotFound("the file has no events of project " + std::to_string(project_.value));
    return std::move(history_);
  }

 private:
  // A result of which the completion or the verdict is missing, or both are known and it has been counted.
  struct Open {
    ValidResult result;
    AppId app;
    bool completed = false;
    bool success = false;
    bool judged = false;
    bool counted = false;
  };

  void Take(std::string_view bytes) {
    wire::HotEvent hot;
    switch (wire::DecodeHot(bytes, &hot)) {
      case wire::HotDecode::kMalformed: return;
      case wire::HotDecode::kHot:
        if (hot.head.project != project_) return;
        known_ = true;
        if (hot.kind == wire::EventKind::kCompletion) {
          TakeCompletion(hot.completion);
        } else {
          TakeValidation(hot.validation);
        }
        return;
      case wire::HotDecode::kOther: break;
    }
    const auto event = wire::ParseEvent(bytes);
    if (!event.ok() || event->head.project != project_) return;
    known_ = true;
    if (const auto* app = std::get_if<wire::AppChange>(&event->body)) {
      credit::AppRow row;
      row.id = app->app;
      row.name = app->name;
      row.delay_bound = app->delay_bound;
      credit::PolicyKind& policy = policies_.emplace(app->app.value, row.policy.kind).first->second;
      policy = credit::PolicyKindByName(app->policy).value_or(policy);
      row.policy.kind = policy;
      history_.TakeApp(row);
    } else if (const auto* version = std::get_if<wire::AppVersionChange>(&event->body)) {
      history_.TakeVersion(version->row);
    } else if (const auto* host = std::get_if<wire::HostMember>(&event->body)) {
      if (!host->deleted && (host->present & wire::HostMember::kWhetstone) != 0)
        history_.TakeHost(host->host, host->whetstone);
      if (!host->deleted && (host->present & wire::HostMember::kUser) != 0)
        users_[host->host.value] = host->user;
    }
  }

  void TakeCompletion(const credit::CompletionFacts& facts) {
    Open& open = open_[facts.result.value];
    // A job that returns after its time-out counts as both.
    const bool success = facts.outcome == credit::Outcome::kSuccess;
    if (open.completed && (open.success || !success)) return;
    open.completed = true;
    open.success = success;
    history_.TakeEnd(facts.app, facts.host, facts);
    open.app = facts.app;
    open.result.host = facts.host;
    open.result.version = facts.version;
    open.result.elapsed_time = facts.elapsed_time;
    open.result.cpu_time = facts.cpu_time;
    open.result.peak_flops = facts.peak_flops;
    open.result.delay_bound = facts.delay_bound;
    open.result.turnaround = facts.sent_time > 0 ? facts.received_time - facts.sent_time : 0;
    Count(open);
  }

  void TakeValidation(const credit::ValidationFacts& facts) {
    Open& open = open_[facts.result.value];
    using credit::ValidateState;
    if (open.judged || facts.state == ValidateState::kUnknown || facts.state == ValidateState::kInconclusive)
      return;
    open.judged = true;
    const bool valid = facts.state == ValidateState::kValid;
    if (facts.claims >= 2) history_.TakeJudgement(facts.app, valid);
    open.counted = !valid;
    open.result.workunit = facts.workunit;
    open.result.fpops_est = facts.fpops_est;
    open.result.fpops_bound = facts.fpops_bound;
    open.result.replicas = facts.late ? 0 : facts.claims;
    Count(open);
  }

  void Count(Open& open) {
    if (!open.success || !open.judged || open.counted) return;
    open.counted = true;
    if (const auto user = users_.find(open.result.host.value); user != users_.end())
      open.result.user = user->second;
    const auto policy = policies_.find(open.app.value);
    history_.TakeResult(open.app, policy == policies_.end() ? credit::PolicyVersion{}.kind : policy->second,
                        open.result);
  }

  ProjectId project_;
  History history_;
  bool known_ = false;
  std::unordered_map<std::uint64_t, Open> open_;                    // by result
  std::unordered_map<std::uint64_t, credit::PolicyKind> policies_;  // by app
  std::unordered_map<std::uint64_t, UserId> users_;                 // by host
};

}  // namespace

Result<History> ReadEvents(const std::string& path, ProjectId project, AppId app,
                           const std::function<void(std::uint64_t done, std::uint64_t all)>& progress) {
  auto file = events::EventFile::Open(path, {.project = project});
  if (!file.ok()) return file.status();
  return EventReader(project, app).Run(**file, progress);
}

}  // namespace cobblestone::history
