// ask URL PROJECT HOST APP APP_VERSION FPOPS_EST: sends the requests of a scheduler and prints the answers. The token is in the
// environment variable COBBLESTONE_TOKEN.
#include <cstdio>
#include <cstdlib>

#include "examples/scheduler/gateway_advice.h"

int main(int argc, char** argv) {
  const char* token = std::getenv("COBBLESTONE_TOKEN");
  if (argc != 7 || token == nullptr) {
    std::fprintf(stderr, "COBBLESTONE_TOKEN=... ask URL PROJECT HOST APP APP_VERSION FPOPS_EST\n");
    return 2;
  }
  const long host = std::atol(argv[3]);
  GatewayAdvice gateway(argv[1], std::atol(argv[2]), token);
  const auto advice = gateway.Ask(host, std::atol(argv[5]), std::atol(argv[4]), std::atof(argv[6]));
  if (advice) {
    if (advice->runtime_s) std::printf("runtime_s %.17g\n", *advice->runtime_s);
    std::printf("quota_left %.17g\nsingle_replication %d\n", advice->quota_left,
                advice->single_replication ? 1 : 0);
    if (advice->replication_probability)
      std::printf("replication_probability %.17g\n", *advice->replication_probability);
    if (advice->standing) std::printf("standing %.17g\n", *advice->standing);
  } else {
    std::printf("no advice: the scheduler uses its own estimate\n");
  }
  std::printf("%s", gateway.ReplyElements(host).c_str());
  return 0;
}
