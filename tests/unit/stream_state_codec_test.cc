// The format of stored rows, also of rows from an older version, and the order of the rows of a state write.
#include "common/stream/state_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "common/base/added_in.h"
#include "common/stream/runtime/slot.h"
#include "common/stream/table.h"

namespace cobblestone::stream {
namespace {

__extension__ using Wide = __int128;

struct Sums {
  std::uint64_t count = 0;
  Wide total = 0;
  std::vector<Wide> each;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.count, s.total, s.each);
  }
};

constexpr TableSpec<Sums> kSums{.id = 3, .version = 1};
constexpr Wide kMax = static_cast<Wide>((~static_cast<unsigned __int128>(0)) >> 1);

std::vector<Wide> Edges() {
  std::vector<Wide> edges{0, kMax, -kMax - 1};
  for (int bit = 0; bit < 127; ++bit)
    for (const Wide off : {-1, 0, 1}) {
      const Wide one = static_cast<Wide>(1) << bit;
      edges.push_back(one + off);
      edges.push_back(-one - off);
    }
  return edges;
}

TEST(StateCodec, WideIntegersRoundTripInAsFewBytesAsTheyNeed) {
  const Sums sums{.count = 7, .total = -1234567, .each = Edges()};
  std::string row;
  EncodeRow(kSums, sums, row);
  Sums read;
  ASSERT_TRUE(DecodeRow(kSums, row, read).ok());
  EXPECT_EQ(read.count, 7u);
  EXPECT_TRUE(read.total == -1234567);
  EXPECT_TRUE(read.each == sums.each);

  row.clear();
  EncodeRow(kSums, Sums{.count = 1, .total = 60'000'000, .each = {}}, row);
  EXPECT_EQ(row.size(), 1u + 1 + 4 + 1) << "version, count, 27 bits, no elements";
}

// An invented table, as version 1 of the program stores its rows...
struct Part {
  std::uint64_t job = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.job);
  }
};
struct Order {
  std::string name;
  std::vector<Part> parts;
  std::uint64_t line = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.name, s.parts, s.line);
  }
};
constexpr TableSpec<Order> kOrders{.id = 4, .version = 1};

// ... and as version 2 stores them: an order and each of its parts have one more field.
struct PricedPart {
  std::uint64_t job = 0;
  double price = 1.5;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.job, AddedIn<2>(s.price));
  }
  friend bool operator==(const PricedPart&, const PricedPart&) = default;
};
struct PricedOrder {
  std::string name;
  std::vector<PricedPart> parts;
  std::uint64_t line = 0;
  bool open = true;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.name, s.parts, s.line, AddedIn<2>(s.open));
  }
};
constexpr TableSpec<PricedOrder> kPricedOrders{.id = 4, .version = 2};

TEST(StateCodec, VersionTwoReadsARowOfVersionOneWithInitialNewFields) {
  std::string row;
  EncodeRow(kOrders, Order{.name = "o", .parts = {{.job = 7}, {.job = 8}}, .line = 9}, row);
  PricedOrder order;
  ASSERT_TRUE(DecodeRow(kPricedOrders, row, order).ok());
  EXPECT_EQ(order.name, "o");
  EXPECT_EQ(order.parts, (std::vector<PricedPart>{{.job = 7, .price = 1.5}, {.job = 8, .price = 1.5}}));
  EXPECT_EQ(order.line, 9u);
  EXPECT_TRUE(order.open);

  order.parts[1].price = 4;
  order.open = false;
  row.clear();
  EncodeRow(kPricedOrders, order, row);
  PricedOrder again;
  ASSERT_TRUE(DecodeRow(kPricedOrders, row, again).ok());
  EXPECT_EQ(again.parts, order.parts);
  EXPECT_FALSE(again.open);

  Order older;
  EXPECT_EQ(DecodeRow(kOrders, row, older).code(), StatusCode::kFatal) << "version 1 must not guess";
}

TEST(StateCodec, ANewerRowIsDistinguishedFromADamagedRow) {
  std::string row;
  EncodeRow<Sums>({.id = 3, .version = 2}, Sums{}, row);
  Sums read;
  const Status newer = DecodeRow(kSums, row, read);
  EXPECT_EQ(newer.code(), StatusCode::kFatal);
  row.clear();
  EncodeRow(kSums, Sums{.count = 1, .total = kMax, .each = {}}, row);
  for (std::size_t length = 0; length < row.size(); ++length)
    EXPECT_EQ(DecodeRow(kSums, row.substr(0, length), read).code(), StatusCode::kCorrupted) << length;
  row = "\1\1";            // version, count
  row.append(30, '\xff');  // a number without an end
  EXPECT_EQ(DecodeRow(kSums, row, read).code(), StatusCode::kCorrupted);
}

struct Text {
  std::string text;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.text);
  }
};

// A store requires rows in the order of the bytes of their keys.
TEST(StateWrite, RowsAreInTheOrderOfTheirKeys) {
  std::mt19937_64 random(1);
  TableHost host;
  Table<Text> low(host, TableSpec<Text>{.id = 1}, false);
  Table<Text> high(host, TableSpec<Text>{.id = 200}, false);
  StateWrite write;
  for (int i = 0; i < 3000; ++i) {
    const Key key{.project = static_cast<std::uint32_t>(random() % 3 == 0 ? random() : random() % 2),
                  .id = random() % 4 == 0 ? random() : random() % 5000,
                  .sub = random() % 4 == 0 ? random() : random() % 300};
    Table<Text>& table = random() % 2 == 0 ? low : high;
    table.Mutable(key).text.assign(random() % 2000, static_cast<char>('a' + key.id % 26));
    if (random() % 50 == 0) table.Mutable(key).text.assign(2'000'000, 'z');  // longer than a piece
  }
  for (const auto& [table, entry] : host.touched) table->Committed(entry);
  for (TableBase* table : {static_cast<TableBase*>(&high), static_cast<TableBase*>(&low)}) {
    write.objects += table->dirty_count();
    table->BeginFlush();
    std::size_t limit = 10000;
    ASSERT_TRUE(table->GatherFlush(&limit, write.rows));
  }
  const std::vector<store::Row> rows = RowsOf(write);
  ASSERT_EQ(rows.size(), write.objects);
  for (std::size_t i = 1; i < rows.size(); ++i) ASSERT_LT(rows[i - 1].key, rows[i].key);
  for (const store::Row& row : rows) {
    std::uint8_t id = 0;
    Key key;
    ASSERT_TRUE(DecodeKey(row.key, &id, &key));
    Text text;
    ASSERT_TRUE(DecodeRow(TableSpec<Text>{.id = id}, row.value, text).ok());
    const Text* kept = (id == 1 ? low : high).Find(key);
    ASSERT_NE(kept, nullptr);
    EXPECT_EQ(kept->text, text.text);
  }
}

}  // namespace
}  // namespace cobblestone::stream
