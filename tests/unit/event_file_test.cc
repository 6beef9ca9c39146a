// Files of events: three formats, three codings, bad lines, truncated files.
#include "services/events/event_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <future>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "common/wire/events/event_codec.h"
#include "common/wire/json/json_lines.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {

using events::EventFile;
using events::EventFormat;
using events::EventItem;
using events::EventWriter;
using events::kMaxEventBytes;

namespace {

const std::string kByteOrderMark(events::kByteOrderMark);

using testing::TempDir;

struct Read {
  std::string envelope;
  std::string raw;
  std::string problem;
  std::uint64_t line = 0;
  bool barrier = false;
};

struct Reading {
  std::vector<Read> items;
  Status end;
  EventFormat format = EventFormat::kJsonLines;
};

Reading ReadAll(const std::string& path) {
  Reading reading;
  auto file = EventFile::Open(path, {.project = ProjectId(7)});
  if (!file.ok()) {
    reading.end = file.status();
    return reading;
  }
  reading.format = (*file)->format();
  EventItem item;
  for (;;) {
    auto more = (*file)->Next(&item);
    if (!more.ok()) reading.end = more.status();
    if (!more.ok() || !*more) break;
    reading.items.push_back(
        {std::string(item.envelope), std::string(item.raw), item.problem, item.line, item.barrier});
  }
  EXPECT_EQ((*file)->bytes_read() <= (*file)->bytes_total(), true);
  return reading;
}

void WriteText(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

std::string ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string Tick(std::uint64_t id) {
  return wire::EncodeEvent({.head = {.id = id, .project = ProjectId(7), .time = 1000.5},
                            .body = wire::Tick{.time = 1000.5 + static_cast<double>(id)}});
}

std::string Name(std::uint64_t id, std::size_t length) {
  wire::TeamMember team;
  team.team = TeamId(id);
  team.name = std::string(length, 'n');
  return wire::EncodeEvent({.head = {.id = id, .project = ProjectId(7), .time = 1}, .body = std::move(team)});
}

class EventFileCodings : public ::testing::TestWithParam<const char*> {};

TEST_P(EventFileCodings, WrittenEventsAreReadInOrderWithLineNumbers) {
  const TempDir dir;
  const std::string path = dir / (std::string("events") + GetParam());
  std::vector<std::string> written;
  // All records together are larger than any buffer.
  for (std::uint64_t id = 1; id <= 3000; ++id) written.push_back(id % 100 == 0 ? Name(id, 40000) : Tick(id));
  auto writer = EventWriter::Open(path);
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  for (const std::string& envelope : written) ASSERT_TRUE((*writer)->Write(envelope).ok());
  ASSERT_TRUE((*writer)->Close().ok());

  const Reading reading = ReadAll(path);
  EXPECT_TRUE(reading.end.ok()) << reading.end.message();
  EXPECT_EQ(reading.format,
            std::string(GetParam()).starts_with(".pb") ? EventFormat::kDelimited : EventFormat::kJsonLines);
  ASSERT_EQ(reading.items.size(), 3000u);
  for (std::size_t i = 0; i < written.size(); ++i) {
    ASSERT_EQ(reading.items[i].envelope, written[i]);
    ASSERT_EQ(reading.items[i].line, i);
    ASSERT_EQ(reading.items[i].problem, "");
    ASSERT_FALSE(reading.items[i].barrier);
  }

  // Writing the same events again gives the same file.
  const std::string first = ReadText(path);
  auto again = EventWriter::Open(path);
  for (const std::string& envelope : written) ASSERT_TRUE((*again)->Write(envelope).ok());
  ASSERT_TRUE((*again)->Close().ok());
  EXPECT_EQ(ReadText(path), first);
}

TEST_P(EventFileCodings, ATruncatedFileGivesItsWholeEventsThenAnError) {
  const std::string coding = GetParam();
  if (coding == ".jsonl") return;  // a truncated line is a bad line, which has its own test
  const TempDir dir;
  const std::string path = dir / ("events" + coding);
  auto writer = EventWriter::Open(path);
  for (std::uint64_t id = 1; id <= 50000; ++id) ASSERT_TRUE((*writer)->Write(Tick(id)).ok());
  ASSERT_TRUE((*writer)->Close().ok());
  const std::string whole = ReadText(path);
  WriteText(path, whole.substr(0, whole.size() - 5));

  const Reading reading = ReadAll(path);
  EXPECT_EQ(reading.end.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(reading.end.message().find("truncated"), std::string::npos) << reading.end.message();
  const std::string place = coding == ".pb" ? "record 49999" : "byte " + std::to_string(whole.size() - 5);
  EXPECT_NE(reading.end.message().find(place), std::string::npos) << reading.end.message();
  ASSERT_LE(reading.items.size(), 50000u);
  EXPECT_GE(reading.items.size(), coding == ".pb" ? 49999u : 1000u);
  for (std::size_t i = 0; i < reading.items.size(); ++i) ASSERT_EQ(reading.items[i].envelope, Tick(i + 1));
}

TEST_P(EventFileCodings, TwoConcatenatedFilesAreReadAsOne) {
  const TempDir dir;
  const std::string coding = GetParam();
  std::string both;
  for (std::uint64_t id = 1; id <= 2; ++id) {
    const std::string part = dir / ("part" + coding);
    auto writer = EventWriter::Open(part);
    ASSERT_TRUE((*writer)->Write(Tick(id)).ok());
    ASSERT_TRUE((*writer)->Close().ok());
    both += ReadText(part);
  }
  WriteText(dir / "both", both);
  const Reading reading = ReadAll(dir / "both");  // the coding is detected by the content, not by the name
  EXPECT_TRUE(reading.end.ok()) << reading.end.message();
  ASSERT_EQ(reading.items.size(), 2u);
  EXPECT_EQ(reading.items[1].envelope, Tick(2));
  EXPECT_EQ(reading.items[1].line, 1u);
}

INSTANTIATE_TEST_SUITE_P(All, EventFileCodings,
                         ::testing::Values(".jsonl", ".jsonl.gz", ".jsonl.zst", ".pb", ".pb.gz", ".pb.zst"),
                         [](const auto& coding) {
                           std::string name;
                           for (const char c : std::string(coding.param).substr(1))
                             name.push_back(c == '.' ? '_' : c);
                           return name;
                         });

TEST(EventFile, ABadLineIsAnItemWithAProblemAndReadingContinues) {
  const TempDir dir;
  const std::string good = *wire::EnvelopeToJson(Tick(1));
  WriteText(dir / "f", "\xef\xbb\xbf" + good +
                           "\r\n\n  \n{\"id\": 2, \"proj\n{}\nnot json\n{\"id\":\"3\",\"colour\":1}\n" +
                           good);
  const Reading reading = ReadAll(dir / "f");
  EXPECT_TRUE(reading.end.ok()) << reading.end.message();
  ASSERT_EQ(reading.items.size(), 6u);
  EXPECT_EQ(reading.items[0].envelope, Tick(1));
  EXPECT_EQ(reading.items[0].raw, good);  // without CR
  EXPECT_EQ(reading.items[0].line, 0u);
  // Empty lines give no item, but they are counted.
  EXPECT_EQ(reading.items[1].line, 3u);
  EXPECT_EQ(reading.items[1].raw, "{\"id\": 2, \"proj");
  for (std::size_t i = 1; i <= 4; ++i) {
    EXPECT_NE(reading.items[i].problem, "") << i;
  }
  EXPECT_NE(reading.items[4].problem.find("colour"), std::string::npos) << reading.items[4].problem;
  EXPECT_EQ(reading.items[5].envelope, Tick(1));  // the last line has no newline
  EXPECT_EQ(reading.items[5].line, 7u);
}

TEST(EventFile, ARecordThatIsNoEnvelopeIsPassedOnToTheIntake) {
  const TempDir dir;
  auto writer = EventWriter::Open(dir / "f.pb");
  ASSERT_TRUE((*writer)->Write(Tick(1)).ok());
  ASSERT_TRUE((*writer)->Write("\x0f garbage").ok());
  ASSERT_TRUE((*writer)->Write("").ok());
  ASSERT_TRUE((*writer)->Write(Tick(2)).ok());
  ASSERT_TRUE((*writer)->Close().ok());
  const Reading reading = ReadAll(dir / "f.pb");
  ASSERT_EQ(reading.items.size(), 4u);
  EXPECT_EQ(reading.items[1].envelope, "\x0f garbage");
  EXPECT_NE(reading.items[2].problem, "");
  EXPECT_EQ(reading.items[3].envelope, Tick(2));
}

TEST(EventFile, ARecordWhoseLengthLooksLikeTextIsNotReadAsText) {
  const TempDir dir;
  // Lengths 123 '{', 32 ' ', 10 LF: the first byte of the file alone looks like JSON.
  for (const std::size_t length : {123u, 32u, 10u}) {
    std::string record = Name(1, 0);
    for (std::size_t n = 0; record.size() < length; ++n) record = Name(1, n);
    if (length == 10)
      record =
          wire::EncodeEvent({.head = {.id = 1, .project = ProjectId(7)}, .body = wire::ValidatorRestart{}});
    ASSERT_LE(record.size(), length);
    std::string padded = record;
    // Unknown fields fill the remaining length; readers skip them.
    while (padded.size() + 1 < length) padded += std::string("\xb8\x3e\x01", 3).substr(0, 3);
    if (padded.size() != length) continue;
    auto writer = EventWriter::Open(dir / "f.pb");
    ASSERT_TRUE((*writer)->Write(padded).ok());
    ASSERT_TRUE((*writer)->Close().ok());
    const Reading reading = ReadAll(dir / "f.pb");
    EXPECT_EQ(reading.format, EventFormat::kDelimited) << length;
    ASSERT_EQ(reading.items.size(), 1u);
    EXPECT_EQ(reading.items[0].envelope, padded);
  }
}

TEST(EventFile, AnEndlessLineIsReportedOnceWithBoundedMemory) {
  const TempDir dir;
  const std::string good = *wire::EnvelopeToJson(Tick(1));
  WriteText(dir / "f", good + "\n{" + std::string(3 * kMaxEventBytes, 'x') + "\n" + good + "\n");
  const Reading reading = ReadAll(dir / "f");
  ASSERT_EQ(reading.items.size(), 3u);
  EXPECT_NE(reading.items[1].problem.find("1 MiB"), std::string::npos) << reading.items[1].problem;
  EXPECT_LT(reading.items[1].raw.size(), 10000u);
  EXPECT_EQ(reading.items[2].envelope, Tick(1));
  EXPECT_EQ(reading.items[2].line, 2u);
}

TEST(EventFile, FilesWithoutEventsAreReported) {
  const TempDir dir;
  WriteText(dir / "elf",
            std::string("\x7f"
                        "ELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
                        26));
  EXPECT_EQ(ReadAll(dir / "elf").end.code(), StatusCode::kInvalidArgument);
  WriteText(dir / "text", "some\nwords\n");
  const Reading text = ReadAll(dir / "text");
  ASSERT_EQ(text.items.size(), 2u);
  EXPECT_NE(text.items[0].problem, "");
  EXPECT_EQ(ReadAll(dir / "absent").end.code(), StatusCode::kNotFound);
  EXPECT_EQ(ReadAll(dir.path()).end.code(), StatusCode::kInvalidArgument);
  WriteText(dir / "empty", "");
  EXPECT_EQ(ReadAll(dir / "empty").items.size(), 0u);
  EXPECT_EQ(EventWriter::Open(dir / "events.csv").status().code(), StatusCode::kInvalidArgument);
}

// The message names the file, the byte or line, and the cause.
TEST(EventFile, TextInAnotherEncodingIsReported) {
  using namespace std::string_literals;
  const TempDir dir;
  const std::string text = *wire::EnvelopeToJson(Tick(1)) + "\n";
  std::string little;
  std::string big;
  for (const char c : text) {
    little += c + "\0"s;
    big += "\0"s + c;
  }
  for (const std::string& bytes : {little, big, "\xff\xfe"s + little, "\xfe\xff"s + big}) {
    WriteText(dir / "f", bytes);
    const Reading reading = ReadAll(dir / "f");
    EXPECT_EQ(reading.end.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(reading.end.message().find("/f: the file is text in UTF-16; convert it with iconv -f UTF-16"),
              std::string::npos)
        << reading.end.message();
  }
  WriteText(dir / "f", "\xff\xfe\0\0{\0\0\0"s);
  EXPECT_NE(ReadAll(dir / "f").end.message().find("UTF-32"), std::string::npos);
  // In Latin-1 text only the lines with non-ASCII characters are bad.
  WriteText(dir / "f",
            text + R"({"id":1,"project":1,"user":{"user":1,"name":"Andr)" + "\xe9" + "\"}}\n" + text);
  const Reading latin = ReadAll(dir / "f");
  ASSERT_EQ(latin.items.size(), 3u);
  EXPECT_EQ(latin.items[0].problem, "");
  EXPECT_NE(latin.items[1].problem, "");
  EXPECT_EQ(latin.items[1].line, 1u);
  EXPECT_EQ(latin.items[2].problem, "");
}

struct ForeignCase {
  const char* name;
  std::string bytes;
  const char* what;
  const char* remedy;
};

std::string TarOf(const std::string& name) {
  std::string header = name + std::string(257 - name.size(), '\0') + "ustar" + std::string(1, '\0') + "00";
  header.resize(512);
  return header + "{\"id\":1}\n" + std::string(503, '\0');
}

std::vector<ForeignCase> ForeignCases() {
  using namespace std::string_literals;
  const std::string event = *wire::EnvelopeToJson(Tick(1));
  return {
      {"zip", "PK\x03\x04\x14\0\0\0\x08\0"s + std::string(100, '\x01'), "a zip archive", "extract it"},
      {"tar", TarOf("events.jsonl"), "a tar archive", "extract it"},
      {"xz",
       "\xfd"
       "7zXZ\0\0\x04\xe6\xd6"s +
           std::string(100, '\x01'),
       "xz data", "decompress it"},
      {"bzip2", "BZh91AY&SY\x01\x02"s + std::string(100, '\x03'), "bzip2 data", "decompress it"},
      {"html", "\n<!DOCTYPE HTML>\n<html><body>404 Not Found</body></html>\n", "an HTML page", "curl --fail"},
      {"html_without_doctype", "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n", "an HTML page",
       "curl --fail"},
      {"http", "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n" + event + "\n",
       "an HTTP response with its headers", "curl"},
      {"xml", "<?xml version=\"1.0\"?>\n<users>\n<user><id>1</id></user>\n", "an XML file",
       "--format trickle-xml"},
      {"trickles", "<msg_from_host id=\"7\">\n", "an XML file", "--format trickle-xml"},
      {"array", "[" + event + ",\n" + event + "]\n", "a JSON array", "jq -c '.[]' FILE"},
      {"array_in_one_line", kByteOrderMark + "[ " + event + "," + event + "]", "a JSON array",
       "jq -c '.[]' FILE"},
      {"indented", "{\n  \"id\": \"1\",\n  \"tick\": {\n    \"time\": 7\n  }\n}\n",
       "one object over several lines", "jq -c . FILE"},
      {"indented_differently", "{ \"id\" : 1,\r\n\"project\" : 1,\r\n\"tick\" : {} }\r\n",
       "one object over several lines", "jq -c . FILE"},
      {"list_in_an_object", "{\"events\": [\n" + event + ",\n" + event + "]}\n",
       "one object over several lines", "jq -c . FILE"},
      {"mysql_warning",
       "mysql: [Warning] Using a password on the command line interface can be insecure.\n" + event + "\n",
       "output with a message of a database client", "2>&1"},
      {"csv", "id,project\n1,2\n3,4\n", "a table of rows and columns", "schemas/events.proto"},
      {"tsv", "1\t2\torig\n\n3\t4\torig\n", "a table of rows and columns", "msg_from_host"},
      {"mysqldump", "-- MySQL dump 10.19  Distrib 10.3.39-MariaDB\n--\n", "an SQL dump", "cobblestone adopt"},
      {"inserts", "INSERT INTO `user` VALUES (1,'Ada');\n", "an SQL dump", "cobblestone adopt"},
      {"image", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\0\0\0\x01\0"s + std::string(30000, '\xa5'),
       "binary data, but not length-delimited Envelopes", "check"},
  };
}

class ForeignFiles : public ::testing::TestWithParam<ForeignCase> {};

TEST_P(ForeignFiles, AreRefusedAsAWholeWithTheCauseAndTheRemedy) {
  const TempDir dir;
  WriteText(dir / "f.jsonl", GetParam().bytes);
  const Reading reading = ReadAll(dir / "f.jsonl");
  EXPECT_EQ(reading.end.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(reading.end.message().find("/f.jsonl: the file is "), std::string::npos) << reading.end.message();
  EXPECT_NE(reading.end.message().find(GetParam().what), std::string::npos) << reading.end.message();
  EXPECT_NE(reading.end.message().find(GetParam().remedy), std::string::npos) << reading.end.message();
  EXPECT_EQ(reading.items.size(), 0u)
      << "an indented file must not give a refused line for each of its lines";
}

INSTANTIATE_TEST_SUITE_P(All, ForeignFiles, ::testing::ValuesIn(ForeignCases()),
                         [](const auto& one) { return one.param.name; });

// Only the beginning shows what a file is. These files have bad lines, or look like a foreign file in their middle.
TEST(EventFile, ABadLineAtTheBeginningIsNotAForeignFile) {
  const TempDir dir;
  const std::string good = *wire::EnvelopeToJson(Tick(1));
  for (const std::string& bad :
       {std::string("some words, and a comma"), std::string("{\"id\": 2, \"proj"),
        std::string("{\"id\":\"1\","), std::string("{"), std::string("{\"id\": seven}")}) {
    WriteText(dir / "f", bad + "\n" + good + "\n" + good + "\n[\n<html>\n{\n  \"id\": 1\n}\n");
    const Reading reading = ReadAll(dir / "f");
    EXPECT_TRUE(reading.end.ok()) << reading.end.message();
    ASSERT_EQ(reading.items.size(), 8u) << bad;
    EXPECT_NE(reading.items[0].problem, "") << bad;
    EXPECT_EQ(reading.items[1].envelope, Tick(1)) << bad;
  }
}

// A writer that keeps a pipe open sends one event: Open() must not wait for the next one.
TEST(EventFile, TheFirstEventOfAPipeIsReadBeforeTheSecondIsWritten) {
  const TempDir dir;
  const std::string path = dir / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const std::string event = *wire::EnvelopeToJson(Name(1, 40)) + "\n";
  ASSERT_GT(event.size(), events::kForeignStartBytes);
  std::promise<void> read;
  std::thread writer([&] {
    std::ofstream out(path);
    out << event << std::flush;
    read.get_future().wait();
    out << event;
  });
  auto file = EventFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EventItem item;
  const auto first = (*file)->Next(&item);
  EXPECT_TRUE(first.ok() && *first && item.envelope == Name(1, 40));
  read.set_value();
  const auto second = (*file)->Next(&item);
  EXPECT_TRUE(second.ok() && *second);
  writer.join();
}

TEST(EventFile, AByteOrderMarkIsSkippedAndIsNotPartOfTheFirstLine) {
  const TempDir dir;
  const std::string good = *wire::EnvelopeToJson(Tick(1));
  WriteText(dir / "f", kByteOrderMark + good + "\n");
  Reading reading = ReadAll(dir / "f");
  ASSERT_EQ(reading.items.size(), 1u);
  EXPECT_EQ(reading.items[0].problem, "");
  EXPECT_EQ(reading.items[0].raw, good) << "the hash of the source is that of the same file without the mark";
  WriteText(dir / "f", kByteOrderMark);
  reading = ReadAll(dir / "f");
  EXPECT_TRUE(reading.end.ok()) << reading.end.message();
  EXPECT_EQ(reading.items.size(), 0u);
}

TEST(EventFile, TheFormatFollowsFromTheContentsAndNotFromTheName) {
  const TempDir dir;
  auto writer = EventWriter::Open(dir / "f.pb");
  ASSERT_TRUE((*writer)->Write(Tick(1)).ok());
  ASSERT_TRUE((*writer)->Close().ok());
  WriteText(dir / "delimited.jsonl", ReadText(dir / "f.pb"));
  WriteText(dir / "lines.pb", *wire::EnvelopeToJson(Tick(1)) + "\n");
  const Reading delimited = ReadAll(dir / "delimited.jsonl");
  EXPECT_EQ(delimited.format, EventFormat::kDelimited);
  const Reading lines = ReadAll(dir / "lines.pb");
  EXPECT_EQ(lines.format, EventFormat::kJsonLines);
  ASSERT_EQ(delimited.items.size() + lines.items.size(), 2u);
  EXPECT_EQ(delimited.items[0].envelope, Tick(1));
  EXPECT_EQ(lines.items[0].envelope, Tick(1));
}

// The first line is read although detection looks at the second, where the compressed data ends.
TEST(EventFile, ATruncatedFileGivesItsFirstLineEvenIfOnlyTheSecondShowsTheFormat) {
  const TempDir dir;
  auto writer = EventWriter::Open(dir / "f.jsonl.gz");
  ASSERT_TRUE((*writer)
                  ->Write(std::string("words, in a line that is longer than the start of a file") +
                          std::string(64, '.'))
                  .ok());
  ASSERT_TRUE((*writer)->Close().ok());
  const std::string whole = ReadText(dir / "f.jsonl.gz");
  WriteText(dir / "f.jsonl.gz", whole.substr(0, whole.size() - 4));
  const Reading reading = ReadAll(dir / "f.jsonl.gz");
  EXPECT_EQ(reading.items.size(), 1u);
  EXPECT_EQ(reading.end.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(reading.end.message().find("the gzip data is truncated"), std::string::npos)
      << reading.end.message();
}

// Zero bytes of a damaged disk, after events or instead of events.
TEST(EventFile, ZerosEndTheFileWithAnErrorThatNamesTheirPlace) {
  const TempDir dir;
  WriteText(dir / "zeros", std::string(1u << 20, '\0'));
  Reading reading = ReadAll(dir / "zeros");
  EXPECT_EQ(reading.end.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(reading.end.message().find("record 0"), std::string::npos) << reading.end.message();
  EXPECT_EQ(reading.items.size(), 0u);
  auto writer = EventWriter::Open(dir / "tail.pb");
  ASSERT_TRUE((*writer)->Write(Tick(1)).ok());
  ASSERT_TRUE((*writer)->Close().ok());
  WriteText(dir / "tail.pb", ReadText(dir / "tail.pb") + std::string(4096, '\0'));
  reading = ReadAll(dir / "tail.pb");
  EXPECT_EQ(reading.end.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(reading.items.size(), 1u);
}

TEST(EventFile, ManyBlankLinesAreCountedAndTheNextLineIsRead) {
  const TempDir dir;
  WriteText(dir / "f", std::string(3u << 20, '\n') + *wire::EnvelopeToJson(Tick(1)) + "\n");
  const Reading reading = ReadAll(dir / "f");
  ASSERT_EQ(reading.items.size(), 1u);
  EXPECT_EQ(reading.items[0].line, 3u << 20);
  EXPECT_EQ(reading.items[0].envelope, Tick(1));
}

TEST(EventFile, ExtraOrDamagedGzipDataIsAnError) {
  const TempDir dir;
  auto writer = EventWriter::Open(dir / "f.jsonl.gz");
  ASSERT_TRUE((*writer)->Write(Tick(1)).ok());
  ASSERT_TRUE((*writer)->Close().ok());
  std::string bytes = ReadText(dir / "f.jsonl.gz");
  WriteText(dir / "f", bytes + "more");
  EXPECT_EQ(ReadAll(dir / "f").end.code(), StatusCode::kInvalidArgument);
  bytes[bytes.size() / 2] ^= 0x40;
  WriteText(dir / "f", bytes);
  EXPECT_EQ(ReadAll(dir / "f").end.code(), StatusCode::kInvalidArgument);
}

// ---- The golden format ---------------------------------------------------------------------------------

constexpr const char* kCatalogue =
    R"({"ev":"catalogue","config":{"daily_result_quota":100,"max_granted_credit":0},"platforms":[],)"
    R"("apps":[{"id":1,"name":"a","target_nresults":1,"min_avg_pfc":1,"host_scale_check":0}],)"
    R"("app_versions":[{"id":11,"appid":1,"version_num":100,"platformid":1,"plan_class":""}],"teams":[],)"
    R"("users":[{"id":1,"teamid":0}],"hosts":[{"id":1,"userid":1,"p_fpops":1e9}],"havs":[]})";
constexpr const char* kWorkunit =
    R"({"ev":"wu","now":1000,"wu":{"id":5,"appid":1,"rsc_fpops_est":1e12,)"
    R"("rsc_fpops_bound":1e14,"target_nresults":1},)"
    R"("results":[{"id":9,"hostid":%HOST%,"userid":%HOST%,"teamid":0,"app_version_id":11,"elapsed_time":100,)"
    R"("cpu_time":90,"flops_estimate":2e9,"sent_time":10,"received_time":900,"validate_state":1,)"
    R"("outcome":%OUTCOME%,)"
    R"("runtime_outlier":0}]})";

std::string Workunit(const std::string& host, const std::string& outcome) {
  std::string line = kWorkunit;
  for (const auto& [name, value] :
       {std::pair{std::string("%HOST%"), host}, std::pair{std::string("%OUTCOME%"), outcome}}) {
    for (std::size_t at = 0; (at = line.find(name)) != std::string::npos;)
      line.replace(at, name.size(), value);
  }
  return line;
}

TEST(EventFile, AGoldenFileIsDetectedAndALineGivesSeveralEvents) {
  const TempDir dir;
  WriteText(dir / "f", std::string("\n") + kCatalogue + "\n" + Workunit("1", "1") +
                           "\n{\"ev\":\"tick\",\"now\":2000}\n{\"ev\":\"end\",\"now\":2000}\n");
  const Reading reading = ReadAll(dir / "f");
  EXPECT_TRUE(reading.end.ok()) << reading.end.message();
  EXPECT_EQ(reading.format, EventFormat::kGolden);
  std::vector<std::pair<std::uint64_t, wire::EventKind>> kinds;
  for (const Read& item : reading.items) {
    EXPECT_EQ(item.problem, "");
    if (!item.envelope.empty()) kinds.emplace_back(item.line, *wire::PeekKind(item.envelope));
  }
  using Kind = wire::EventKind;
  EXPECT_EQ(kinds, (std::vector<std::pair<std::uint64_t, Kind>>{{1, Kind::kSettings},
                                                                {1, Kind::kApp},
                                                                {1, Kind::kAppVersion},
                                                                {1, Kind::kUser},
                                                                {1, Kind::kHost},
                                                                {2, Kind::kCompletion},
                                                                {2, Kind::kValidation},
                                                                {3, Kind::kTick}}));
  EXPECT_EQ(wire::PeekRouting(reading.items[0].envelope)->project, ProjectId(7));
  EXPECT_EQ(reading.items[5].raw, Workunit("1", "1"));
  EXPECT_EQ(reading.items[6].raw, Workunit("1", "1"));
  EXPECT_TRUE(reading.items[7].barrier);
  // The end is a barrier without an event.
  EXPECT_EQ(reading.items.back().envelope, "");
  EXPECT_TRUE(reading.items.back().barrier);
}

TEST(EventFile, AHostFirstNamedInABadGoldenLineIsStillAnnounced) {
  const TempDir dir;
  // Host 2 is not in the catalogue. The first line with host 2 has no valid outcome; the next line with host 2 is
  // good.
  WriteText(dir / "f", std::string(kCatalogue) + "\n" + Workunit("2", "\"?\"") + "\n" +
                           "{\"ev\":\"wu\",\"now\":1000,\"wu\":{\"id\":5}\n" + Workunit("2", "1") +
                           "\n{\"ev\":\"end\",\"now\":2000}\n");
  const Reading reading = ReadAll(dir / "f");
  EXPECT_TRUE(reading.end.ok()) << reading.end.message();
  std::vector<std::uint64_t> bad;
  bool host_announced = false;
  std::size_t results = 0;
  for (const Read& item : reading.items) {
    if (!item.problem.empty()) {
      bad.push_back(item.line);
      continue;
    }
    if (item.envelope.empty()) continue;
    const auto routing = *wire::PeekRouting(item.envelope);
    if (routing.kind == wire::EventKind::kHost && routing.id == 2) host_announced = true;
    if (routing.kind == wire::EventKind::kCompletion || routing.kind == wire::EventKind::kValidation) {
      EXPECT_EQ(item.line, 3u);
      ++results;
    }
  }
  EXPECT_EQ(bad, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_TRUE(host_announced);
  EXPECT_EQ(results, 2u);
}

TEST(EventFile, AGoldenFileWithoutEndIsIncomplete) {
  const TempDir dir;
  WriteText(dir / "f", std::string(kCatalogue) + "\n" + Workunit("1", "1") + "\n");
  const Reading reading = ReadAll(dir / "f");
  EXPECT_EQ(reading.end.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(reading.items.size(), 7u);
}

}  // namespace
}  // namespace cobblestone
