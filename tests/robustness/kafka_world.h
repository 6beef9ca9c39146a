// A deployment on a real broker: workers as processes of the built program, an ingested source, and checks of
// the result.
//
// The broker is the one that COBBLESTONE_TEST_BROKER names (a folder of deploy/kafka/kafka-local, which ctest
// starts for all tests that need one), or a test's own.
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

namespace cobblestone::access {
class Client;
}  // namespace cobblestone::access

namespace cobblestone::testing {

// A cluster of deploy/kafka/kafka-local. A cluster that was started here is stopped and removed at the end.
class TestBroker {
 public:
  // The shared broker, or a dedicated one where ctest has not started it.
  static std::unique_ptr<TestBroker> Shared();
  static std::unique_ptr<TestBroker> Dedicated(int brokers);
  // A dedicated broker that advertises the proxy at this address. The proxy forwards to behind_proxy(); a
  // client that connects through bootstrap() bypasses the proxy.
  static std::unique_ptr<TestBroker> DedicatedBehind(const std::string& proxy);
  // A dedicated broker with TLS and passwords.
  static std::unique_ptr<TestBroker> DedicatedSecured();
  ~TestBroker();

  [[nodiscard]] const std::string& bootstrap() const { return bootstrap_; }
  [[nodiscard]] std::string behind_proxy() const;
  // The broker's folder, with the certificates and the password.
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int brokers() const { return brokers_; }
  void Kill(int broker) const;
  void Restart(int broker) const;

 private:
  TestBroker() = default;
  static std::unique_ptr<TestBroker> Start(int brokers, const std::string& more);
  void Run(const std::string& verb) const;
  std::unique_ptr<TempDir> directory_;  // null: shared
  std::string path_;
  std::string bootstrap_;
  int brokers_ = 1;
};

struct KafkaWorldOptions {
  std::uint32_t partitions = 4;
  std::string kafka;   // more lines of the section `kafka`, each indented by two spaces and with a newline
  std::string more{};  // more lines outside all sections, each with a newline
  std::map<std::string, std::string> stages{};  // by worker, as a yaml list; none: all stages
  std::string bootstrap;  // address at which workers reach the brokers (a proxy); empty: the brokers' own
};

class KafkaWorld {
 public:
  KafkaWorld(const TestBroker& broker, const std::vector<Event>& events, KafkaWorldOptions options = {});
  // With endless traffic; the test decides how much of it is ingested (Feed).
  KafkaWorld(const TestBroker& broker, std::uint64_t seed, KafkaWorldOptions options = {});
  ~KafkaWorld();

  // Starts worker `name` in the background; its state outlives the process. Its wall clock is off by
  // `clock_off`.
  std::unique_ptr<Background> Worker(const std::string& name, const std::string& failpoint = "",
                                     std::chrono::seconds clock_off = {}) const;
  // Runs the program with these words and the administrator's configuration.
  [[nodiscard]] Finished Run(std::vector<std::string> words) const;
  // Ingests the events from the source's position, and waits until all of them are processed.
  std::unique_ptr<Background> IngestInBackground() const;
  [[nodiscard]] Finished Ingest() const;
  // Answer of `cobblestone tasks --json`, in this process: tests that wait ask often. Discarded: the brokers did not
  // answer.
  [[nodiscard]] nlohmann::json Tasks() const;
  // The program's answer to these words, with --json.
  [[nodiscard]] nlohmann::json Ask(std::vector<std::string> words) const;
  // Waits until `tasks` satisfies the predicate. False: not in time.
  bool Await(const std::function<bool(const nlohmann::json&)>& predicate, std::chrono::seconds at_most) const;
  // Waits until each slot runs somewhere and has no lag.
  bool AwaitRest(std::chrono::seconds at_most) const;
  // Whether the stream thread of worker `name` has a transaction open, according to the brokers.
  [[nodiscard]] bool InTransaction(const std::string& name) const;
  // Stops the process (SIGSTOP) while it has a transaction open. False: none was seen in time; the process is
  // stopped all the same.
  [[nodiscard]] bool StopInTransaction(const std::string& name, const Background& process) const;
  [[nodiscard]] const std::string& prefix() const { return prefix_; }
  [[nodiscard]] std::string state_of(const std::string& name) const { return directory_ / name; }
  [[nodiscard]] std::string ConfigOf(const std::string& name) const;
  // For tests that connect to the brokers directly.
  [[nodiscard]] const std::string& bootstrap() const { return bootstrap_; }
  // A file in the test's directory.
  [[nodiscard]] std::string path(const std::string& name) const { return directory_ / name; }

  // Ingests block after block, so that there is load however long faults take. An ingest that fails is
  // repeated.
  class Feed {
   public:
    explicit Feed(KafkaWorld& world);
    ~Feed();
    Feed(const Feed&) = delete;
    Feed& operator=(const Feed&) = delete;
    // The current block is the last one, and has been processed when this returns. Returns the error; empty:
    // none.
    [[nodiscard]] std::string Finish();

   private:
    void Run();
    KafkaWorld& world_;
    std::atomic<bool> stopping_{false};
    std::string problem_;
    std::thread thread_;
  };

  // One endless source of some thousand events a second, for tests during which no other program may start.
  class Stream {
   public:
    explicit Stream(KafkaWorld& world);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    // No more events; the events so far have been processed when this returns. Returns the error; empty:
    // none.
    [[nodiscard]] std::string Finish();

   private:
    void Run();
    KafkaWorld& world_;
    std::atomic<bool> stopping_{false};
    int pipe_ = -1;  // the source reads from it
    std::unique_ptr<Background> source_;
    std::thread thread_;
  };

  // With no worker running: moves the deployment to one machine, where every commit is re-executed and each
  // fingerprint compared, from the checkpoints on or from the first commit on.
  void WithMigrated(const std::function<void(embedded::Engine&)>& look, bool from_the_beginning = true) const;
  // With no worker running: re-executes every commit and compares each fingerprint, from the checkpoints and
  // from the first commit on; both give the same state. Then every grant and every total must equal the
  // oracle's. `from_the_beginning` false: from the checkpoints on only.
  void ExpectLikeTheOracle(bool from_the_beginning = true) const;

 private:
  // The next events, encoded as in a source's file.
  std::string MoreTraffic(std::size_t events);

  TempDir directory_;
  std::string bootstrap_;
  std::string prefix_;
  int replication_;
  std::vector<Event> events_;
  std::unique_ptr<traffic::Generator> more_;
  KafkaWorldOptions options_;
  mutable std::unique_ptr<access::Client> client_;  // of Tasks(); null: not yet, or it had no answer
};

}  // namespace cobblestone::testing
