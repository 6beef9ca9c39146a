#include "tests/conformance/log_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "common/base/check.h"

namespace cobblestone::stream::embedded {

LogProcess::LogProcess(const std::vector<std::string>& arguments,
                       const std::vector<std::pair<std::string, std::string>>& environment) {
  const int error_fd = ::open((errors_ / "stderr").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  COBBLESTONE_CHECK(error_fd >= 0, std::strerror(errno));
  int ends[2];
  COBBLESTONE_CHECK_EQ(::pipe2(ends, O_CLOEXEC), 0);
  std::vector<std::string> words{LOG_CHILD};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::vector<std::string> settings;
  for (char** one = environ; *one != nullptr; ++one) settings.emplace_back(*one);
  for (const auto& [name, value] : environment) settings.push_back(name + "=" + value);
  std::vector<char*> envp;
  for (std::string& setting : settings) envp.push_back(setting.data());
  envp.push_back(nullptr);
  pid_ = ::fork();
  COBBLESTONE_CHECK(pid_ >= 0, std::strerror(errno));
  if (pid_ == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(error_fd, STDERR_FILENO);
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  ::close(error_fd);
  out_ = ends[0];
}

LogProcess::~LogProcess() {
  if (pid_ > 0) {
    Kill();
    ::waitpid(pid_, nullptr, 0);
  }
  if (out_ >= 0) ::close(out_);
}

bool LogProcess::ReadMore() {
  char chunk[65536];
  const ssize_t got = ::read(out_, chunk, sizeof chunk);
  if (got <= 0) return false;
  text_.append(chunk, static_cast<std::size_t>(got));
  for (std::size_t newline; (newline = text_.find('\n', parsed_)) != std::string::npos;
       parsed_ = newline + 1) {
    const std::string line = text_.substr(parsed_, newline - parsed_);
    if (line == "open") opened_ = true;
    if (line.starts_with("acknowledged "))
      acknowledged_ = std::stoull(line.substr(std::strlen("acknowledged ")));
  }
  return true;
}

bool LogProcess::WaitAcknowledged(std::uint64_t units) {
  while (acknowledged_ < units) {
    if (!ReadMore()) return false;
  }
  return true;
}

bool LogProcess::WaitOpen() {
  while (!opened_) {
    if (!ReadMore()) return false;
  }
  return true;
}

void LogProcess::Kill() { ::kill(pid_, SIGKILL); }

LogProcess::End LogProcess::Wait() {
  while (ReadMore()) {
  }
  int status = 0;
  COBBLESTONE_CHECK_EQ(::waitpid(pid_, &status, 0), pid_);
  pid_ = -1;
  End end{.acknowledged = acknowledged_, .opened = opened_, .output = text_};
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  std::ifstream errors(errors_ / "stderr");
  end.errors.assign(std::istreambuf_iterator<char>(errors), {});
  return end;
}

}  // namespace cobblestone::stream::embedded
