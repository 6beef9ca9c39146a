#include <cstdio>

#include "services/commands/command.h"

namespace cobblestone::commands {
namespace {

struct ConfigArguments {
  std::string file;
  bool defaults = false;
};

int RunConfig(const ConfigArguments& options) {
  if (options.file.empty()) {
    std::fputs((options.defaults ? settings::DefaultConfigFile() : settings::DescribeOptions()).c_str(),
               stdout);
    return kExitOk;
  }
  const auto settings = settings::LoadRunSettings(options.file);
  if (!settings.ok()) return ReportError(settings.status());
  std::printf("%s is valid: data in %s, %u partitions, %u threads, socket %s\n", options.file.c_str(),
              settings->data_directory.c_str(), settings->partitions, settings->threads,
              settings->listen.socket.c_str());
  return kExitOk;
}

}  // namespace

void AddConfig(Program& program) {
  AddVerb<ConfigArguments>(
      program, "config", "Lists the options of a configuration file, or checks a file",
      [](Verb& verb, ConfigArguments& options) {
        verb.Add("FILE", options.file, "file to check (default: print all options)");
        verb.Flag("--default", options.defaults, "print a configuration file with all defaults");
        verb.Footer(
            "Examples:  cobblestone config --default > cobblestone.yaml\n"
            "           cobblestone config cobblestone.yaml\n"
            "Exit code 2: the file has errors; each message has the line and the allowed values.");
      },
      RunConfig);
}

}  // namespace cobblestone::commands
