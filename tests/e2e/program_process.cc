#include "tests/e2e/program_process.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace cobblestone::testing {
namespace {

// For a program that neither ends nor prints the expected text: shorter than ctest's limit, so that its output is
// still printed.
constexpr std::chrono::seconds kPatience{200};

std::atomic<const char*> used_program{COBBLESTONE_PROGRAM};

struct Pipe {
  int read = -1;
  int write = -1;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    read = ends[0];
    write = ends[1];
  }
};

pid_t Spawn(const std::string& directory, const std::vector<std::string>& arguments, int in, int out, int err,
            const std::string& failpoint = "",
            const std::vector<std::pair<std::string, std::string>>& environment = {}) {
  std::vector<std::string> command = {used_program.load()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& argument : command) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const pid_t id = ::fork();
  if (id == 0) {
    if (!failpoint.empty()) ::setenv("COBBLESTONE_FAILPOINT", failpoint.c_str(), 1);
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::chdir(directory.c_str()) != 0) ::_exit(126);
    ::dup2(in, STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  if (id < 0) throw std::runtime_error("no fork");
  return id;
}

int CodeOf(pid_t id) {
  int status = 0;
  while (::waitpid(id, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// False at the end of the output.
// If the program closes a pipe or a connection, the test's client gets an error; SIGPIPE must not end the test.
const auto kNotEndedByAPipe = std::signal(SIGPIPE, SIG_IGN);

bool ReadSome(int fd, std::string* to) {
  std::array<char, 65536> some;
  const ssize_t n = ::read(fd, some.data(), some.size());
  if (n < 0 && errno == EINTR) return true;
  if (n <= 0) return false;
  to->append(some.data(), static_cast<std::size_t>(n));
  return true;
}

}  // namespace

void UseProgram(const char* path) { used_program = path == nullptr ? COBBLESTONE_PROGRAM : path; }

Finished RunProgram(const std::string& directory, const std::vector<std::string>& arguments,
                    const std::string& input) {
  Pipe in;
  Pipe out;
  Pipe err;
  const pid_t id = Spawn(directory, arguments, in.read, out.write, err.write);
  for (const int fd : {in.read, out.write, err.write}) ::close(fd);
  Finished finished;
  std::size_t written = 0;
  std::array<pollfd, 3> waits = {{{out.read, POLLIN, 0}, {err.read, POLLIN, 0}, {in.write, POLLOUT, 0}}};
  if (input.empty()) {
    ::close(in.write);
    waits[2].fd = -1;
  }
  while (waits[0].fd >= 0 || waits[1].fd >= 0) {
    ::poll(waits.data(), waits.size(), -1);
    if (waits[2].fd >= 0 && waits[2].revents != 0) {
      const ssize_t n =
          ::write(in.write, input.data() + written, std::min<std::size_t>(4096, input.size() - written));
      if (n > 0) written += static_cast<std::size_t>(n);
      if (n < 0 || written == input.size()) {
        ::close(in.write);
        waits[2].fd = -1;
      }
    }
    for (const auto& [wait, text] : {std::pair{&waits[0], &finished.out}, {&waits[1], &finished.err}}) {
      if (wait->fd < 0 || wait->revents == 0 || ReadSome(wait->fd, text)) continue;
      ::close(wait->fd);
      wait->fd = -1;
    }
  }
  if (waits[2].fd >= 0) ::close(in.write);
  finished.code = CodeOf(id);
  return finished;
}

nlohmann::json AskProgram(const std::string& directory, const std::vector<std::string>& arguments) {
  return nlohmann::json::parse(RunProgram(directory, arguments).out, nullptr, false);
}

Background::Background(const std::string& directory, const std::vector<std::string>& arguments,
                       const std::string& failpoint,
                       const std::vector<std::pair<std::string, std::string>>& environment,
                       const std::string& input) {
  const int in = ::open(input.c_str(), O_RDONLY | O_CLOEXEC);
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  Pipe err;
  id_ = Spawn(directory, arguments, in, null, err.write, failpoint, environment);
  ::close(in);
  ::close(null);
  ::close(err.write);
  reader_ = std::thread([this, pipe = err.read] { Read(pipe); });
}

Background::~Background() {
  if (id_ >= 0) {
    Signal(SIGKILL);
    Wait();
  }
}

void Background::Signal(int number) const {
  if (id_ >= 0) ::kill(id_, number);
}

void Background::Read(int pipe) {
  std::string some;
  while (ReadSome(pipe, &some)) {
    const std::lock_guard lock(mutex_);
    err_ += some;
    some.clear();
    changed_.notify_all();
  }
  ::close(pipe);
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

// Waits for the predicate, which is called under the mutex, or for the end of the output.
void Background::Await(const std::function<bool()>& predicate) {
  const auto met_or_ended = [&] { return ended_ || predicate(); };
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, kPatience, met_or_ended)) return;
  err_ += "(the test has lost patience here)\n";
  Signal(SIGABRT);
  Signal(SIGCONT);
  changed_.wait(lock, [&] { return ended_; });
}

int Background::Wait() {
  Await([] { return false; });
  reader_.join();
  const int code = CodeOf(id_);
  id_ = -1;
  return code;
}

bool Background::Runs() const {
  siginfo_t info{};  // the process stays to be waited for
  return id_ >= 0 && ::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

bool Background::WaitFor(const std::string& text) {
  bool found = false;
  Await([&] { return found = err_.find(text) != std::string::npos; });
  return found;
}

std::string Background::err() const {
  const std::lock_guard lock(mutex_);
  return err_;
}

}  // namespace cobblestone::testing
