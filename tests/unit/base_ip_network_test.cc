#include <gtest/gtest.h>

#include "common/base/ip_network.h"

namespace cobblestone {
namespace {

TEST(IpNetwork, ContainsTheAddressesThatShareItsFirstBits) {
  struct Case {
    const char* network;
    const char* address;
    bool contains;
  };
  for (const Case& c :
       {Case{"127.0.0.1", "127.0.0.1", true}, Case{"127.0.0.1", "127.0.0.2", false},
        Case{"127.0.0.1", "::ffff:127.0.0.1", true}, Case{"10.0.0.0/8", "10.255.1.2", true},
        Case{"10.0.0.0/8", "11.0.0.0", false}, Case{"172.16.0.0/12", "172.31.0.1", true},
        Case{"172.16.0.0/12", "172.32.0.1", false}, Case{"0.0.0.0/0", "8.8.8.8", true},
        Case{"0.0.0.0/0", "2001:db8::1", false}, Case{"::/0", "8.8.8.8", true},
        Case{"2001:db8::/33", "2001:db8:7fff::1", true}, Case{"2001:db8::/33", "2001:db8:8000::1", false},
        Case{"fe80::/10", "fe80::1%eth0", true}, Case{"::1", "::1", true}, Case{"::1", "127.0.0.1", false}}) {
    const auto network = IpNetwork::Parse(c.network);
    const auto address = ParseIpAddress(c.address);
    ASSERT_TRUE(network.ok() && address) << c.network << " " << c.address;
    EXPECT_EQ(network->Contains(*address), c.contains) << c.network << " " << c.address;
    EXPECT_EQ(network->text(), c.network);
  }
}

TEST(IpNetwork, InvalidTextIsRefused) {
  for (const char* text : {"", "localhost", "1.2.3", "1.2.3.4.5", "::g", "/8", "10.0.0.0/", "10.0.0.0/33",
                           "10.0.0.0/-1", "10.0.0.0/8 ", "::/129"})
    EXPECT_FALSE(IpNetwork::Parse(text).ok()) << text;
}

}  // namespace
}  // namespace cobblestone
