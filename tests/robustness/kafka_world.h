// A deployment on a real broker: workers as processes of the built program, a source that is ingested, and the judgement
// of what came of it.
//
// The broker is the one that COBBLESTONE_TEST_BROKER names (a folder of deploy/kafka/kafka-local; ctest starts it for all
// tests that want one), or one that a test has for itself.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tests/e2e/program_process.h"
#include "tests/robustness/traffic.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::testing {

// A cluster of deploy/kafka/kafka-local. One that was started here is stopped and removed at the end.
class TestBroker {
 public:
  // The shared one, or, where ctest has not started it, one of our own.
  static std::unique_ptr<TestBroker> Shared();
  static std::unique_ptr<TestBroker> Own(int brokers);
  // One of our own that takes the proxy at this address for itself: the proxy's broker is at behind_proxy(), and who
  // comes by bootstrap() goes past it.
  static std::unique_ptr<TestBroker> OwnBehind(const std::string& proxy);
  // One of our own with TLS and passwords.
  static std::unique_ptr<TestBroker> OwnSecured();
  ~TestBroker();

  [[nodiscard]] const std::string& bootstrap() const { return bootstrap_; }
  [[nodiscard]] std::string behind_proxy() const;
  // Its folder, where the certificates and the password are.
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int brokers() const { return brokers_; }
  void Kill(int broker) const;
  void Restart(int broker) const;

 private:
  TestBroker() = default;
  static std::unique_ptr<TestBroker> Start(int brokers, const std::string& more);
  void Run(const std::string& verb) const;
  std::unique_ptr<TempDir> directory_;  // null: not ours
  std::string path_;
  std::string bootstrap_;
  int brokers_ = 1;
};

struct KafkaWorldOptions {
  std::uint32_t partitions = 4;
  std::string kafka;   // more lines of the section `kafka`, each with two blanks and a line's end
  std::string more{};  // more lines outside all sections, each with a line's end
  std::map<std::string, std::string> stages{};  // by worker, as a list; none: all
  std::string bootstrap;  // through which workers reach the brokers (a proxy); empty: themselves
};

class KafkaWorld {
 public:
  KafkaWorld(const TestBroker& broker, const std::vector<Event>& events, KafkaWorldOptions options = {});
  // With traffic that has no end; what of it is taken in is up to the test (Feed).
  KafkaWorld(const TestBroker& broker, std::uint64_t seed, KafkaWorldOptions options = {});

  // The process of worker `name`, in the background; its state outlives it. Its wall clock is `clock_off` from the truth.
  std::unique_ptr<Background> Worker(const std::string& name, const std::string& failpoint = "",
                                     std::chrono::seconds clock_off = {}) const;
  // The program with these words and the administrator's configuration.
  [[nodiscard]] Finished Run(std::vector<std::string> words) const;
  // Takes the events in, from where the source stands, and waits until all of them are processed.
  std::unique_ptr<Background> IngestInBackground() const;
  [[nodiscard]] Finished Ingest() const;
  [[nodiscard]] nlohmann::json Tasks() const;
  // What the program answers to these words, with --json.
  [[nodiscard]] nlohmann::json Ask(std::vector<std::string> words) const;
  // Until `tasks` is as asked, or the time is over: false.
  bool Await(const std::function<bool(const nlohmann::json&)>& asked, std::chrono::seconds at_most) const;
  // Each slot runs somewhere, and nothing waits.
  bool AwaitRest(std::chrono::seconds at_most) const;
  // The stream thread of worker `name` has a transaction open, the brokers say.
  [[nodiscard]] bool InTransaction(const std::string& name) const;
  // Stops the process (SIGSTOP) while it has a transaction open. False: none was seen in time; it is stopped all the same.
  [[nodiscard]] bool StopInTransaction(const std::string& name, const Background& process) const;
  [[nodiscard]] const std::string& prefix() const { return prefix_; }
  [[nodiscard]] std::string state_of(const std::string& name) const { return directory_ / name; }
  [[nodiscard]] std::string ConfigOf(const std::string& name) const;
  // For those who come to the brokers by themselves.
  [[nodiscard]] const std::string& bootstrap() const { return bootstrap_; }
  // A file of the story.
  [[nodiscard]] std::string path(const std::string& name) const { return directory_ / name; }

  // Takes in block after block, so that there is load however long faults take; a source that is told to come again does.
  class Feed {
   public:
    explicit Feed(KafkaWorld& world);
    ~Feed();
    Feed(const Feed&) = delete;
    Feed& operator=(const Feed&) = delete;
    // The block that is under way is the last one, and is processed when this returns. Why it was not; empty: it was.
    [[nodiscard]] std::string Finish();

   private:
    void Run();
    KafkaWorld& world_;
    std::atomic<bool> stopping_{false};
    std::string problem_;
    std::thread thread_;
  };

  // One source that goes on and on, some thousand events a second: for times in which no other program may begin.
  class Stream {
   public:
    explicit Stream(KafkaWorld& world);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    // No more events; those that there are have been processed when this returns. Why they were not; empty: they were.
    [[nodiscard]] std::string Finish();

   private:
    void Run();
    KafkaWorld& world_;
    std::atomic<bool> stopping_{false};
    int pipe_ = -1;  // where it reads
    std::unique_ptr<Background> source_;
    std::thread thread_;
  };

  // With no worker running: the deployment on one machine, where every commit has been executed again and each fingerprint
  // compared; from the checkpoints on, or from the first one.
  void WithMigrated(const std::function<void(embedded::Engine&)>& look, bool from_the_beginning = true) const;
  // With no worker running: every commit is executed again, each fingerprint compared, from the checkpoints and from the
  // first one on, and both give the same state; then every grant, every total, as the oracle says. `from_the_beginning`
  // false: from the checkpoints on alone.
  void ExpectLikeTheOracle(bool from_the_beginning = true) const;

 private:
  // The next events, as they stand in a source's file.
  std::string MoreTraffic(std::size_t events);

  TempDir directory_;
  std::string bootstrap_;
  std::string prefix_;
  int replication_;
  std::vector<Event> events_;
  std::unique_ptr<traffic::Generator> more_;
  KafkaWorldOptions options_;
};

}  // namespace cobblestone::testing
