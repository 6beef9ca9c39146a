// Quantities as users write them.
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "common/settings/quantity.h"

namespace cobblestone::settings {
namespace {

struct Written {
  Quantity quantity;
  const char* text;
  std::int64_t value;  // microseconds, bytes
  const char* shown;   // as the program writes it
};

TEST(Quantity, IsReadExactlyAndWrittenInItsLargestWholeUnit) {
  const Written table[] = {
      {Quantity::kDuration, "5 ms", 5000, "5 ms"},
      {Quantity::kDuration, "5ms", 5000, "5 ms"},
      {Quantity::kDuration, "1.5 s", 1500000, "1500 ms"},
      {Quantity::kDuration, "0.000001 s", 1, "1 us"},
      {Quantity::kDuration, "60 s", 60000000, "1 min"},
      {Quantity::kDuration, "10 min", 600000000, "10 min"},
      {Quantity::kDuration, "24 h", 86400000000, "1 day"},
      {Quantity::kDuration, "3 days", 259200000000, "3 days"},
      {Quantity::kDuration, "1 d", 86400000000, "1 day"},
      {Quantity::kDuration, "0", 0, "0 us"},
      {Quantity::kBytes, "256 MiB", 268435456, "256 MiB"},
      {Quantity::kBytes, "0.5 KiB", 512, "512 B"},
      {Quantity::kBytes, "1024 GiB", 1099511627776, "1 TiB"},
      {Quantity::kBytes, "7 B", 7, "7 B"},
      {Quantity::kCount, "20000", 20000, "20000"},
      {Quantity::kCount, "2.0", 2, "2"},
      {Quantity::kCount, "999999999999999999", 999999999999999999, "999999999999999999"},
  };
  for (const Written& row : table) {
    const auto value = ParseQuantity(row.quantity, row.text);
    ASSERT_TRUE(value.ok()) << row.text << " " << value.status().message();
    EXPECT_EQ(*value, row.value) << row.text;
    EXPECT_EQ(FormatQuantity(row.quantity, *value), row.shown);
    EXPECT_EQ(*ParseQuantity(row.quantity, row.shown), row.value) << row.shown;
  }
}

TEST(Quantity, AnInvalidQuantityIsRefusedWithTheReason) {
  struct Bad {
    Quantity quantity;
    const char* text;
    const char* why;
  };
  const Bad table[] = {
      {Quantity::kDuration, "", "is not a number"},
      {Quantity::kDuration, "soon", "is not a number"},
      {Quantity::kDuration, "5", "has no unit"},
      {Quantity::kDuration, "5 parsecs", "has an unknown unit"},
      {Quantity::kDuration, "5 MiB", "has an unknown unit"},
      {Quantity::kDuration, "5 MS", "has an unknown unit"},
      {Quantity::kDuration, "-5 ms", "is negative"},
      {Quantity::kDuration, "1.5 us", "is too fine"},
      {Quantity::kDuration, "1. s", "has an unknown unit"},
      {Quantity::kDuration, "1.2.3 s", "has an unknown unit"},
      {Quantity::kDuration, ".5 s", "is not a number"},
      {Quantity::kDuration, "999999999999999999 days", "is too large"},
      {Quantity::kBytes, "256 MB", "has an unknown unit"},
      {Quantity::kBytes, "0.3 B", "is too fine"},
      {Quantity::kCount, "1234567890123456789", "has too many digits"},
      {Quantity::kCount, "12 records", "is not a plain number"},
      {Quantity::kCount, "1e6", "is not a plain number"},
      {Quantity::kCount, "0x10", "is not a plain number"},
      {Quantity::kCount, "0.5", "is too fine"},
      {Quantity::kCount, "nan", "is not a number"},
  };
  for (const Bad& row : table) {
    const auto value = ParseQuantity(row.quantity, row.text);
    ASSERT_FALSE(value.ok()) << row.text << " gave " << *value;
    EXPECT_EQ(value.status().message(), row.why) << row.text;
  }
}

}  // namespace
}  // namespace cobblestone::settings
