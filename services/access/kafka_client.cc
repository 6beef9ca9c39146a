#include "services/access/kafka_client.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "common/base/fair_mutex.h"
#include "common/client/publisher.h"
#include "common/stream/kafka/catch_up.h"
#include "common/stream/kafka/librdkafka/topic_admin.h"
#include "common/stream/kafka/position.h"
#include "common/stream/kafka/read_all.h"
#include "common/wire/control/watermark_codec.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "common/wire/ledger/refused_codec.h"
#include "services/access/append_codec.h"
#include "services/access/correction_question.h"
#include "services/access/refused_question.h"
#include "services/adoption/adoption_totals.h"
#include "services/corrections/corrections_asked.h"
#include "services/intake/intake.h"
#include "services/kafka/kafka_deployment.h"
#include "services/kafka/kafka_log.h"
#include "services/pipeline/periods.h"
#include "services/pipeline/ticker.h"
#include "services/view/json.h"

namespace cobblestone::access {

using corrections::CorrectionPlanJson;
using corrections::PlanCorrections;
using intake::AppendBlock;
using intake::AppendOutcome;
using intake::IntakeOptions;
using intake::ProducerState;
using kafka::AllRolesOf;
using kafka::CheckKind;
using kafka::CheckTopics;
using kafka::DeploymentOf;
using kafka::KafkaDeployment;
using kafka::kKindKey;
using kafka::kProducersTopic;
using kafka::kStatusTopic;
using kafka::LogsOf;
using kafka::PipelineOf;
using kafka::Reads;
using kafka::RoleName;
using pipeline::PeriodKind;
using pipeline::PipelineOptions;
using pipeline::SlotCount;
using pipeline::Ticker;
using pipeline::TickerOptions;

namespace {

using nlohmann::json;

using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes kDrainPatience{10};
constexpr std::chrono::seconds kDrainReportInterval{5};
constexpr std::size_t kMaxSources = 64;  // with an open publisher, besides sources in use
constexpr double kSilentAfter = 15;      // s: an older status of a worker is not current

double WallClock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

ProducerState ProducerOf(const client::SourceState& state) {
  return {.lines = state.events, .hash = state.hash, .owner = state.owner};
}

// Stages as reported by a slot's owner, with their names; the slot has all stages or only the one of its
// role.
json StagesOf(const json& reported, const json& slot) {
  json stages = json::array();
  const std::string role = slot.value("role", "");
  std::size_t at = 0;
  for (const std::string_view name : settings::kStageNames) {
    if (role.find(name) == std::string::npos || at >= reported.size()) continue;
    json stage = reported[at++];
    stage["stage"] = name;
    stages.push_back(std::move(stage));
  }
  return stages;
}

// For questions that the gateway answers: the gateway has the states of all slots, and this client has none.
Status AskTheGateway(const Question& question) {
  const auto value = [&](const char* name) {
    const auto found = question.parameters.find(name);
    return found == question.parameters.end() ? std::string() : found->second;
  };
  std::string path = "/api/v1/projects/" + value("project");
  if (question.path == "/account") path += "/" + value("kind") + "s/" + value("id");
  if (question.path == "/explain") path += "/results/" + value("result");
  if (question.path == "/scales") path += "/scales";
  if (question.path == "/host-version") {
    path += "/hosts/" + value("host") + "/versions?app_version=" + value("version");
    if (question.parameters.contains("app")) path += "&app=" + value("app");
  }
  return Status::InvalidArgument(
      "on Kafka only the gateway answers this query: start `cobblestone gateway --config "
      "FILE` and request " +
      path + ", or open its web page");
}

class RealKafkaClient final : public KafkaClient {
 public:
  RealKafkaClient(const settings::RunSettings& settings, KafkaDeployment deployment,
                  std::unique_ptr<stream::kafka::Cluster> cluster,
                  std::function<void(const std::string&)> report)
      : settings_(settings),
        deployment_(std::move(deployment)),
        cluster_(std::move(cluster)),
        report_(std::move(report)) {}

  Result<json> Ask(const Question& question) override {
    if (question.path == "/producer") {
      const auto turn = TurnOf(question.parameters.at("source"));
      if (!turn.ok()) return turn.status();
      const client::SourceState& state = turn->source->publisher->state();
      json answer = ProducerJson(ProducerOf(state));
      if (state.batch_events != 0)
        answer["batch"] = ProducerJson({.lines = state.batch_events, .hash = state.batch_hash});
      answer["order"] = lockstep() ? "lockstep" : "arrival";
      return answer;
    }
    if (question.path == "/refused" || question.path == "/refused/count" || question.path == "/refused/point")
      return AnswerRefused(question, RefusedRecords());
    if (question.path == "/refused/show") {
      const std::string& offset = question.parameters.at("offset");
      auto list = AnswerRefused({.path = "/refused", .parameters = {{"from", offset}, {"limit", "1"}}},
                                RefusedRecords());
      if (!list.ok()) return list.status();
      const json& found = (*list)["refused"];
      if (found.empty() || found[0]["number"] != std::stoull(offset))
        return Status::NotFound("unknown refused record " + offset);
      return found[0];
    }
    if (question.path == "/refused/resubmit")
      return AnswerResubmit(question, RefusedRecords(),
                            [this](const std::vector<std::string>& events) { return Resubmit(events); });
    if (question.path == "/tasks") return Tasks();
    if (question.path == "/adopted")
      return Adopted(ProjectId(static_cast<std::uint32_t>(std::stoul(question.parameters.at("project")))));
    return AskTheGateway(question);
  }

  Result<AppendOutcome> Append(const AppendBlock& block) override {
    const auto turn = TurnOf(block.source);
    if (!turn.ok()) return turn.status();
    TopicSink sink(*this, *turn->source);
    return intake::Append(block, IntakeOptions::Of(settings_), sink);
  }

  std::optional<ProducerState> Published(const std::string& source) override {
    const std::lock_guard lock(mutex_);
    const auto found = sources_.find(source);
    return found == sources_.end() ? std::nullopt : found->second->known;
  }

  Status WaitIdle() override {
    std::string any;
    {
      const std::lock_guard lock(mutex_);
      if (sources_.empty()) return Status::Ok();
      any = sources_.begin()->first;
    }
    const auto turn = TurnOf(any);
    return turn.ok() ? Drain(*turn->source) : turn.status();
  }

  Result<json> AskLong(const Question& question,
                       const std::function<void(std::uint64_t, std::uint64_t)>& progress) override {
    if (question.path == "/corrections") return Corrections(question, progress);
    return Status::InvalidArgument("on Kafka no process answers " + question.path);
  }

  Status Close() override { return Status::Ok(); }
  [[nodiscard]] bool remote() const override { return true; }

 private:
  // Owned by the thread that has the turn, except for members guarded by mutex_.
  struct Source {
    FairMutex turn;
    std::unique_ptr<client::Publisher> publisher;  // null: to be opened
    std::optional<Ticker> ticker;                  // with the publisher
    std::unique_ptr<stream::kafka::Reader> passed;
    bool begun = false;                  // something was appended with this publisher
    std::optional<ProducerState> known;  // guarded by mutex_: position, while there is a publisher
    std::uint64_t used = 0;              // guarded by mutex_
  };
  // Lives while its caller has the turn of the source.
  class TopicSink final : public intake::Sink {
   public:
    TopicSink(RealKafkaClient& client, Source& source)
        : client_(client),
          source_(source),
          position_(ProducerOf(source.publisher->state())),
          period_kind_(static_cast<PeriodKind>(source.publisher->state().period_kind)),
          now_(WallClock()) {}

    [[nodiscard]] const ProducerState& position() const override { return position_; }
    [[nodiscard]] PeriodKind period_kind() const override { return period_kind_; }
    // A broadcast that an earlier publisher of the source sent may not be processed yet.
    [[nodiscard]] bool must_drain() const override {
      return !source_.begun && position_.lines > 0 && client_.drained_ == 0;
    }
    [[nodiscard]] double now() const override { return now_; }
    [[nodiscard]] Ticker& ticker() override { return *source_.ticker; }

    Status ReadyForBarrier() override { return Status::Ok(); }  // the workers may start later
    Status Drain() override { return client_.Drain(source_); }
    Result<std::uint64_t> PassBarrier(bool ends_period) override {
      period_kind_ = PeriodKind::kEnding;
      client::SourceState state = source_.publisher->state();
      state.period_kind = static_cast<std::uint32_t>(period_kind_);
      std::uint64_t moved = 0;
      if (Status s = client_.SendBarrier(source_, {.ends_period = ends_period}, state, &moved); !s.ok())
        return s;
      if (ends_period) period_kind_ = PeriodKind::kNothing;
      return moved;
    }

    void Add(stream::TopicPartition where, std::string_view record) override {
      source_.publisher->AddTo(where, record);
    }
    void Discard() override {
      source_.publisher->Discard();
      source_.ticker->Drop();
    }
    Status Store(const Commit& commit) override {
      source_.begun = true;
      if (commit.period_kind != PeriodKind::kNothing) period_kind_ = commit.period_kind;
      client::SourceState state{.events = commit.position.lines,
                                .hash = commit.position.hash,
                                .period_kind = static_cast<std::uint32_t>(period_kind_),
                                .owner = commit.position.owner};
      if (commit.batch_begin) {
        state.batch_events = commit.batch_begin->lines;
        state.batch_hash = commit.batch_begin->hash;
      }
      if (Status s = source_.publisher->Commit(state, source_.ticker->Changes()); !s.ok()) {
        Discard();
        // Another process sends this source now. The next request opens a new publisher, and reads how far the
        // source has come.
        if (s.code() == StatusCode::kFenced) client_.Forget(source_);
        return s;
      }
      source_.ticker->Keep();
      ++client_.appended_;
      client_.Remember(source_);
      position_ = commit.position;
      return Status::Ok();
    }

   private:
    RealKafkaClient& client_;
    Source& source_;
    ProducerState position_;
    PeriodKind period_kind_;
    const double now_;
  };
  // A source with an open publisher. While it exists no other thread appends to the source; in lockstep, to
  // any source.
  struct Turn {
    std::shared_ptr<Source> source;
    std::unique_lock<FairMutex> lock;
  };

  [[nodiscard]] bool lockstep() const { return settings_.order == settings::Order::kLockstep; }

  // Waits until everything appended before, from any source, is processed, with its consequences in later stages.
  // Records that a stage writes for itself or for an earlier stage may still be on their way: openings of users,
  // corrections, accounts of hosts that move, events of merged hosts, scales (docs/runtime.md, "What a passed barrier
  // guarantees").
  Status Drain(Source& source) {
    const std::uint64_t upto = appended_;
    if (drained_ >= upto) return Status::Ok();
    std::uint64_t moved = 0;
    if (Status s = SendBarrier(source, {}, source.publisher->state(), &moved); !s.ok()) return s;
    for (std::uint64_t before = drained_; before < upto && !drained_.compare_exchange_weak(before, upto);) {
    }
    return Status::Ok();
  }

  // Sends a barrier and waits for it. A barrier passes through all stages of all partitions, in order with
  // the data; each partition reports its passage and what has moved (WatermarkPassed).
  // `state` is stored with the barrier.
  Status SendBarrier(Source& source, const wire::Barrier& barrier, const client::SourceState& state,
                     std::uint64_t* moved) {
    *moved = 0;
    const stream::TopicPartition where{wire::kPassed, 0};
    if (source.passed == nullptr) {
      auto admin = stream::kafka::MakeTopicAdmin(deployment_.cluster);
      if (!admin.ok()) return admin.status();
      const auto ends = (*admin)->EndsOf(where);
      if (!ends.ok()) return ends.status();
      auto reader = cluster_->NewReader(stream::kafka::kLongFetch);
      if (!reader.ok()) return reader.status();
      if (Status s = (*reader)->Start(where, ends->stable); !s.ok()) return s;
      source.passed = std::move(*reader);
    }
    client::Publisher& publisher = *source.publisher;
    const std::uint64_t id = NewBarrierId();
    // Without a time: a hub, or a pipeline, refuses what its brokers' clocks show to be from the future, and a barrier that
    // is refused never passes.
    publisher.AddTo({wire::kCatalogue, 0}, wire::EncodeEvent({.head = {.id = id}, .body = barrier}));
    Status s = publisher.Commit(state);
    if (!s.ok()) publisher.Discard();
    std::set<std::uint32_t> passed;
    auto reported_at = Clock::now();
    const auto deadline = reported_at + kDrainPatience;
    std::deque<stream::kafka::Message> messages;
    while (s.ok() && passed.size() < settings_.partitions) {
      s = source.passed->Poll(where, 1000, &messages);
      if (messages.empty()) source.passed->Wait(stream::kafka::Millis(100));
      for (; !messages.empty(); messages.pop_front()) {
        stream::RecordCursor cursor(messages.front().value());
        std::string_view record;
        wire::WatermarkPassed one;
        while (cursor.Next(&record))
          if (wire::DecodeWatermarkPassed(record, &one) && one.barrier == id &&
              passed.insert(one.partition).second)
            *moved += one.moved;
      }
      const auto now = Clock::now();
      if (now > deadline)
        return Status::Retry(
            "the events are durable, but not processed yet: " + std::to_string(passed.size()) + " of " +
            std::to_string(settings_.partitions) +
            " partitions are done. Check that workers are running (`cobblestone tasks`), and run "
            "the command again later");
      if (now - reported_at > kDrainReportInterval) {
        reported_at = now;
        report_("waiting for the workers: " + std::to_string(passed.size()) + " of " +
                std::to_string(settings_.partitions) + " partitions have processed all earlier events");
      }
    }
    if (s.code() == StatusCode::kFenced) Forget(source);
    return s;
  }

  std::uint64_t NewBarrierId() {
    const std::lock_guard lock(mutex_);
    return std::max<std::uint64_t>(1, random_());
  }

  Result<Turn> TurnOf(const std::string& name) {
    std::vector<std::shared_ptr<Source>> closed;  // after the lock
    Turn turn;
    {
      const std::lock_guard lock(mutex_);
      auto& source = sources_[name];
      if (source == nullptr) source = std::make_shared<Source>();
      source->used = ++uses_;
      turn.source = source;
      closed = CloseTheIdle();
    }
    turn.lock = std::unique_lock(lockstep() ? lockstep_turn_ : turn.source->turn);
    if (turn.source->publisher != nullptr) return turn;
    auto publisher = client::Publisher::Open(*cluster_, {.source = name,
                                                         .partitions = settings_.partitions,
                                                         .producers_topic = kProducersTopic,
                                                         .alone = lockstep()});
    if (!publisher.ok()) return publisher.status();
    turn.source->publisher = std::move(*publisher);
    const client::LastTicks& ticks = turn.source->publisher->ticks();
    const auto last_of = [&ticks](ProjectId project) {
      const auto found = ticks.find(project);
      return found == ticks.end() ? 0.0 : found->second;
    };
    turn.source->ticker.emplace(
        TickerOptions{.last = last_of({}),
                      .future_limit = std::chrono::duration<double>(settings_.future_limit).count(),
                      .last_of = last_of});
    Remember(*turn.source);
    return turn;
  }

  // Removes the least recently used sources beyond kMaxSources. Needs mutex_.
  std::vector<std::shared_ptr<Source>> CloseTheIdle() {
    std::vector<std::shared_ptr<Source>> closed;
    while (sources_.size() > kMaxSources) {
      auto oldest = sources_.end();
      for (auto at = sources_.begin(); at != sources_.end(); ++at)
        if (at->second.use_count() == 1 &&
            (oldest == sources_.end() || at->second->used < oldest->second->used))
          oldest = at;
      if (oldest == sources_.end()) break;  // all are in use
      closed.push_back(std::move(oldest->second));
      sources_.erase(oldest);
    }
    return closed;
  }

  void Remember(Source& source) {
    const std::lock_guard lock(mutex_);
    source.known = ProducerOf(source.publisher->state());
  }
  void Forget(Source& source) {
    source.publisher.reset();
    source.ticker.reset();
    source.begun = false;
    const std::lock_guard lock(mutex_);
    source.known.reset();
  }

  // Reads the ledger up to its end before a barrier that has passed: the grants before it all have their
  // postings.
  Result<json> Corrections(const Question& question,
                           const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
    const auto request = CorrectionRequestOf(question);
    if (!request.ok()) return request.status();
    auto admin = stream::kafka::MakeTopicAdmin(deployment_.cluster);
    if (!admin.ok()) return admin.status();
    auto turn = TurnOf("corrections");
    if (!turn.ok()) return turn.status();
    std::vector<std::uint64_t> grants(settings_.partitions);
    // In lockstep, grants that wait for the end of the period are in the ledger but not posted.
    Status s;
    if (lockstep()) {
      TopicSink sink(*this, *turn->source);
      s = intake::EndPeriodBefore(PeriodKind::kNothing, true, sink);
    }
    for (std::uint32_t p = 0; s.ok() && p < settings_.partitions; ++p) {
      const auto ends = (*admin)->EndsOf({wire::kGrants, p});
      s = ends.status();
      if (ends.ok()) grants[p] = ends->stable;
    }
    ++appended_;  // other processes may have appended
    if (s.ok()) s = Drain(*turn->source);
    if (!s.ok()) return s;
    turn->lock.unlock();
    const auto plan =
        PlanCorrections(*request, LogsOf(*cluster_, **admin, deployment_, Reads::kOn), grants, progress);
    if (!plan.ok()) return plan.status();
    return CorrectionPlanJson(*plan);
  }

  // Under a source of its own, which counts the resubmitted events.
  Status Resubmit(const std::vector<std::string>& events) {
    const auto turn = TurnOf(std::string(intake::kResubmissions));
    if (!turn.ok()) return turn.status();
    TopicSink sink(*this, *turn->source);
    return intake::Resubmit(events, IntakeOptions::Of(settings_), sink);
  }

  RefusedSource RefusedRecords() {
    return {.partitions = settings_.partitions,
            .read = [this](std::uint64_t from, const auto& visit) { return ReadRefused(from, visit); },
            .ends = [this](const std::vector<stream::TopicPartition>& where) { return StableEnds(where); }};
  }

  // Offsets number the refusals; the markers of transactions take offsets, too.
  Result<std::uint64_t> ReadRefused(std::uint64_t from,
                                    const std::function<bool(std::uint64_t, std::string_view)>& visit) {
    const stream::TopicPartition where{wire::kRefused, 0};
    auto reader = cluster_->NewReader(stream::kafka::kShortFetch);
    if (!reader.ok()) return reader.status();
    std::uint64_t end = from;
    bool more = true;
    Status s = stream::kafka::ReadAll(
        **reader, where, from == 0 ? stream::kafka::kBeginning : from, stream::kafka::Millis(30000),
        [&](const stream::kafka::Message& message) {
          more = visit(message.offset(), message.value());
          return more ? Status::Ok() : Status::Retry("enough was read");
        },
        &end);
    if (more) return s.ok() ? Result<std::uint64_t>(end) : s;
    const auto ends = StableEnds({where});
    return ends.ok() ? Result<std::uint64_t>(ends->front()) : ends.status();
  }

  Result<std::vector<std::uint64_t>> StableEnds(const std::vector<stream::TopicPartition>& where) {
    auto admin = stream::kafka::MakeTopicAdmin(deployment_.cluster);
    if (!admin.ok()) return admin.status();
    const auto ends = (*admin)->EndsOfAll(where);
    if (!ends.ok()) return ends.status();
    std::vector<std::uint64_t> stable;
    for (const auto& one : *ends) stable.push_back(one.stable);
    return stable;
  }

  // From the ledger: openings that have become grants. Reads the whole ledger.
  Result<json> Adopted(ProjectId project) {
    adoption::Totals totals;
    auto reader = cluster_->NewReader(stream::kafka::kShortFetch);
    if (!reader.ok()) return reader.status();
    const auto take = [&](std::string_view record) {
      wire::GrantHead head;
      if (!wire::DecodeGrantHead(record, &head)) return Status::Corrupted("a grant cannot be decoded");
      if (head.kind != wire::GrantKind::kOpening || head.project != project) return Status::Ok();
      adoption::KindTotals& kind = head.host ? totals.hosts : head.user ? totals.users : totals.teams;
      ++kind.accounts;
      kind.credit += head.credit_micro;
      kind.rac += credit::RoundToMicro(head.work_start);  // EmitOpening: an opening's RAC
      return Status::Ok();
    };
    for (std::uint32_t k = 0; k < settings_.partitions; ++k) {
      Status s =
          stream::kafka::ReadAll(**reader, {wire::kGrants, k}, stream::kafka::kBeginning,
                                 stream::kafka::Millis(30000), [&](const stream::kafka::Message& message) {
                                   stream::RecordCursor cursor(message.value());
                                   std::string_view record;
                                   Status taken;
                                   while (taken.ok() && cursor.Next(&record)) taken = take(record);
                                   return taken;
                                 });
      if (!s.ok()) return s;
    }
    json answer = adoption::TotalsJson(totals);
    for (auto& kind : answer)
      for (const char* of_state : {"profiles", "no_balance", "figures"}) kind.erase(of_state);
    return answer;
  }

  // The committed position of each slot, and the last status of each stream thread.
  Result<json> Tasks() {
    stream::kafka::NoListener listener;
    json tasks = json::array();
    std::map<std::string, std::size_t> first;  // index of each role's first slot
    for (const settings::RunSettings& role : AllRolesOf(settings_)) {
      const PipelineOptions pipeline = PipelineOf(role);
      const std::string name = RoleName(role);
      first[name] = tasks.size();
      auto deployment = DeploymentOf(role, {});
      if (!deployment.ok()) return deployment.status();
      auto cluster = stream::kafka::MakeCluster(deployment->cluster);
      if (!cluster.ok()) return cluster.status();
      auto group = (*cluster)->NewGroup("observer", listener);
      if (!group.ok()) return group.status();
      std::vector<std::uint32_t> slots;
      for (std::uint32_t k = 0; k < SlotCount(pipeline); ++k) slots.push_back(k);
      auto committed = (*group)->Committed(slots, false, stream::kafka::Millis(10000));
      if (!committed.ok()) return committed.status();
      for (const auto& one : *committed) {
        json task = {{"slot", one.slot},
                     {"role", name.empty() ? std::string(pipeline::StagesOf(one.slot, pipeline)) : name},
                     {"standbys", json::array()}};
        if (one.offset) {
          const auto position = stream::kafka::DecodePosition(*one.offset, one.metadata);
          if (!position.ok()) return position.status();
          task["committed"] = position->sequence;
          task["checkpoint"] = position->checkpoint_sequence;
          task["owner"] = position->owner;
          task["released"] = position->released;
          task["rules_version"] = position->rules_version;
        }
        tasks.push_back(std::move(task));
      }
    }
    std::map<std::string, json> workers;
    auto reader = cluster_->NewReader(stream::kafka::kShortFetch);
    if (!reader.ok()) return reader.status();
    Status s =
        stream::kafka::ReadAll(**reader, {kStatusTopic, 0}, stream::kafka::kBeginning,
                               stream::kafka::Millis(10000), [&](const stream::kafka::Message& message) {
                                 if (message.key() == kKindKey) return Status::Ok();
                                 json heartbeat = json::parse(message.value(), nullptr, false);
                                 if (!heartbeat.is_object()) return Status::Ok();
                                 // The broker's time of the record: the worker's own clock may be wrong.
                                 heartbeat["time"] = message.timestamp();
                                 workers[std::string(message.key())] = std::move(heartbeat);
                                 return Status::Ok();
                               });
    if (!s.ok()) return s;
    json all = json::array();
    const double now = WallClock();
    for (auto& [name, heartbeat] : workers) {
      const double age = now - heartbeat.value("time", 0.0);
      for (json& task : heartbeat["tasks"]) {
        const auto of_role = first.find(heartbeat.value("role", ""));
        if (of_role == first.end()) continue;
        const std::size_t slot = of_role->second + task.value("slot", std::uint32_t{0});
        if (slot >= tasks.size() || age > kSilentAfter) continue;
        json& place = tasks[slot];
        if (!task.value("owned", false)) {
          const auto behind =
              place.value("committed", std::uint64_t{0}) -
              std::min(place.value("committed", std::uint64_t{0}), task.value("commits", std::uint64_t{0}));
          place["standbys"].push_back(
              {{"worker", name}, {"phase", task["phase"]}, {"commits_behind", behind}});
          continue;
        }
        place["worker"] = name;
        for (const char* field : {"phase", "lag", "commits", "commits_to_reach", "hash", "state_written",
                                  "rows_restored", "commits_executed_again", "records", "problem"})
          if (task.contains(field)) place[field] = task[field];
        if (const auto reported = task.find("stages"); reported != task.end())
          place["stages"] = StagesOf(*reported, place);
      }
      heartbeat.erase("tasks");
      heartbeat["silent_for_s"] = age;
      all.push_back(std::move(heartbeat));
    }
    return json{{"tasks", tasks}, {"workers", all}};
  }

  const settings::RunSettings settings_;
  const KafkaDeployment deployment_;
  const std::unique_ptr<stream::kafka::Cluster> cluster_;
  const std::function<void(const std::string&)> report_;
  // Number of blocks that this client has appended, over all sources, and how many of them are known to be
  // processed. Starts at 1 for blocks of an earlier process.
  std::atomic<std::uint64_t> appended_ = 1;
  std::atomic<std::uint64_t> drained_ = 0;
  FairMutex lockstep_turn_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Source>> sources_;  // guarded by mutex_
  std::uint64_t uses_ = 0;                                  // guarded by mutex_
  std::mt19937_64 random_{std::random_device{}()};          // guarded by mutex_
};

}  // namespace

Result<std::unique_ptr<KafkaClient>> ConnectKafka(const settings::RunSettings& settings,
                                                  const std::function<void(const std::string&)>& report) {
  auto deployment = DeploymentOf(settings, report);
  if (!deployment.ok()) return deployment.status();
  if (Status s = CheckTopics(*deployment); !s.ok()) return s;
  auto cluster = stream::kafka::MakeCluster(deployment->cluster);
  if (!cluster.ok()) return cluster.status();
  if (Status s = CheckKind(**cluster, settings); !s.ok()) return s;
  return std::unique_ptr<KafkaClient>(
      new RealKafkaClient(settings, std::move(*deployment), std::move(*cluster), report));
}

}  // namespace cobblestone::access
