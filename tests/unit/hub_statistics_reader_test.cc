// Reads statistics files: those of BOINC's own exporter, and those that real projects and proxies have damaged.
#include "services/hub/feeds/statistics_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "services/hub/feeds/byte_scan.h"
#include "services/hub/feeds/document.h"
#include "services/hub/feeds/elements.h"
#include "services/hub/feeds/feed_input.h"
#include "services/hub/feeds/tables_file.h"
#include "tests/support/gzip.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::hub {
namespace {

using testing::Gzip;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kGolden = COBBLESTONE_SOURCE_DIR "/tests/golden/export/";

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

std::string User(int id, const std::string& credit, const std::string& more = "") {
  return "<user>\n <id>" + std::to_string(id) + "</id>\n <name>u" + std::to_string(id) +
         "</name>\n <create_time>1003711477</create_time>\n <total_credit>" + credit +
         "</total_credit>\n <expavg_credit>0.500000</expavg_credit>\n" +
         " <expavg_time>1781421899.083468</expavg_time>\n <cpid>e6548b6c3d364685ae9221e0abe10098</cpid>\n" +
         more + "</user>\n";
}
std::string Users(const std::string& records) {
  return "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<users>\n" + records + "</users>\n";
}

struct ReadFile {
  std::vector<std::uint64_t> ids;
  std::map<std::uint64_t, std::string> names;
  std::vector<FileRefusal> refusals;
  FileSummary summary;
  bool accepted = false;

  [[nodiscard]] FileProblem first() const {
    return refusals.empty() ? FileProblem::kNone : refusals.front().problem;
  }
  [[nodiscard]] std::uint64_t line() const { return refusals.empty() ? 0 : refusals.front().line; }
};

ReadFile ReadAll(StatisticsReader& reader, RecordKind kind) {
  ReadFile read;
  for (StatisticsRecord record; reader.Next(&record);) {
    read.ids.push_back(record.id);
    UserFields user;
    TeamFields team;
    HostFields host;
    if (kind == RecordKind::kUser && reader.ReadUser(record, &user)) {
      EXPECT_EQ(user.id, record.id);
      EXPECT_EQ(user.total_credit, record.total_credit);
      read.names[user.id] = TextBytes(user.name);
    }
    if (kind == RecordKind::kTeam && reader.ReadTeam(record, &team))
      read.names[team.id] = TextBytes(team.name);
    if (kind == RecordKind::kHost && reader.ReadHost(record, &host))
      read.names[host.id] = TextBytes(host.vendor);
  }
  read.accepted = reader.accepted();
  read.refusals = reader.refusals();
  read.summary = reader.summary();
  return read;
}

ReadFile Read(const std::string& bytes, RecordKind kind = RecordKind::kUser,
              const ReaderLimits& limits = {}) {
  const auto reader = StatisticsReader::OverBytes(kind, bytes, "file", limits);
  return ReadAll(*reader, kind);
}

ReadFile ReadGolden(const std::string& name, RecordKind kind) {
  auto reader = StatisticsReader::OpenFile(kind, kGolden + name, name);
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  return ReadAll(**reader, kind);
}

TablesFile GoldenTables(const std::string& variant) {
  const auto parsed = ParseTables(Contents(kGolden + variant + "/tables.xml"), "tables.xml");
  EXPECT_TRUE(std::holds_alternative<TablesFile>(parsed)) << std::get<FileRefusal>(parsed).Text();
  return std::get<TablesFile>(parsed);
}

// ---- Files of BOINC's own exporter ------------------------------------------------------------------------

TEST(StatisticsReader, SumsTheUsersOfBoincsExporterToTheDigitsOfTablesXml) {
  const ReadFile read = ReadGolden("a_default/user.gz", RecordKind::kUser);
  EXPECT_TRUE(read.accepted);
  const TablesFile tables = GoldenTables("a_default");
  EXPECT_EQ(read.summary.records, tables.users);
  EXPECT_EQ(read.summary.records, 54u);
  // tables.xml: 570913887729.509888, a sum of doubles in steps of 2^-14; each figure is rounded to 10^-6.
  EXPECT_NEAR(static_cast<double>(read.summary.total_credit - tables.total_credit->micro), 0, 200);
  EXPECT_EQ(read.summary.decimals, 6);
  EXPECT_EQ(read.names.at(1), "Ann & Bob <ab@x.org> \"quoted\" 'single'");
  EXPECT_EQ(read.names.at(2), "J\xc3\xbcrgen M\xc3\xbc\xc3\x9fig-\xc3\x85ngstr\xc3\xb6m");
}

TEST(StatisticsReader, ReadsEveryFileOfUsersAndTeamsOfBoincsExporterTheSameInEachCompression) {
  for (const std::string variant : {"b_sort_total_credit", "b2_sort_expavg_credit", "e2_flags_off"}) {
    const ReadFile read = ReadGolden(variant + "/user.gz", RecordKind::kUser);
    EXPECT_TRUE(read.accepted) << variant;
    EXPECT_EQ(read.summary.records, 54u) << variant;
    EXPECT_EQ(ReadGolden(variant + "/team.gz", RecordKind::kTeam).summary.records, 11u) << variant;
  }
  const ReadFile plain = ReadGolden("f_none/user", RecordKind::kUser);
  EXPECT_TRUE(plain.accepted);
  EXPECT_EQ(plain.summary.contents, ReadGolden("a_default/user.gz", RecordKind::kUser).summary.contents);
  EXPECT_TRUE(ReadGolden("i_empty/user.gz", RecordKind::kUser).accepted);
  EXPECT_EQ(ReadGolden("i_empty/user.gz", RecordKind::kUser).summary.records, 0u);
}

TEST(StatisticsReader, ReadsATeamWithItsMembersAsTheTeamAlone) {
  const ReadFile with_members = ReadGolden("g_team_detail/team.gz", RecordKind::kTeam);
  const ReadFile without = ReadGolden("a_default/team.gz", RecordKind::kTeam);
  ASSERT_TRUE(with_members.accepted) << with_members.refusals.front().Text();
  ASSERT_TRUE(without.accepted);
  EXPECT_EQ(with_members.summary.records, 11u);
  EXPECT_EQ(with_members.summary.total_credit, without.summary.total_credit);
  EXPECT_EQ(with_members.names, without.names);
  // Members have credit every day; the record of the team, and so its hash, does not contain them. They may also be
  // more than a record may be long.
  std::string members;
  for (int i = 1; i <= 10000; ++i) members += User(i, "1.0");
  const std::string text =
      "<teams>\n<team>\n <id>1</id>\n <total_credit>5.0</total_credit>\n" + members +
      "</team>\n<team>\n <id>2</id>\n <total_credit>6.0</total_credit>\n</team>\n</teams>\n";
  const auto reader = StatisticsReader::OverBytes(RecordKind::kTeam, text, "team");
  StatisticsRecord record;
  ASSERT_TRUE(reader->Next(&record));
  EXPECT_EQ(record.text, "\n <id>1</id>\n <total_credit>5.0</total_credit>\n");
  ASSERT_TRUE(reader->Next(&record));
  EXPECT_EQ(record.id, 2u);
  // Two lines of the file and four of the team before the members, nine lines each, and the end of the team.
  EXPECT_EQ(record.line, 1u + 3 + 90000 + 1 + 1);
  EXPECT_FALSE(reader->Next(&record));
  EXPECT_TRUE(reader->accepted());
}

TEST(StatisticsReader, CountsAUserWithTwoConsentsOnce) {
  const ReadFile read = ReadGolden("d_consent/user.gz", RecordKind::kUser);
  ASSERT_TRUE(read.accepted);
  EXPECT_GT(read.summary.repeated, 0u);
  EXPECT_EQ(read.summary.records, read.names.size());
  EXPECT_EQ(read.summary.records + read.summary.repeated, read.ids.size());
  EXPECT_LT(read.summary.records, *GoldenTables("d_consent").users);
}

TEST(StatisticsReader, RefusesTheHostsOfBoincsExporterForOneFigureOf22Digits) {
  const ReadFile read = ReadGolden("a_default/host.gz", RecordKind::kHost);
  EXPECT_FALSE(read.accepted);
  EXPECT_EQ(read.first(), FileProblem::kTooManyDigits);
  EXPECT_THAT(read.refusals.front().Text(), HasSubstr("total_credit: 1000000000000000.250000"));
  // All others are read: reading continues behind the record.
  EXPECT_EQ(read.ids.size(), 80u);
  EXPECT_EQ(read.refusals.size(), 1u);
}

TEST(StatisticsReader, ReadsHostsWhoseTextsContainTheEndOfTheirElement) {
  // Records 10 to 19 of the file set; misc contains ]]> in some.
  const ReadFile read = ReadGolden("c_sort_id_recs10/host_0.gz", RecordKind::kHost);
  ASSERT_TRUE(read.accepted) << read.refusals.front().Text();
  const std::string file = Contents(kGolden + std::string("c_sort_id_recs10/host_0.gz"));
  const auto reader = StatisticsReader::OverBytes(RecordKind::kHost, file, "host_0");
  StatisticsRecord record;
  HostFields host;
  ASSERT_TRUE(reader->Next(&record) && reader->ReadHost(record, &host));
  EXPECT_EQ(host.id, 1u);
  EXPECT_EQ(host.user, 7u);
  EXPECT_EQ(host.devices, "a]]>b");
  EXPECT_EQ(host.cpid, "bbf0f1c66e2c40a9d44eac3aff3bcd31");
  EXPECT_EQ(host.cpus, 128);
  EXPECT_EQ(host.total_credit.micro, 105697727961318);
  EXPECT_EQ(TextBytes(host.vendor), "AMD & <Co>");
}

TEST(StatisticsReader, AddsTheFilesOfASetUp) {
  FileSummary sum{.kind = RecordKind::kUser};
  for (int i = 0;; ++i) {
    const std::string name = "c_sort_id_recs10/user_" + std::to_string(i) + ".gz";
    if (!std::ifstream(kGolden + name)) break;
    sum += ReadGolden(name, RecordKind::kUser).summary;
  }
  EXPECT_EQ(sum.records, 54u);
  EXPECT_EQ(sum.total_credit, ReadGolden("a_default/user.gz", RecordKind::kUser).summary.total_credit);
}

TEST(TablesFile, OfBoincsExporter) {
  const TablesFile tables = GoldenTables("a_default");
  EXPECT_EQ(tables.update_time, 1795204139u);
  EXPECT_EQ(tables.users, 54u);
  EXPECT_EQ(tables.teams, 11u);
  EXPECT_EQ(tables.hosts, 81u);
  EXPECT_EQ(tables.users_deleted, 11u);
  EXPECT_EQ(tables.total_credit->micro, 570913887729509888);
  EXPECT_FALSE(tables.credit_by_app);
  EXPECT_TRUE(GoldenTables("e_credit_by_app").credit_by_app);
  EXPECT_THAT(tables.applications, ElementsAre("Upper case & <lower>", "Old \"app\" (deprecated)",
                                               "Astro \xc3\xa9 \xf0\x9f\x9a\x80 ]]>", ""));
  EXPECT_EQ(GoldenTables("i_empty").users, std::nullopt);
}

TEST(TablesFile, IsRefusedWithoutATimeOrAsAPageOrCut) {
  const auto problem = [](std::string_view bytes) {
    return std::get<FileRefusal>(ParseTables(bytes, "tables.xml")).problem;
  };
  EXPECT_EQ(problem(""), FileProblem::kEmpty);
  EXPECT_EQ(problem("<!DOCTYPE HTML><title>Down</title>"), FileProblem::kHtml);
  EXPECT_EQ(problem("<tables>\n <nusers_total>1</nusers_total>\n</tables>"), FileProblem::kMissingElement);
  EXPECT_EQ(problem("<tables>\n <update_time>1</update_time>\n"), FileProblem::kTruncated);
  EXPECT_EQ(problem("<tables>\n <update_time>-1</update_time>\n</tables>"), FileProblem::kNegative);
  EXPECT_EQ(problem("<tables>\n <update_time>9999999999999999999</update_time>\n</tables>"),
            FileProblem::kOutOfRange);
  EXPECT_EQ(problem("<users>\n</users>"), FileProblem::kNotStatistics);
}

// ---- Compression ------------------------------------------------------------------------------------------

TEST(StatisticsReader, DetectsTheCompressionFromTheContents) {
  const std::string text = Users(User(1, "1.000000") + User(2, "2.500000"));
  std::string zstd(ZSTD_compressBound(text.size()), '\0');
  zstd.resize(ZSTD_compress(zstd.data(), zstd.size(), text.data(), text.size(), 3));
  // Two gzip members, cut in the middle of a record.
  const std::string members = Gzip(text.substr(0, 100)) + Gzip(text.substr(100));
  for (const std::string& bytes : {text, Gzip(text), zstd, members, Gzip(text) + std::string(512, '\0')}) {
    const ReadFile read = Read(bytes);
    EXPECT_TRUE(read.accepted);
    EXPECT_THAT(read.ids, ElementsAre(1, 2));
    EXPECT_EQ(static_cast<std::int64_t>(read.summary.total_credit), 3500000);
    EXPECT_EQ(read.summary.contents, Read(text).summary.contents);
  }
}

TEST(StatisticsReader, HasOtherContentsIfARecordIsOtherOrAtAnotherPlace) {
  const std::string one = User(1, "1.000000");
  const std::string two = User(2, "2.500000");
  std::vector<std::string> texts = {Users(one + two),
                                    Users(two + one),
                                    Users(one),
                                    Users(""),
                                    Users(one + User(2, "2.500001")),
                                    Users(one + two + two),
                                    Users(one + User(2, "2.500000", " <country>Chad</country>\n"))};
  for (std::size_t a = 0; a < texts.size(); ++a)
    for (std::size_t b = 0; b < texts.size(); ++b) {
      const ReadFile of_a = Read(texts[a]);
      ASSERT_TRUE(of_a.accepted) << texts[a];
      EXPECT_EQ(of_a.summary.contents == Read(texts[b]).summary.contents, a == b) << a << " " << b;
    }
}

TEST(StatisticsReader, RefusesEveryTruncation) {
  const std::string text = Users(User(1, "1.000000") + User(2, "2.500000"));
  const std::string gzip = Gzip(text);
  for (std::size_t size = 0; size + 1 < text.size(); ++size)  // the last line end may be missing
    EXPECT_FALSE(Read(text.substr(0, size)).accepted) << size;
  for (std::size_t size = 0; size < gzip.size(); ++size)
    EXPECT_FALSE(Read(gzip.substr(0, size)).accepted) << size;
  EXPECT_EQ(Read(gzip.substr(0, gzip.size() - 1)).first(), FileProblem::kTruncated);
  EXPECT_EQ(Read(text.substr(0, text.size() - 20)).first(), FileProblem::kTruncated);
  EXPECT_EQ(Read("").first(), FileProblem::kEmpty);
  EXPECT_EQ(Read(Gzip("")).first(), FileProblem::kEmpty);
}

TEST(StatisticsReader, NoticesDamageInsideTheCompressionByItsChecksum) {
  const std::string gzip = Gzip(Users(User(1, "1.000000")));
  for (std::size_t from_end = 1; from_end <= 8; ++from_end) {  // the checksum and the length
    std::string damaged = gzip;
    damaged[damaged.size() - from_end] ^= 1;
    EXPECT_EQ(Read(damaged).first(), FileProblem::kDamagedCompression) << from_end;
  }
}

// The bytes that a flipped bit spoils look like broken records; an operator has to hear of the damage, not of them.
TEST(StatisticsReader, NamesDamagedCompressionWhateverTheRecordsLookLike) {
  std::string users;
  for (int id = 1; id <= 300; ++id) users += User(id, std::to_string(id * 7919 % 1009) + ".000000");
  const std::string gzip = Gzip(Users(users));
  for (std::size_t at = 10; at < gzip.size(); at += 7) {
    std::string damaged = gzip;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const FileProblem problem = Read(damaged).first();
    EXPECT_TRUE(problem == FileProblem::kDamagedCompression || problem == FileProblem::kTruncated)
        << at << ": " << FileProblemText(problem);
  }
}

TEST(StatisticsReader, RefusesRubbishBehindAMember) {
  const std::string gzip = Gzip(Users(User(1, "1.000000")));
  for (const std::string& rubbish : {std::string("<!"), std::string("rubbish"), std::string(100, 'r'),
                                     std::string("\0\0<!", 4), std::string("\x1f\x8b\x07\x00", 4),
                                     std::string("\x1f\x8b\x08\x20", 4)})  // another method; a reserved flag
    EXPECT_EQ(Read(gzip + rubbish).first(), FileProblem::kDamagedCompression) << rubbish;
  for (const char* cut : {"r", "\x1f", "\x1f\x8b", "\x1f\x8b\x08"})
    EXPECT_EQ(Read(gzip + cut).first(), FileProblem::kTruncated) << cut;
}

// A file is read in blocks of 256 KiB. The second member begins at each place around the end of a block; its header has
// a name, as gzip writes it, and a checksum.
TEST(FeedInput, ReadsMembersAcrossBlocksOfTheFile) {
  constexpr std::size_t kBlock = 256u << 10;
  constexpr std::size_t kAround = 40;
  testing::TempDir dir;
  const std::string path = dir.path() + "/user.gz";
  std::string second = Gzip("second");
  second[3] |= 0x0a;
  second.insert(10, std::string("user.xml\0", 9));
  const unsigned long sum = ::crc32(0, reinterpret_cast<const Bytef*>(second.data()), 19);
  second.insert(19, {static_cast<char>(sum & 0xff), static_cast<char>(sum >> 8 & 0xff)});
  const std::string first = Gzip("first");
  for (std::size_t before = 1; before <= kAround; ++before) {
    const std::string padding(kBlock - before - first.size(), '\0');
    std::ofstream(path, std::ios::binary) << first << padding << second;
    const auto input = FeedInput::OpenFile(path, {});
    ASSERT_TRUE(input.ok());
    std::string text;
    char byte = 0;
    while ((*input)->Read(&byte, 1) == 1) text += byte;
    EXPECT_EQ((*input)->problem(), FileProblem::kNone) << before;
    EXPECT_EQ(text, "firstsecond") << before;
  }
}

// A decompressor may hold decoded bytes when the last byte of the file is consumed.
// For these bytes the library says that it has read one more than it was given.
TEST(FeedInput, RefusesADamagedBlockWhoseLengthIsCountedWrong) {
  constexpr std::string_view kDamaged(
      "\x1f\x8b\x08\x00\x3c\x3f\xb2\x54\x82\x97\xc3\x3b\xb4\xff\x05\x3b\x7a\xed\xeb\xc7\x00\x3b\x7a\xed\xc7\x00",
      26);
  const auto input = FeedInput::OverBytes(kDamaged, {});
  std::array<char, 4096> out{};
  while (input->Read(out.data(), out.size()) > 0) {
  }
  EXPECT_EQ(input->problem(), FileProblem::kDamagedCompression);
}

TEST(FeedInput, GivesTheSameBytesInPiecesOfEachSize) {
  std::string text;
  for (int id = 0; id < 2000; ++id) text += User(id, "1.000000");
  const std::string gzip = Gzip(text);
  for (const std::size_t piece : {1u, 7u, 257u, 258u, 259u, 32768u, 65536u, 1u << 20}) {
    const std::unique_ptr<FeedInput> input = FeedInput::OverBytes(gzip, {});
    std::string read;
    std::string block(piece, '\0');
    while (const std::size_t got = input->Read(block.data(), piece)) read.append(block, 0, got);
    EXPECT_EQ(input->problem(), FileProblem::kNone) << piece;
    EXPECT_TRUE(read == text) << piece;
  }
}

TEST(StatisticsReader, RefusesArchivesAndPages) {
  EXPECT_EQ(Read("PK\x03\x04rest").first(), FileProblem::kForeignArchive);
  EXPECT_EQ(Read("<!DOCTYPE html>\n<HTML><body>Down for maintenance</body></HTML>").first(),
            FileProblem::kHtml);
  EXPECT_EQ(Read(Gzip("\n<html><form>Password")).first(), FileProblem::kHtml);
  EXPECT_EQ(Read("<hosts>\n</hosts>\n").first(), FileProblem::kNotStatistics);
  EXPECT_EQ(Read("error: too many connections").first(), FileProblem::kNotStatistics);
}

TEST(StatisticsReader, StopsADecompressionBombAtItsRatio) {
  const std::string bomb = Gzip(std::string(64u << 20, ' '));
  ASSERT_LT(bomb.size(), 100000u);
  const ReadFile read = Read(bomb);
  EXPECT_FALSE(read.accepted);
  EXPECT_EQ(read.first(), FileProblem::kTooLarge);
  // 16 MiB are free of the ratio; the next block is too much.
  EXPECT_LT(read.summary.bytes, 18u << 20);
}

// ---- Damaged text -----------------------------------------------------------------------------------------

TEST(StatisticsReader, TellsTheProblemsOfAFigureApart) {
  const std::map<std::string, FileProblem> figures = {
      {"123456789012345.123456", FileProblem::kTooManyDigits},
      {"99999999999999.000000", FileProblem::kOutOfRange},
      {"nan", FileProblem::kNotANumber},
      {"-nan", FileProblem::kNotANumber},
      {"inf", FileProblem::kInfinite},
      {"-1.000000", FileProblem::kNegative},
      {"1.5E+15", FileProblem::kExponent},
      {"1e308", FileProblem::kExponent},
      {"1,234,567.500000", FileProblem::kThousands},
      {"1 234 567.5", FileProblem::kThousands},
      {"17\r\n1000\r\n446.35", FileProblem::kChunkHeader},
      {"17\n1000\n446.35", FileProblem::kChunkHeader},
      {"17446,35", FileProblem::kMalformed},
      {"+5", FileProblem::kMalformed},
      {"5.", FileProblem::kMalformed},
      {".5", FileProblem::kMalformed},
      {"0x10", FileProblem::kMalformed},
      {"", FileProblem::kNoFigure},
  };
  for (const auto& [text, problem] : figures) {
    const ReadFile read = Read(Users(User(1, "1.0") + User(2, text) + User(3, "3.0")));
    EXPECT_FALSE(read.accepted) << text;
    EXPECT_EQ(FileProblemName(read.first()), FileProblemName(problem)) << text;
    // Reading continued with the next record.
    EXPECT_THAT(read.ids, ElementsAre(1, 3)) << text;
    // Two lines before the records, nine lines of the first user, total_credit in the fifth line of the second.
    EXPECT_EQ(read.line(), 2u + 9 + 5) << text;
  }
}

TEST(Figures, KeepTheDigitsOfTheFile) {
  const auto parsed = [](std::string_view text) {
    CreditFigure figure;
    EXPECT_EQ(ParseCredit(text, Sign::kAny, &figure), FileProblem::kNone) << text;
    return figure;
  };
  EXPECT_EQ(parsed("570000000000.000001"), (CreditFigure{570000000000000001, 6}));
  EXPECT_EQ(parsed("9223372036854.775807"), (CreditFigure{9223372036854775807, 6}));
  EXPECT_EQ(parsed("17"), (CreditFigure{17000000, 0}));
  EXPECT_EQ(parsed("0.1"), (CreditFigure{100000, 1}));
  EXPECT_EQ(parsed("-0.000000"), (CreditFigure{0, 6}));
  EXPECT_EQ(parsed("-2.500000"), (CreditFigure{-2500000, 6}));
  // Half to even at the sixth decimal.
  EXPECT_EQ(parsed("0.0000005"), (CreditFigure{0, 7}));
  EXPECT_EQ(parsed("0.0000015"), (CreditFigure{2, 7}));
  EXPECT_EQ(parsed("0.00000050001"), (CreditFigure{1, 11}));
}

TEST(Figures, OfMachinesAndTimesAreTheNearestDouble) {
  EXPECT_EQ(ParseMeasure("86694880756.369431"), 86694880756.369431);
  EXPECT_EQ(ParseMeasure("1781421899.083468"), 1781421899.083468);
  EXPECT_EQ(ParseMeasure("0.134405"), 0.134405);
  EXPECT_EQ(ParseMeasure("1000000000000000019884624838656.000000"), 1e30);
  for (const char* text : {"nan", "inf", "", ".", "1.2.3", "x"})
    EXPECT_EQ(ParseMeasure(text), std::nullopt) << text;
  double time = -7;
  EXPECT_EQ(ParseTime("-1.000000", &time), FileProblem::kNone);
  EXPECT_EQ(time, 0);
  EXPECT_EQ(ParseTime("1e30", &time), FileProblem::kExponent);
  EXPECT_EQ(ParseTime("100000000001", &time), FileProblem::kOutOfRange);
  EXPECT_EQ(ParseTime("nan", &time), FileProblem::kNotANumber);
}

// The damage of a real export that was stored with the headers of its transfer: 17446.350588 became 171000446.
TEST(StatisticsReader, FindsAHeaderOfTheTransferWhereverItFell) {
  const std::string text = Users(User(1, "17446.350588") + User(2, "2.000000"));
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const std::string damaged = text.substr(0, at) + "\r\n1000\r\n" + text.substr(at);
    const ReadFile read = Read(damaged);
    EXPECT_FALSE(read.accepted) << at;
    ASSERT_FALSE(read.refusals.empty());
    EXPECT_EQ(FileProblemName(read.first()), "chunk_header") << at << read.refusals.front().Text();
  }
  EXPECT_FALSE(Read(Users(User(1, "1.0")) + "\r\n0\r\n\r\n").accepted);
}

TEST(StatisticsReader, AcceptsLinesThatEndInCrLf) {
  std::string text = Users(User(1, "17446.350588") + User(2, "2.000000"));
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 2))
    text.insert(at, "\r");
  EXPECT_TRUE(Read(text).accepted);
}

// BOINC writes each tag into a line of its own, and readers of statistics files rely on it.
TEST(StatisticsReader, NamesAFileWithoutLines) {
  std::string text = Users(User(1, "1.0") + User(2, "2.0"));
  text.erase(std::remove(text.begin(), text.end(), '\n'), text.end());
  const ReadFile read = Read(text);
  EXPECT_EQ(read.first(), FileProblem::kRecordCut);
  EXPECT_EQ(read.refusals[0].detail, "</user> is not at the beginning of a line");
}

TEST(StatisticsReader, ContinuesAtTheNextRecordBehindACutOne) {
  std::string cut = User(2, "2.000000");
  cut.resize(cut.find(" <expavg_time>"));
  const ReadFile read = Read(Users(User(1, "1.0") + cut + User(3, "3.0") + "rubbish\n" + User(4, "4.0")));
  EXPECT_THAT(read.ids, ElementsAre(1, 3, 4));
  ASSERT_EQ(read.refusals.size(), 2u);
  EXPECT_EQ(read.refusals[0].problem, FileProblem::kRecordCut);
  EXPECT_EQ(read.refusals[0].line, 12u);
  EXPECT_EQ(read.refusals[1].problem, FileProblem::kBytesBetween);
  EXPECT_THAT(read.refusals[1].Text(), HasSubstr("file:27: there are bytes between two records (rubbish"));
}

TEST(StatisticsReader, RefusesFieldsThatAreBadInARecordThatIsWhole) {
  const std::string average = "<expavg_credit>0.500000<";
  for (const auto& [value, problem] :
       std::map<std::string, FileProblem>{{"<expavg_credit>nan<", FileProblem::kNotANumber},
                                          {"<expavg_credit>17\n1000\n446.35<", FileProblem::kChunkHeader},
                                          {"<expavg_credit>1e7<", FileProblem::kExponent}}) {
    std::string text = Users(User(1, "1.0"));
    text.replace(text.find(average), average.size(), value);
    EXPECT_EQ(Read(text).first(), problem) << value;
    EXPECT_EQ(Read(text).line(), 8u) << value;
  }
  std::string unclosed = Users(User(1, "1.0"));
  unclosed.replace(unclosed.find("</cpid>"), 7, "");
  EXPECT_EQ(Read(unclosed).first(), FileProblem::kUnclosedElement);
  // The name of a damaged element is quoted as printable text.
  std::string damaged = Users(User(1, "1.0"));
  damaged.replace(damaged.find("<cpid>"), 6, std::string("<cp\0\x1b>", 6));
  EXPECT_THAT(Read(damaged).refusals.front().Text(), HasSubstr("(cp\\x00\\x1b of 1"));
  std::string without = Users(User(1, "1.0"));
  for (int i = 0; i < 2; ++i) without.replace(without.find("total_credit"), 12, "total_crudit");
  EXPECT_EQ(Read(without).first(), FileProblem::kMissingElement);
  std::string zero = Users(User(0, "1.0"));
  EXPECT_EQ(Read(zero).first(), FileProblem::kOutOfRange);
}

// What cannot be read hides the elements behind it: they are not missing.
TEST(StatisticsReader, NamesWhatHidesAnElement) {
  std::string comment = Users(User(1, "1.0"));
  comment.insert(comment.find("<total_credit>"), "<!-- no more -->");
  EXPECT_EQ(Read(comment).first(), FileProblem::kUnclosedElement);
  EXPECT_THAT(Read(comment).refusals.front().Text(), HasSubstr("(<!-- no more -->"));
}

TEST(StatisticsReader, RefusesAnIdThatNoAnswerCanName) {
  const auto with_id = [](const std::string& id) {
    std::string text = Users(User(1, "1.0"));
    return text.replace(text.find("<id>1<"), 6, "<id>" + id + "<");
  };
  EXPECT_TRUE(Read(with_id("9223372036854775807")).accepted);
  EXPECT_EQ(Read(with_id("9223372036854775808")).first(), FileProblem::kOutOfRange);
}

TEST(StatisticsReader, RefusesTwoContentsOfOneIdInARow) {
  EXPECT_EQ(Read(Users(User(1, "1.0") + User(1, "1.0"))).summary.repeated, 1u);
  EXPECT_EQ(Read(Users(User(1, "1.0") + User(1, "2.0"))).first(), FileProblem::kTwoContents);
}

TEST(StatisticsReader, HoldsNoRecordLongerThanItsLimit) {
  const std::string long_name = " <url>" + std::string(5000, 'x') + "</url>\n";
  ReaderLimits limits;
  limits.longest_record = 4096;
  const ReadFile read = Read(Users(User(1, "1.0", long_name) + User(2, "2.0")), RecordKind::kUser, limits);
  EXPECT_EQ(read.first(), FileProblem::kRecordTooLong);
  EXPECT_THAT(read.ids, ElementsAre(2));
}

TEST(StatisticsReader, StopsAfterAThousandProblems) {
  std::string records;
  for (int i = 1; i <= 3000; ++i) records += User(i, "nan");
  const std::string text = Users(records);
  const auto reader = StatisticsReader::OverBytes(RecordKind::kUser, text, "file");
  StatisticsRecord record;
  EXPECT_FALSE(reader->Next(&record));
  EXPECT_EQ(reader->problems(), 1000u);
  EXPECT_EQ(reader->refusals().size(), 20u);
}

// A country is not escaped: it cannot replace the fields before it.
TEST(StatisticsReader, KeepsTheFirstOfTwoEqualElements) {
  const std::string country =
      " <country>X</country>\n <cpid>00000000000000000000000000000000</cpid>\n <total_credit>9.0</total_credit>\n";
  const std::string text = Users(User(1, "1.0", country));
  const auto reader = StatisticsReader::OverBytes(RecordKind::kUser, text, "file");
  StatisticsRecord record;
  UserFields user;
  ASSERT_TRUE(reader->Next(&record) && reader->ReadUser(record, &user));
  EXPECT_EQ(user.cpid, "e6548b6c3d364685ae9221e0abe10098");
  EXPECT_EQ(user.total_credit.micro, 1000000);
}

// ---- Skipping unchanged records ---------------------------------------------------------------------------

// A name that is not escaped may contain any tag. `repeated` and the sums come from the record's own elements.
TEST(StatisticsReader, TakesTheTagsInATextForText) {
  const auto users = Read(
      "<users>\n<user>\n <name><id>7</id><total_credit>9000</name>\n <id>1</id>\n"
      " <total_credit>3.5</total_credit>\n</user>\n</users>\n");
  EXPECT_TRUE(users.accepted);
  EXPECT_THAT(users.ids, ElementsAre(1));
  EXPECT_EQ(users.names.at(1), "<id>7</id><total_credit>9000");
  EXPECT_EQ(users.summary.total_credit, 3'500'000);
  const auto teams = Read(
      "<teams>\n<team>\n <id>1</id>\n <name><total_credit>9000</total_credit></name>\n"
      " <total_credit>3.5</total_credit>\n</team>\n</teams>\n",
      RecordKind::kTeam);
  EXPECT_TRUE(teams.accepted);
  EXPECT_EQ(teams.summary.total_credit, 3'500'000);
}

TEST(StatisticsReader, GivesAnUnchangedRecordTheHashOfYesterday) {
  const auto hashes = [](const std::string& text) {
    std::map<std::uint64_t, std::uint64_t> found;
    const auto reader = StatisticsReader::OverBytes(RecordKind::kUser, text, "file");
    for (StatisticsRecord record; reader->Next(&record);) found[record.id] = record.hash.low;
    EXPECT_TRUE(reader->accepted());
    return found;
  };
  const auto before = hashes(Users(User(1, "1.0") + User(2, "2.0") + User(3, "3.0")));
  const auto after = hashes(Users(User(3, "3.0") + User(2, "2.1") + User(1, "1.0")));
  EXPECT_EQ(before.at(1), after.at(1));
  EXPECT_NE(before.at(2), after.at(2));
  EXPECT_EQ(before.at(3), after.at(3));
}

TEST(StatisticsReader, ReadsTheSameRecordsInPiecesOfAnySize) {
  std::string records;
  for (int i = 1; i <= 20000; ++i) records += User(i, std::to_string(i) + ".000001");
  const ReadFile read = Read(Gzip(Users(records)));
  ASSERT_TRUE(read.accepted);
  EXPECT_EQ(read.summary.records, 20000u);
  // 1 + 2 + ... + 20000 = 200010000, and 20000 x 10^-6.
  EXPECT_EQ(static_cast<std::int64_t>(read.summary.total_credit), 200010000000000 + 20000);
  EXPECT_EQ(read.summary.largest_id, 20000u);
}

// ---- Charset ----------------------------------------------------------------------------------------------

// The end is searched for in steps of 32 bytes.
TEST(StatisticsReader, FindsTheEndOfARecordAndItsLineAtEachDistance) {
  for (std::size_t length = 0; length < 200; ++length) {
    const std::string url = " <url>" + std::string(length, length % 2 == 0 ? 'x' : '\n') + "</url>\n";
    const std::size_t lines = length % 2 == 0 ? 0 : length;
    const ReadFile read = Read(Users(User(1, "1", url) + User(2, "2", url) + User(3, "x", url)));
    ASSERT_EQ(read.ids.size(), 2u) << length;
    ASSERT_EQ(read.first(), FileProblem::kMalformed) << length;
    ASSERT_EQ(read.line(), 3 + 2 * (10 + lines) + 4) << length;
    // Cut within a record: the next opening tag begins a line.
    const std::string cut = User(1, "1", url);
    const ReadFile second =
        Read(Users(cut.substr(0, cut.size() - std::string("</user>\n").size()) + User(2, "2", url)));
    ASSERT_EQ(second.first(), FileProblem::kRecordCut) << length;
    ASSERT_EQ(second.ids, std::vector<std::uint64_t>{2}) << length;
  }
}

// The file is read in blocks of 256 KiB.
TEST(StatisticsReader, FindsAnEndThatLiesAcrossTwoBlocks) {
  constexpr std::size_t kBlock = 256u << 10;
  // Blanks before the first record move the steps of the search.
  const auto file = [](std::size_t blanks, std::size_t padding) {
    return Users(std::string(blanks, ' ') + User(1, "1", " <url>" + std::string(padding, 'x') + "</url>\n") +
                 User(2, "2"));
  };
  for (std::size_t blanks = 0; blanks < 32; ++blanks) {
    const std::size_t end = file(blanks, 0).find("</user>");
    for (std::size_t before = 0; before < 9; ++before) {
      const ReadFile read = Read(file(blanks, kBlock - before - end));
      ASSERT_TRUE(read.accepted) << blanks << " " << before;
      ASSERT_THAT(read.ids, ElementsAre(1, 2)) << blanks << " " << before;
    }
  }
}

TEST(StatisticsReader, FindsNoEndInTheMiddleOfALine) {
  const ReadFile read =
      Read(Users(User(1, "1", " <country>x</user> <user></country>\n\t <userx>1</userx>\n")));
  EXPECT_TRUE(read.accepted);
  EXPECT_THAT(read.ids, ElementsAre(1));
}

TEST(ByteScan, CountsAndComparesLikeTheLibrary) {
  const std::string text = "a\nb\n\nabcdefghijklmnopqrstuvwxyz\n\xff\n" + std::string(5000, '\n') + "end";
  for (std::size_t from = 0; from < 40; ++from)
    for (std::size_t size = 0; from + size <= text.size(); size += size < 70 ? 1 : 977) {
      const std::string_view part = std::string_view(text).substr(from, size);
      ASSERT_EQ(CountByte(part, '\n'), static_cast<std::uint64_t>(std::count(part.begin(), part.end(), '\n')))
          << from << " " << size;
    }
  for (std::size_t size = 0; size < 40; ++size) {
    const std::string same(size, 'x');
    EXPECT_TRUE(SameShort(same, std::string(size, 'x')));
    EXPECT_FALSE(SameShort(same, same + "x"));
    for (std::size_t at = 0; at < size; ++at) {
      std::string other = same;
      other[at] = 'y';
      EXPECT_FALSE(SameShort(same, other)) << size << " " << at;
    }
  }
}

TEST(FeedText, PutsTheReferencesOfBytesTogether) {
  EXPECT_EQ(TextBytes("J&#195;&#188;rgen &amp; &lt;b> &#9; &unknown; &"),
            "J\xc3\xbcrgen & <b> \t &unknown; &");
  EXPECT_EQ(TextBytes("&#x20AC;&#8364;"), "\xe2\x82\xac\xe2\x82\xac");
  EXPECT_EQ(TextBytes("&#0;&#1114112;&#99999999999;"), "&#0;&#1114112;&#99999999999;");
}

TEST(FeedText, DecidesTheCharsetForTheFileAsAWhole) {
  CharsetEvidence utf8;
  utf8.Note("J\xc3\xbcrgen");
  utf8.Note("\xe6\x97\xa5\xe6\x9c");  // cut at 255 bytes
  utf8.Note("plain");
  EXPECT_EQ(utf8.Decide(), Charset::kUtf8);
  EXPECT_EQ(utf8.cut, 1u);
  CharsetEvidence latin1;
  latin1.Note("J\xfcrgen");
  latin1.Note("M\xfcller");
  latin1.Note("\xc3\xbc");  // by accident
  EXPECT_EQ(latin1.Decide(), Charset::kLatin1);
  EXPECT_EQ(ToUtf8("J\xfcrgen", Charset::kLatin1), "J\xc3\xbcrgen");
  EXPECT_EQ(ToUtf8("J\xfcrgen", Charset::kUtf8), "J\xef\xbf\xbdrgen");
  EXPECT_EQ(ToUtf8("\xe6\x97\xa5\xe6\x9c", Charset::kUtf8), "\xe6\x97\xa5");
  EXPECT_EQ(ToUtf8("a\tb\x7f", Charset::kUtf8), "a b ");
}

TEST(FeedText, OfBoincsExporterIsUtf8) {
  const std::string file = Contents(kGolden + std::string("a_default/user.gz"));
  const auto reader = StatisticsReader::OverBytes(RecordKind::kUser, file, "user");
  UserFields user;
  for (StatisticsRecord record; reader->Next(&record);) reader->ReadUser(record, &user);
  EXPECT_GT(reader->texts().utf8, 0u);
  EXPECT_EQ(reader->texts().Decide(), Charset::kUtf8);
}

// ---- Hosts with shifted values ----------------------------------------------------------------------------

std::string Host(int id, const std::string& vendor, const std::string& create_time,
                 const std::string& ncpus) {
  return "<host>\n    <id>" + std::to_string(id) + "</id>\n    <total_credit>5.000000</total_credit>\n" +
         "    <expavg_credit>0.100000</expavg_credit>\n    <expavg_time>1781421899.083468</expavg_time>\n" +
         "    <p_vendor>" + vendor + "</p_vendor>\n    <p_model>M</p_model>\n  <create_time>" + create_time +
         "</create_time>\n  <rpc_time>1781000000</rpc_time>\n  <ncpus>" + ncpus +
         "</ncpus>\n  <p_fpops>3000000000.000000</p_fpops>\n</host>\n";
}
std::string Hosts(const std::string& records) { return "<hosts>\n" + records + "</hosts>\n"; }

TEST(StatisticsReader, RefusesHostsOfBuildsThatShiftTheValues) {
  const std::string markup = "    <misc><![CDATA[%s]]></misc>\n";
  EXPECT_EQ(Read(Hosts(Host(1, markup, "1700000000", "8")), RecordKind::kHost).first(),
            FileProblem::kShiftedNumbers);
  // A time in the place of the number of processors, and an address in the place of the time.
  EXPECT_EQ(Read(Hosts(Host(1, "Intel", "4195924", "1700000000")), RecordKind::kHost).first(),
            FileProblem::kShiftedNumbers);
  EXPECT_TRUE(Read(Hosts(Host(1, "Intel", "1700000000", "8")), RecordKind::kHost).accepted);
}

TEST(StatisticsReader, AcceptsAFileWithOneStrangeHostAmongMany) {
  std::string records = Host(1, "Intel", "4195924", "1700000000");
  for (int i = 2; i <= 20; ++i) records += Host(i, "Intel", "1700000000", "8");
  EXPECT_TRUE(Read(Hosts(records), RecordKind::kHost).accepted);
  // Two of twenty are one in ten.
  records += Host(21, "Intel", "4195924", "1700000000") + Host(22, "Intel", "4195924", "1700000000");
  EXPECT_FALSE(Read(Hosts(records), RecordKind::kHost).accepted);
}

TEST(StatisticsReader, ReadsNoHostIntoTheRecordOfAnotherThroughItsDescription) {
  const std::string misc =
      "    <misc><![CDATA[{\"a\":\"]]></misc>\n  <host_cpid>00000000000000000000000000000000" +
      std::string("</host_cpid>\n\"}]]></misc>\n");
  const std::string text =
      Hosts("<host>\n    <id>1</id>\n    <total_credit>5.000000</total_credit>\n" + misc +
            "  <host_cpid>e6548b6c3d364685ae9221e0abe10098</host_cpid>\n</host>\n");
  const auto reader = StatisticsReader::OverBytes(RecordKind::kHost, text, "host");
  StatisticsRecord record;
  HostFields host;
  ASSERT_TRUE(reader->Next(&record) && reader->ReadHost(record, &host));
  EXPECT_EQ(host.cpid, "e6548b6c3d364685ae9221e0abe10098");
}

// Each search for the last end of CDATA reads the whole rest of the record: a record of 30,000 took 6 s in each pass.
TEST(StatisticsReader, SearchesForTheLastEndOfAFewElementsOnly) {
  std::string record = "<host>\n<id>1</id>\n";
  for (int i = 0; i < 20; ++i) {
    const std::string tag = "c" + std::to_string(i);
    record += "<" + tag + "><![CDATA[x]]></" + tag + ">\n";
  }
  const std::string more = "<c0><![CDATA[x]]></c0>\n<c19><![CDATA[x]]></c19>\n";
  std::string all = record.substr(7) + more;
  ElementScan few(all);
  ASSERT_TRUE(few.Next() && few.Next());
  EXPECT_EQ(few.tag(), "c0");
  EXPECT_TRUE(few.value().find("<c19>") != std::string_view::npos)
      << "the last end of c0 is behind all others";
  // c0 to c7 are searched from the end, later ones from the beginning.
  all = record.substr(7) + "<c19><![CDATA[x]]></c19>\n";
  ElementScan many(all);
  int elements = 0;
  while (many.Next()) ++elements;
  EXPECT_FALSE(many.bad());
  EXPECT_EQ(elements, 22) << "the second c19 is an element of its own";
}

TEST(IdSet, KnowsEveryIdThatItHasSeen) {
  IdSet ids;
  for (std::uint64_t i = 1; i < 100000; i += 3) EXPECT_TRUE(ids.Insert(i * 7));
  EXPECT_FALSE(ids.Insert(7));
  EXPECT_TRUE(ids.Contains(4 * 7));
  EXPECT_FALSE(ids.Contains(5 * 7));
  EXPECT_TRUE(ids.Insert(0xFFFFFFFFFFFFFFFF));
  EXPECT_TRUE(ids.Insert(0));
  EXPECT_FALSE(ids.Insert(0));
  EXPECT_EQ(ids.size(), 33335u);
}

}  // namespace
}  // namespace cobblestone::hub
