#include "services/gateway/live.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/wire/ledger/grant_codec.h"
#include "services/gateway/as_of.h"
#include "services/gateway/message.h"

namespace cobblestone::gateway {

using nlohmann::json;

namespace {

constexpr std::size_t kMaxWaiting = 32;  // events of one stream
constexpr std::size_t kMaxGrants = 5;    // per look
// Grants read to compute the rate of credit; if there are more, these are a sample.
constexpr std::size_t kGrantsRead = 2000;
constexpr auto kHeartbeat = std::chrono::seconds(10);
// For the version of events that is sent to viewers without the right to read everything.
constexpr Rights kAnybody{.read = true};

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double UnixTime() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double Rate(std::uint64_t now, std::uint64_t before, double seconds) {
  return now <= before || seconds <= 0 ? 0.0 : static_cast<double>(now - before) / seconds;
}

}  // namespace

std::string StreamEvent(std::string_view name, const json& data) {
  return "event: " + std::string(name) +
         "\ndata: " + data.dump(-1, ' ', false, json::error_handler_t::replace) + "\n\n";
}

std::string StreamHeartbeat() { return ":\n\n"; }

json FlowJson(const Figures& before, const Figures& now, double seconds, const CreditSeen& credit,
              double unix_time) {
  const double grants = Rate(now.grants, before.grants, seconds);
  const double mean = credit.counted == 0 ? 0.0 : credit.micro / 1e6 / static_cast<double>(credit.counted);
  json stages = json::array();
  for (const Figures::StageFigures& stage : now.stages) {
    std::uint64_t records = stage.records;
    for (const Figures::StageFigures& other : before.stages)
      if (other.stage == stage.stage) records = other.records;
    stages.push_back({{"stage", stage.stage},
                      {"lag", stage.lag},
                      {"records_per_s", Rate(stage.records, records, seconds)}});
  }
  json commit;
  if (now.commit) commit = {{"p50", now.commit->p50}, {"p99", now.commit->p99}};
  return {{"time", unix_time},
          {"results_per_s", Rate(now.results, before.results, seconds)},
          {"grants_per_s", grants},
          {"credit_per_s", grants * mean},
          {"refused_per_s", Rate(now.refused, before.refused, seconds)},
          {"refused", now.refused},
          {"lag", now.lag},
          {"commit_ms", commit},
          {"stages", stages}};
}

// ---- One stream ---------------------------------------------------------------------------------------------

LiveStream::LiveStream(LiveFeed& feed, bool sees_all, bool sees_accounts)
    : feed_(feed), sees_all_(sees_all), sees_accounts_(sees_accounts) {}

LiveStream::~LiveStream() {
  const std::lock_guard lock(feed_.mutex_);
  std::erase(feed_.streams_, this);
}

bool LiveStream::Next(std::string* text) {
  std::unique_lock lock(feed_.mutex_);
  ready_.wait_for(lock, kHeartbeat, [&] { return !waiting_.empty() || feed_.stopped_; });
  if (feed_.stopped_) return false;
  if (waiting_.empty()) {
    *text = StreamHeartbeat();
    return true;
  }
  text->clear();
  for (; !waiting_.empty(); waiting_.pop_front()) *text += *waiting_.front();
  return true;
}

// ---- All of them --------------------------------------------------------------------------------------------

LiveFeed::LiveFeed(Pipeline& pipeline, view::Questions& questions, const Visibility& visibility,
                   const LiveOptions& options)
    : pipeline_(pipeline), questions_(questions), visibility_(visibility), options_(options) {
  thread_ = std::thread([this] { Run(); });
}

LiveFeed::~LiveFeed() {
  Stop();
  thread_.join();
}

std::shared_ptr<LiveStream> LiveFeed::Watch(const Rights& viewer) {
  const std::lock_guard lock(mutex_);
  if (stopped_ || streams_.size() >= options_.streams) return nullptr;
  std::shared_ptr<LiveStream> stream(new LiveStream(*this, viewer.read_all, visibility_.MaySeeAll(viewer)));
  // The first data confirms to the client that the stream is open.
  stream->waiting_.push_back(std::make_shared<const std::string>("retry: 2000\n\n"));
  streams_.push_back(stream.get());
  wake_.notify_all();
  return stream;
}

void LiveFeed::Stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  wake_.notify_all();
  for (LiveStream* stream : streams_) stream->ready_.notify_all();
}

void LiveFeed::Run() {
  const auto every = std::chrono::duration<double>(options_.every);
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    if (streams_.empty()) {
      // Rates start again with the next viewer.
      before_.reset();
      ends_.clear();
      wake_.wait(lock, [&] { return stopped_ || !streams_.empty(); });
      continue;
    }
    lock.unlock();
    std::vector<Event> events;
    try {
      events = Look();
    } catch (const std::exception&) {
      before_.reset();  // a failed look reports nothing; the next one starts again
    }
    lock.lock();
    for (LiveStream* stream : streams_) {
      for (const Event& event : events) {
        const auto& text = stream->sees_all_ ? event.all : event.others;
        if (!text || (!stream->sees_accounts_ && &event != &events.front())) continue;
        if (stream->waiting_.size() >= kMaxWaiting) stream->waiting_.pop_front();
        stream->waiting_.push_back(text);
      }
      stream->ready_.notify_all();
    }
    wake_.wait_for(lock, every, [&] { return stopped_; });
  }
}

// The flow first, then the events about accounts.
std::vector<LiveFeed::Event> LiveFeed::Look() {
  std::vector<Event> events;
  json as_of = AsOfAll(questions_);
  auto now = pipeline_.Look();
  if (!now.ok()) return events;
  const double at = SteadySeconds();
  CreditSeen credit;
  std::vector<Event> of_accounts;
  AddGrants(&credit, &of_accounts);
  if (before_) {
    json flow = FlowJson(*before_, *now, at - before_at_, credit, UnixTime());
    flow["as_of"] = std::move(as_of);
    const auto text = std::make_shared<const std::string>(StreamEvent("flow", flow));
    events.push_back({.all = text, .others = text});
    events.insert(events.end(), of_accounts.begin(), of_accounts.end());
    if (now->refused > before_->refused) AddRefusal(&events);
  }
  before_ = std::move(*now);
  before_at_ = at;
  return events;
}

void LiveFeed::AddGrants(CreditSeen* credit, std::vector<Event>* events) {
  std::deque<wire::GrantHead> newest;
  const Status read = pipeline_.NewGrants(&ends_, kGrantsRead, [&](std::string_view record) {
    wire::GrantHead head;
    if (!wire::DecodeGrantHead(record, &head) || head.kind != wire::GrantKind::kFinal) return;
    credit->micro += static_cast<double>(head.credit_micro);
    ++credit->counted;
    if (newest.size() == kMaxGrants) newest.pop_front();
    newest.push_back(head);
  });
  if (!read.ok()) return;  // only a sample is shown in any case
  for (const wire::GrantHead& head : newest) {
    json grant{{"project", head.project.value}, {"result", head.result.value}, {"user", head.user.value},
               {"host", head.host.value},       {"credit", std::string()},     {"time", head.time}};
    char text[40];
    std::snprintf(text, sizeof text, "%lld.%06lld", static_cast<long long>(head.credit_micro / 1000000),
                  static_cast<long long>(head.credit_micro % 1000000));
    grant["credit"] = text;
    if (const auto catalogue = questions_.Catalogue(head.project); catalogue.ok())
      for (const json& app : (*catalogue)["apps"])
        if (app.value("app", std::uint64_t{0}) == head.app.value) grant["app_name"] = app.value("name", "");
    if (const auto user = questions_.Account(head.project, wire::AccountKind::kUser, head.user.value);
        user.ok())
      grant["user_name"] = user->value("name", "");
    Event event{.all = std::make_shared<const std::string>(StreamEvent("grant", grant))};
    visibility_.Unlink(kAnybody, head.project, grant);
    event.others = std::make_shared<const std::string>(StreamEvent("grant", grant));
    events->push_back(std::move(event));
  }
}

void LiveFeed::AddRefusal(std::vector<Event>* events) {
  auto newest = questions_.RefusedBefore(~std::uint64_t{0}, 1);
  if (!newest.ok() || (*newest)["refused"].empty()) return;
  json& refused = (*newest)["refused"][0];
  Event event{.all = std::make_shared<const std::string>(StreamEvent("refused", refused))};
  Visibility::Redact(kAnybody, refused);
  event.others = std::make_shared<const std::string>(StreamEvent("refused", refused));
  events->push_back(std::move(event));
}

}  // namespace cobblestone::gateway
