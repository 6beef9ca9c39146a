#include "services/history/pipeline_history.h"

#include <string>
#include <string_view>

#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/claims/state.h"
#include "services/ledger/ledger_records.h"

namespace cobblestone::history {
namespace {

class PipelineReader {
 public:
  PipelineReader(audit::AuditedPipeline& pipeline, ProjectId project, AppId app)
      : pipeline_(pipeline), project_(project), history_(app) {}

  Result<History> Run(const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
    bool known = false;
    for (std::uint32_t partition = 0; partition < pipeline_.partitions(); ++partition) {
      Status looked = pipeline_.Look(
          partition, [&](const audit::AuditedState& state) { return TakeState(state.claims, &known); });
      if (!looked.ok()) return looked;
    }
    if (!known) return Status::NotFound("no event has named project " + std::to_string(project_.value));
    std::uint64_t all = 0;
    for (const wire::Topic topic : kTopics) {
      const auto log = pipeline_.LogOf(topic);
      for (std::uint32_t partition = 0; partition < pipeline_.partitions(); ++partition)
        all += log->End({topic, partition}) - log->Begin({topic, partition});
    }
    std::uint64_t done = 0;
    for (const wire::Topic topic : kTopics) {
      const auto log = pipeline_.LogOf(topic);
      for (std::uint32_t partition = 0; partition < pipeline_.partitions(); ++partition) {
        const stream::TopicPartition where{topic, partition};
        const auto read = ledger::ForEachRecordOf(
            *log, where, log->Begin(where), log->End(where),
            [&](std::uint64_t, std::string_view record) {
              return topic == wire::kGrants ? TakeGrant(record) : TakeEvent(record);
            },
            [&](std::uint64_t records) {
              done += records;
              if (progress) progress(done, all);
            });
        if (!read.ok()) return read.status();
      }
    }
    return std::move(history_);
  }

 private:
  // The ledger first: its results determine the app.
  static constexpr wire::Topic kTopics[] = {wire::kGrants, wire::kCompletions, wire::kValidations};

  Status TakeState(const view::Rows& claims, bool* known) {
    Status projects = view::ForEach(claims, claims::kProjectsTable,
                                    [&](const stream::Key& key, const stage::ProjectView& project) {
                                      if (key.project != project_.value) return Status::Ok();
                                      *known = true;
                                      for (const auto& [id, app] : project.catalogue.apps)
                                        history_.TakeApp(app);
                                      for (const auto& [id, version] : project.catalogue.versions)
                                        history_.TakeVersion(version);
                                      return Status::Ok();
                                    });
    if (!projects.ok()) return projects;
    return view::ForEach(claims, claims::kHostsTable,
                         [&](const stream::Key& key, const claims::HostState& host) {
                           if (key.project == project_.value)
                             history_.TakeHost(HostId(key.id), host.record.whetstone);
                           return Status::Ok();
                         });
  }

  bool TakeGrant(std::string_view record) {
    wire::GrantHead head;
    if (!wire::DecodeGrantHead(record, &head)) return false;
    if (head.project != project_ || head.kind != wire::GrantKind::kFinal) return true;
    if (!wire::DecodeGrant(record, &grant_)) return false;
    if (!grant_.claim) return true;
    const credit::Claim& claim = *grant_.claim;
    history_.TakeResult(claim.app, claim.policy,
                        {.workunit = claim.workunit,
                         .host = claim.host,
                         .user = claim.user,
                         .version = claim.version,
                         .elapsed_time = claim.elapsed_time,
                         .cpu_time = claim.cpu_time,
                         .peak_flops = claim.peak_flops,
                         .fpops_est = claim.fpops_est,
                         .fpops_bound = claim.fpops_bound,
                         .delay_bound = claim.delay_bound,
                         .turnaround = claim.sent_time > 0 ? claim.received_time - claim.sent_time : 0,
                         .replicas = (claim.flags & credit::kClaimLate) != 0 ? 0 : claim.awaited});
    return true;
  }

  // Refused events lie in these topics too.
  bool TakeEvent(std::string_view record) {
    wire::HotEvent event;
    if (wire::DecodeHot(record, &event) != wire::HotDecode::kHot || event.head.project != project_)
      return true;
    if (event.kind == wire::EventKind::kCompletion) {
      history_.TakeEnd(event.completion.app, event.completion.host, event.completion);
    } else if (event.validation.claims >= 2 && event.validation.state != credit::ValidateState::kUnknown &&
               event.validation.state != credit::ValidateState::kInconclusive) {
      history_.TakeJudgement(event.validation.app, event.validation.state == credit::ValidateState::kValid);
    }
    return true;
  }

  audit::AuditedPipeline& pipeline_;
  ProjectId project_;
  History history_;
  wire::Grant grant_;
};

}  // namespace

Result<History> ReadPipeline(audit::AuditedPipeline& pipeline, ProjectId project, AppId app,
                             const std::function<void(std::uint64_t done, std::uint64_t all)>& progress) {
  return PipelineReader(pipeline, project, app).Run(progress);
}

}  // namespace cobblestone::history
