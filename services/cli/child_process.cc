#include "services/cli/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace cobblestone::cli {

Result<ChildProcess> ChildProcess::Start(const std::vector<std::string>& command, const std::string& output) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return Status::InvalidArgument("cannot write " + output + ": " + std::strerror(errno));
  const pid_t parent = ::getpid();
  const pid_t id = ::fork();
  if (id == 0) {
    // Between fork and exec: only functions that are safe in the child of a multithreaded program.
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(127);
    ::dup2(file, STDOUT_FILENO);
    ::dup2(file, STDERR_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(file);
  if (id < 0) return Status::Fatal(std::string("cannot start another process: ") + std::strerror(errno));
  return ChildProcess(id);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : id_(std::exchange(other.id_, -1)), code_(other.code_) {}

ChildProcess::~ChildProcess() {
  if (!running()) return;
  Signal(SIGKILL);
  Wait();
}

bool ChildProcess::running() {
  if (id_ < 0) return false;
  int status = 0;
  if (::waitpid(id_, &status, WNOHANG) == id_) Ended(status);
  return id_ >= 0;
}

void ChildProcess::Signal(int number) const {
  if (id_ >= 0) ::kill(id_, number);
}

int ChildProcess::Wait() {
  if (id_ >= 0) {
    int status = 0;
    while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
    Ended(status);
  }
  return code_;
}

void ChildProcess::Ended(int status) {
  id_ = -1;
  code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace cobblestone::cli
