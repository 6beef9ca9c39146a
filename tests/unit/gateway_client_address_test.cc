#include <gtest/gtest.h>

#include <vector>

#include "services/gateway/client_address.h"

namespace cobblestone::gateway {
namespace {

TEST(ClientAddress, IsTheRightmostAddressThatIsNoTrustedProxy) {
  std::vector<IpNetwork> trusted;
  for (const char* text : {"127.0.0.1", "10.0.0.0/8", "fd00::/8"}) trusted.push_back(*IpNetwork::Parse(text));
  struct Case {
    const char* peer;
    const char* forwarded;
    const char* client;
  };
  for (const Case& c :
       {Case{"127.0.0.1", "", "127.0.0.1"}, Case{"127.0.0.1", "192.0.2.1", "192.0.2.1"},
        Case{"127.0.0.1", "198.51.100.9, 192.0.2.1", "192.0.2.1"},
        Case{"127.0.0.1", "198.51.100.9,192.0.2.1 , 10.1.2.3,fd00::2", "192.0.2.1"},
        Case{"::ffff:127.0.0.1", "2001:db8::5", "2001:db8::5"},
        Case{"192.0.2.7", "198.51.100.9", "192.0.2.7"}, Case{"127.0.0.1", "10.0.0.1", "10.0.0.1"},
        Case{"127.0.0.1", "192.0.2.1:4711", "192.0.2.1"},
        Case{"127.0.0.1", "[2001:db8::5]:4711", "2001:db8::5"},
        Case{"127.0.0.1", "192.0.2.1, unknown", "127.0.0.1"},
        Case{"127.0.0.1", "192.0.2.1, 10.0.0.1, [", "127.0.0.1"},
        Case{"127.0.0.1", "192.0.2.1,", "127.0.0.1"}, Case{"127.0.0.1", ",,,", "127.0.0.1"}})
    EXPECT_EQ(ClientAddress(c.peer, c.forwarded, trusted), c.client) << c.peer << " | " << c.forwarded;
  EXPECT_EQ(ClientAddress("127.0.0.1", "192.0.2.1", {}), "127.0.0.1") << "no proxy is trusted";
}

}  // namespace
}  // namespace cobblestone::gateway
