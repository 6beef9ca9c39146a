#include <algorithm>
#include <chrono>
#include <optional>

#include "common/base/failpoint.h"
#include "common/stream/kafka/librdkafka/handles.h"

namespace cobblestone::stream::kafka {

namespace {

// Two processes with the same instance name fence each other; one of them ends after this many times.
constexpr int kMaxFenced = 3;
constexpr std::chrono::minutes kFencedAgainWithin{1};

using AdminOptions = std::unique_ptr<rd_kafka_AdminOptions_t, Destroy<rd_kafka_AdminOptions_destroy>>;
using Event = std::unique_ptr<rd_kafka_event_t, Destroy<rd_kafka_event_destroy>>;
struct FreeText {
  void operator()(char* text) const { rd_kafka_mem_free(nullptr, text); }
};
using MemberId = std::unique_ptr<char, FreeText>;

class RdkafkaGroup final : public Group {
 public:
  RdkafkaGroup(const ClusterOptions& options, GroupListener& listener)
      : options_(options), listener_(listener) {}

  ~RdkafkaGroup() override {
    for (Handle& one : former_) (void)one.release();
  }

  Status Open(const std::string& instance) {
    instance_ = instance;
    Properties ours = {
        {"client.id", options_.prefix + "." + instance},
        {"group.id", options_.group},
        {"partition.assignment.strategy", "cooperative-sticky"},
        {"session.timeout.ms", std::to_string(options_.session_timeout.count())},
        {"heartbeat.interval.ms", std::to_string(std::max<long>(100, options_.session_timeout.count() / 10))},
        {"isolation.level", "read_committed"},  // only decided positions
        {"enable.auto.commit", "false"},
        {"enable.auto.offset.store", "false"},
        {"auto.offset.reset", "error"},
        {"queued.min.messages", "1"},
        {"queued.max.messages.kbytes", "64"}};
    if (options_.static_members) ours["group.instance.id"] = options_.prefix + "." + instance;
    auto conf = MakeConf(options_, ours, options_.consumer, &opaque_);
    if (!conf.ok()) return conf.status();
    rd_kafka_conf_set_rebalance_cb(conf->get(), OnRebalance);
    auto handle = MakeHandle(RD_KAFKA_CONSUMER, std::move(*conf));
    if (!handle.ok()) return handle.status();
    handle_ = std::move(*handle);
    queue_.reset(rd_kafka_queue_new(handle_.get()));
    asked_ = false;
    rd_kafka_poll_set_consumer(handle_.get());
    return Status::Ok();
  }

  Status Join() override {
    const PartitionList topics(rd_kafka_topic_partition_list_new(2));
    rd_kafka_topic_partition_list_add(topics.get(), JournalName().c_str(), RD_KAFKA_PARTITION_UA);
    if (subscribes_more_)
      rd_kafka_topic_partition_list_add(topics.get(), SmallTopic()->c_str(), RD_KAFKA_PARTITION_UA);
    const rd_kafka_resp_err_t error = rd_kafka_subscribe(handle_.get(), topics.get());
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
      return Status::Fatal("cannot join the group " + options_.group + ": " + rd_kafka_err2str(error));
    return Status::Ok();
  }

  Status Poll() override {
    for (int turns = 0; turns < 100; ++turns) {
      rd_kafka_message_t* message = rd_kafka_consumer_poll(handle_.get(), 0);
      if (message == nullptr) break;
      rd_kafka_message_destroy(message);  // the journal is not read here; errors are temporary
    }
    char why[512] = "";
    const rd_kafka_resp_err_t error = rd_kafka_fatal_error(handle_.get(), why, sizeof why);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return Status::Ok();
    if (error == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID) {
      // If the response to a join is lost, the next join replaces the first join's member as an earlier
      // instance of this worker, and the resulting error ends this handle (a broker crash or a cut connection
      // is enough). Another process with our instance name would fence this worker repeatedly.
      const auto now = std::chrono::steady_clock::now();
      if (now - fenced_at_ > kFencedAgainWithin) fenced_ = 0;
      fenced_at_ = now;
      if (++fenced_ <= kMaxFenced) return Rejoin();
      return Status::Fenced("another process has joined the group " + options_.group +
                            " under this worker's name: each worker must have a unique kafka.instance. " +
                            why);
    }
    return Status::Fatal("the membership in group " + options_.group + " failed: " + why);
  }

  [[nodiscard]] Membership Current() override {
    return {rd_kafka_consumer_group_metadata(handle_.get()), [](void* metadata) {
              if (metadata != nullptr)
                rd_kafka_consumer_group_metadata_destroy(
                    static_cast<rd_kafka_consumer_group_metadata_t*>(metadata));
            }};
  }

  Result<std::vector<CommittedPosition>> Committed(const std::vector<std::uint32_t>& slots, bool stable,
                                                   Millis at_most) override {
    rd_kafka_t* handle = handle_.get();
    if (!stable) {
      if (observer_ == nullptr) {
        auto conf = MakeConf(options_,
                             {{"group.id", options_.group},
                              {"isolation.level", "read_uncommitted"},
                              {"enable.auto.commit", "false"},
                              {"client.id", options_.prefix + ".observer"}},
                             options_.consumer);
        if (!conf.ok()) return conf.status();
        auto made = MakeHandle(RD_KAFKA_CONSUMER, std::move(*conf));
        if (!made.ok()) return made.status();
        observer_ = std::move(*made);
      }
      handle = observer_.get();
    }
    const PartitionList list(rd_kafka_topic_partition_list_new(static_cast<int>(slots.size())));
    for (const std::uint32_t k : slots)
      rd_kafka_topic_partition_list_add(list.get(), JournalName().c_str(), static_cast<std::int32_t>(k));
    const rd_kafka_resp_err_t error =
        rd_kafka_committed(handle, list.get(), static_cast<int>(at_most.count()));
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
      return Status::Retry(std::string("committed offsets: ") + rd_kafka_err2str(error));
    std::vector<CommittedPosition> positions;
    for (int i = 0; i < list->cnt; ++i) {
      const rd_kafka_topic_partition_t& at = list->elems[i];
      if (at.err != RD_KAFKA_RESP_ERR_NO_ERROR)
        return Status::Retry(std::string("committed offsets: ") + rd_kafka_err2str(at.err));
      CommittedPosition one{.slot = static_cast<std::uint32_t>(at.partition)};
      if (at.offset >= 0) one.offset = static_cast<std::uint64_t>(at.offset);
      if (at.metadata_size > 0) one.metadata.assign(static_cast<const char*>(at.metadata), at.metadata_size);
      positions.push_back(std::move(one));
    }
    return positions;
  }

  std::optional<GroupView> View() override {
    if (!asked_) {
      Ask();
      return std::nullopt;
    }
    const Event event(rd_kafka_queue_poll(queue_.get(), 0));
    if (event == nullptr) return std::nullopt;
    asked_ = false;
    return ViewIn(event.get());
  }

  // A changed list of topics makes the group rebalance.
  Status RequestRebalance() override {
    if (!SmallTopic()) return Status::Ok();
    subscribes_more_ = !subscribes_more_;
    return Join();
  }

  void Leave() override {
    if (!owned_.empty()) listener_.Revoked(owned_, false);
    owned_.clear();
    // A static member is expected to return until its session times out. Other members leave the group.
    if (!options_.static_members) {
      leaving_ = true;
      rd_kafka_consumer_close(handle_.get());
    }
  }

 private:
  void Ask() {
    const AdminOptions how(
        rd_kafka_AdminOptions_new(handle_.get(), RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS));
    const char* groups[] = {options_.group.c_str()};
    rd_kafka_DescribeConsumerGroups(handle_.get(), groups, 1, how.get(), queue_.get());
    asked_ = true;
  }

  [[nodiscard]] GroupView ViewIn(rd_kafka_event_t* event) const {
    GroupView view;
    const auto* result = rd_kafka_event_DescribeConsumerGroups_result(event);
    const MemberId self(rd_kafka_memberid(handle_.get()));
    if (result == nullptr || self == nullptr || rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
      return view;
    view.self = self.get();
    std::size_t count = 0;
    const auto** groups = rd_kafka_DescribeConsumerGroups_result_groups(result, &count);
    if (count != 1 || rd_kafka_ConsumerGroupDescription_error(groups[0]) != nullptr ||
        rd_kafka_ConsumerGroupDescription_state(groups[0]) != RD_KAFKA_CONSUMER_GROUP_STATE_STABLE)
      return view;
    const std::size_t members = rd_kafka_ConsumerGroupDescription_member_count(groups[0]);
    for (std::size_t m = 0; m < members; ++m) {
      const auto* one = rd_kafka_ConsumerGroupDescription_member(groups[0], m);
      const auto* list = rd_kafka_MemberAssignment_partitions(rd_kafka_MemberDescription_assignment(one));
      view.members.push_back({.id = rd_kafka_MemberDescription_consumer_id(one)});
      if (list != nullptr) view.members.back().slots = SlotsIn(*list);
    }
    return view;
  }

  // A topic with a single partition, from which nothing is read.
  [[nodiscard]] std::optional<std::string> SmallTopic() const {
    for (std::size_t t = 0; t < options_.topics.size(); ++t)
      if (t != options_.journal && options_.topics[t].partitions == 1)
        return TopicName(options_, static_cast<TopicIndex>(t));
    return std::nullopt;
  }

  Status Rejoin() {
    if (options_.report)
      options_.report("the group " + options_.group + " has fenced this worker, " + instance_ +
                      ", possibly because of its own join with a lost answer; joining again");
    if (!owned_.empty()) listener_.Revoked(owned_, true);
    owned_.clear();
    former_.push_back(std::move(handle_));
    if (Status s = Open(instance_); !s.ok()) return s;
    return Join();
  }

  [[nodiscard]] std::string JournalName() const { return TopicName(options_, options_.journal); }

  [[nodiscard]] std::vector<std::uint32_t> SlotsIn(const rd_kafka_topic_partition_list_t& list) const {
    std::vector<std::uint32_t> slots;
    for (int i = 0; i < list.cnt; ++i)
      if (list.elems[i].topic == JournalName())
        slots.push_back(static_cast<std::uint32_t>(list.elems[i].partition));
    std::sort(slots.begin(), slots.end());
    return slots;
  }

  static void OnRebalance(rd_kafka_t* handle, rd_kafka_resp_err_t event,
                          rd_kafka_topic_partition_list_t* list, void* opaque) {
    static_cast<RdkafkaGroup*>(static_cast<Opaque*>(opaque)->self)->Rebalance(handle, event, list);
  }

  void Rebalance(rd_kafka_t* handle, rd_kafka_resp_err_t event, rd_kafka_topic_partition_list_t* list) {
    const std::vector<std::uint32_t> slots = SlotsIn(*list);
    if (event == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
      for (int i = 0; i < list->cnt; ++i) list->elems[i].offset = RD_KAFKA_OFFSET_END;
      const Error error(rd_kafka_incremental_assign(handle, list));
      rd_kafka_pause_partitions(handle, list);  // another reader reads the journal
      owned_.insert(owned_.end(), slots.begin(), slots.end());
      if (!slots.empty()) listener_.Assigned(slots);
      return;
    }
    Failpoint("revoked");
    const bool lost = rd_kafka_assignment_lost(handle) != 0;
    if (!slots.empty() && !leaving_) listener_.Revoked(slots, lost);
    for (const std::uint32_t k : slots)
      owned_.erase(std::remove(owned_.begin(), owned_.end(), k), owned_.end());
    const Error error(rd_kafka_incremental_unassign(handle, list));
  }

  const ClusterOptions& options_;
  Opaque opaque_{&options_, this};
  GroupListener& listener_;
  std::string instance_;
  Handle handle_;
  Handle observer_;
  Queue queue_{nullptr};          // of this handle: responses about the group
  bool asked_ = false;            // a response will arrive in queue_
  bool subscribes_more_ = false;  // SmallTopic() is subscribed, too
  int fenced_ = 0;                // number of times, each within kFencedAgainWithin of the previous
  std::chrono::steady_clock::time_point fenced_at_{};
  std::vector<Handle> former_;  // never destroyed: librdkafka 2.0.2 may fail an assertion on fatal errors
  std::vector<std::uint32_t> owned_;
  bool leaving_ = false;
};

}  // namespace

Result<std::unique_ptr<Group>> MakeGroup(const ClusterOptions& options, const std::string& instance,
                                         GroupListener& listener) {
  auto group = std::make_unique<RdkafkaGroup>(options, listener);
  if (Status s = group->Open(instance); !s.ok()) return s;
  return std::unique_ptr<Group>(std::move(group));
}

}  // namespace cobblestone::stream::kafka
