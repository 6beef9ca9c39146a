// Snapshots: two writers give the same bytes, every kind of damage is named, and a chain outlives its operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>

#include "services/hub/snapshot/canonical_text.h"
#include "services/hub/snapshot/compare.h"
#include "services/hub/snapshot/record_proof.h"
#include "services/hub/snapshot/snapshot_files.h"
#include "services/hub/snapshot/verify.h"
#include "services/hub/snapshot/writer.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::hub {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::StartsWith;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// An Ed25519 key from 32 equal bytes, in a private file.
SigningKey KeyOf(const testing::TempDir& dir, char byte) {
  const std::string seed(32, byte);
  EVP_PKEY* key = ::EVP_PKEY_new_raw_private_key(
      EVP_PKEY_ED25519, nullptr, reinterpret_cast<const unsigned char*>(seed.data()), seed.size());
  const std::string path = dir / (std::string("key-") + byte);
  FILE* file = ::fopen(path.c_str(), "w");
  ::PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
  ::fclose(file);
  ::EVP_PKEY_free(key);
  ::chmod(path.c_str(), 0600);
  auto read = SigningKey::Read("--key", path);
  EXPECT_TRUE(read.ok()) << read.status().message();
  return std::move(*read);
}

Manifest Head(const std::string& date = "2026-11-27") {
  return {.hub = "https://hub.example/",
          .sequence = 1,
          .date = date,
          .consent = "Users who agreed to the export."};
}

struct Story {
  std::string date = "2026-11-27";
  std::optional<Previous> previous;
  std::optional<Continuation> continues;
  Micro total_of_17 = 5'000'000;
};

// Two projects: one with three users, one host and no team; one that is unknown.
Previous Write(const std::string& directory, const SigningKey& key, const Story& story = {}) {
  Manifest head = Head(story.date);
  head.previous = story.previous;
  head.continues = story.continues;
  if (story.previous) head.sequence = story.previous->sequence + 1;
  auto writer = SnapshotWriter::Begin(directory, head);
  EXPECT_TRUE(writer.ok()) << writer.status().message();
  const auto ok = [](const Status& s) { EXPECT_TRUE(s.ok()) << s.message(); };
  ok(writer->AddProject({.key = "alpha",
                         .url = "https://alpha.example/",
                         .name = "Alpha",
                         .since = story.date,
                         .not_shown = {.users = 2, .total = 7'000'000}}));
  ok(writer->AddPart(PartKind::kUsers));
  ok(writer->Add(UserRecord{.id = 3, .name = "A", .total = 1'000'000}));
  ok(writer->Add(UserRecord{.id = 17, .name = "B", .total = story.total_of_17}));
  ok(writer->Add(UserRecord{.id = 18, .name = "C", .total = 0}));
  ok(writer->AddPart(PartKind::kHosts));
  ok(writer->Add(HostRecord{.id = 9, .user = 17, .total = 4'000'000}));
  ok(writer->AddPart(PartKind::kTeams));
  ok(writer->AddProject({.key = "beta",
                         .url = "https://beta.example/",
                         .name = "Beta",
                         .state = ProjectState::kUnknown,
                         .since = "2026-11-20",
                         .why = "the server does not answer"}));
  const auto published = writer->Publish(key);
  EXPECT_TRUE(published.ok()) << published.status().message();
  return *published;
}

std::map<std::string, std::string> FilesOf(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(directory))
    files[entry.path().filename()] = ReadFile(entry.path());
  return files;
}

std::vector<std::string> ProblemsOf(const std::string& directory, const VerifyOptions& options = {}) {
  const auto verdict = VerifySnapshot(directory, options);
  if (!verdict.ok()) return {verdict.status().message()};
  return verdict->problems;
}

TEST(Snapshot, OfTwoWritersHasTheSameBytes) {
  const testing::TempDir dir;
  const SigningKey key = KeyOf(dir, 'k');
  Write(dir / "one", key);
  Write(dir / "two/", key);
  const auto files = FilesOf(dir / "one");
  EXPECT_EQ(files, FilesOf(dir / "two"));
  EXPECT_THAT(files, ElementsAre(Key("alpha.hosts.jsonl"), Key("alpha.teams.jsonl"), Key("alpha.users.jsonl"),
                                 Key("manifest.json"), Key("manifest.sig")));
  // The bytes are the same on every machine and in every version.
  EXPECT_EQ(ToHex(Sha256Of(files.at("manifest.json"))),
            "d9b96115330fb9c7202e32987ff16816e407fd3c92954672a7883f9b2a6745a0");
  EXPECT_THAT(ProblemsOf(dir / "one"), IsEmpty());
  EXPECT_FALSE(fs::exists(dir / "one.partial"));
}

TEST(Snapshot, IsWrittenWholeOrNotAtAll) {
  const testing::TempDir dir;
  const SigningKey key = KeyOf(dir, 'k');
  fs::create_directory(dir / "day.partial");
  WriteFile(dir / "day.partial/left-by-a-crash", "x");
  {
    auto writer = SnapshotWriter::Begin(dir / "day", Head());
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->AddProject({.key = "alpha", .since = "2026-11-27"}).ok());
    ASSERT_TRUE(writer->AddPart(PartKind::kUsers).ok());
    ASSERT_TRUE(writer->Add(UserRecord{.id = 5}).ok());
    EXPECT_THAT(writer->Add(UserRecord{.id = 5}).message(), HasSubstr("record 5 comes after 5"));
    EXPECT_FALSE(writer->Publish(key).ok()) << "after an error nothing is published";
  }
  EXPECT_FALSE(fs::exists(dir / "day"));
  EXPECT_FALSE(fs::exists(dir / "day.partial"));
  Write(dir / "day", key);
  EXPECT_THAT(SnapshotWriter::Begin(dir / "day", Head()).status().message(), HasSubstr("never changes"));
  EXPECT_THAT(SnapshotWriter::Begin(dir / "no/day", Head()).status().message(),
              HasSubstr("parent directory"));
}

TEST(Snapshot, RefusesWhatHasNoOneForm) {
  const testing::TempDir dir;
  const auto problem = [&](const std::function<Status(SnapshotWriter&)>& write) {
    auto writer = SnapshotWriter::Begin(dir / "day", Head());
    EXPECT_TRUE(writer.ok());
    return write(*writer).message();
  };
  EXPECT_THAT(problem([](SnapshotWriter& w) { return w.AddProject({.key = "../x", .since = "2026-11-27"}); }),
              HasSubstr("needs a key"));
  EXPECT_THAT(problem([](SnapshotWriter& w) { return w.AddProject({.key = "a", .since = "2026-11-26"}); }),
              HasSubstr("a fresh project has records of another day"));
  EXPECT_THAT(problem([](SnapshotWriter& w) {
                EXPECT_TRUE(w.AddProject({.key = "b", .since = "2026-11-27"}).ok());
                return w.AddProject({.key = "a", .since = "2026-11-27"});
              }),
              HasSubstr("projects are written by key"));
  EXPECT_THAT(problem([](SnapshotWriter& w) { return w.AddPart(PartKind::kUsers); }),
              HasSubstr("by project and kind"));
  EXPECT_THAT(problem([](SnapshotWriter& w) {
                EXPECT_TRUE(w.AddProject({.key = "a", .since = "2026-11-27"}).ok());
                EXPECT_TRUE(w.AddPart(PartKind::kTeams).ok());
                return w.AddPart(PartKind::kUsers);
              }),
              HasSubstr("by project and kind"));
  EXPECT_THAT(problem([](SnapshotWriter& w) { return w.Add(UserRecord{.id = 1}); }),
              HasSubstr("outside its part"));
}

TEST(Snapshot, NamesEveryKindOfDamage) {
  const testing::TempDir dir;
  const SigningKey key = KeyOf(dir, 'k');
  Write(dir / "good", key);
  const std::string users = "alpha.users.jsonl";
  struct Damage {
    std::function<void(const std::string& at)> what;
    std::string problem;
  };
  const auto change = [](const std::string& file, const std::function<std::string(std::string)>& edit) {
    return [=](const std::string& at) { WriteFile(at + "/" + file, edit(ReadFile(at + "/" + file))); };
  };
  const std::vector<Damage> damages = {
      {change(users, [](std::string s) { return s.replace(s.find("\"A\""), 3, "\"Z\""); }),
       users + ": its SHA-256 is"},
      {change(users, [](std::string s) { return s.replace(s.find("1000000"), 7, "2000000"); }),
       users + ": the totals add up to 7000000, but the manifest has 6000000"},
      {change(users,
              [](std::string s) { return s.substr(s.find('\n') + 1) + s.substr(0, s.find('\n') + 1); }),
       users + ": line 3: record 3 comes after 18"},
      {change(users, [](std::string s) { return s.substr(0, s.size() - 5); }),
       users + ": line 3 has no line break"},
      {change(users, [](std::string s) { return s.substr(s.find('\n') + 1); }),
       users + ": records: 2, but the manifest has 3"},
      {change(users, [](std::string s) { return s + s; }), users + ": line 4: record 3 comes after 18"},
      {change(users, [](std::string s) { return s.insert(1, " "); }),
       users + ": line 1: not the canonical form of a record"},
      {change(users, [](std::string s) { return s + std::string(70'000, 'x'); }),
       users + ": line 4 is longer than 65,536 bytes"},
      {[&](const std::string& at) { fs::remove(at + "/" + users); }, users + ": missing"},
      {[](const std::string& at) { WriteFile(at + "/notes.txt", "x"); },
       "notes.txt: is not part of the snapshot"},
      {[](const std::string& at) { fs::create_directory(at + "/more"); },
       "more: is not part of the snapshot"},
      {[&](const std::string& at) {
         fs::rename(at + "/" + users, dir / "elsewhere");
         fs::create_symlink(dir / "elsewhere", at + "/" + users);
       },
       users + ": is a symbolic link"},
      {[&](const std::string& at) {
         fs::remove(at + "/" + users);
         ::mkfifo((at + "/" + users).c_str(), 0600);
       },
       users + ": is not a regular file"},
      {change("manifest.sig", [](std::string s) { return s[7] = static_cast<char>(s[7] ^ 1), s; }),
       "manifest.sig: missing, or no signature"},
      {[](const std::string& at) { fs::remove(at + "/manifest.sig"); },
       "manifest.sig: missing, or no signature"},
      {change("manifest.json", [](std::string s) { return s.replace(s.find("hub.example"), 3, "bad"); }),
       "manifest.sig: missing, or no signature"},
      {change("manifest.json", [](std::string s) { return s.replace(s.find("Alpha"), 5, "Gamma"); }),
       "manifest.json: the manifest is malformed: it is not canonical, or its content hash is wrong"},
      {change("manifest.json", [](std::string s) { return s + " "; }),
       "manifest.json: the manifest is malformed"},
      {change("manifest.json", [](std::string s) { return s.substr(1); }), "it is not JSON"},
      {change("manifest.json",
              [](std::string s) { return s.replace(s.find("\"version\":1"), 11, "\"version\":2"); }),
       "its version is 2; this program reads version 1"},
      {change("manifest.json",
              [](std::string s) {
                const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
                return s.replace(s.find("\"version\":1"), 11, "\"version\":" + deep);
              }),
       "its version is no number"},
      {[](const std::string& at) { fs::remove(at + "/manifest.json"); }, "manifest.json: missing"},
  };
  for (const Damage& damage : damages) {
    fs::copy(dir / "good", dir / "bad");
    damage.what(dir / "bad");
    EXPECT_THAT(ProblemsOf(dir / "bad"), Contains(HasSubstr(damage.problem)));
    fs::remove_all(dir / "bad");
  }
  EXPECT_THAT(ProblemsOf(dir / "good"), IsEmpty());
}

TEST(Snapshot, WithAnyFlippedBitIsNotIntact) {
  const testing::TempDir dir;
  Write(dir / "day", KeyOf(dir, 'k'));
  for (const auto& [name, bytes] : FilesOf(dir / "day")) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      std::string flipped = bytes;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
      WriteFile(dir / "day/" + name, flipped);
      EXPECT_FALSE(ProblemsOf(dir / "day").empty()) << name << ", byte " << i;
    }
    WriteFile(dir / "day/" + name, bytes);
  }
}

TEST(Snapshot, ContinuesTheChainOfTheDayBefore) {
  const testing::TempDir dir;
  const SigningKey key = KeyOf(dir, 'k');
  const Previous first = Write(dir / "1", key);
  const Previous second = Write(dir / "2", key, {.date = "2026-11-28", .previous = first});
  Write(dir / "3", key, {.date = "2026-11-29", .previous = second});
  Write(dir / "other", key, {.total_of_17 = 6'000'000});
  EXPECT_THAT(ProblemsOf(dir / "2", {.previous = dir / "1"}), IsEmpty());
  EXPECT_THAT(ProblemsOf(dir / "3", {.previous = dir / "2"}), IsEmpty());
  EXPECT_THAT(ProblemsOf(dir / "2", {.previous = dir / "other"}),
              ElementsAre(HasSubstr("follows another manifest than the one of the other snapshot")));
  EXPECT_THAT(ProblemsOf(dir / "3", {.previous = dir / "1"}),
              ElementsAre(HasSubstr("follows sequence 2, but the other snapshot has 1"),
                          HasSubstr("another manifest")));
  EXPECT_THAT(ProblemsOf(dir / "1", {.previous = dir / "2"}), ElementsAre(HasSubstr("begins a chain")));
  EXPECT_THAT(ProblemsOf(dir / "1", {.key = KeyOf(dir, 'x').PublicKey()}),
              ElementsAre(HasSubstr("is signed by key " + ToHex(key.PublicKey()))));
}

TEST(Snapshot, ContinuesAfterTheDeathOfItsOperator) {
  const testing::TempDir dir;
  const SigningKey old_key = KeyOf(dir, 'o');
  const SigningKey new_key = KeyOf(dir, 'n');
  const Previous last = Write(dir / "last", old_key);
  const Story next{
      .date = "2026-12-24",
      .previous = last,
      .continues = Continuation{.key = old_key.PublicKey(), .statement = "hub.example has closed"}};
  const Previous first = Write(dir / "next", new_key, next);
  EXPECT_THAT(ProblemsOf(dir / "next", {.previous = dir / "last"}), IsEmpty());
  Write(dir / "after", new_key, {.date = "2026-12-25", .previous = first});
  EXPECT_THAT(ProblemsOf(dir / "after", {.previous = dir / "next"}), IsEmpty());

  Write(dir / "silent", new_key, {.date = "2026-12-24", .previous = last});
  EXPECT_THAT(ProblemsOf(dir / "silent", {.previous = dir / "last"}),
              ElementsAre(HasSubstr("does not say which chain it continues")));
  Story wrong = next;
  wrong.continues->key = KeyOf(dir, 'x').PublicKey();
  Write(dir / "wrong", new_key, wrong);
  EXPECT_THAT(ProblemsOf(dir / "wrong", {.previous = dir / "last"}),
              ElementsAre(HasSubstr("of another key")));
  Story earlier = next;
  earlier.date = "2026-11-26";
  Write(dir / "earlier", new_key, earlier);
  EXPECT_THAT(ProblemsOf(dir / "earlier", {.previous = dir / "last"}),
              ElementsAre(HasSubstr("is of 2026-11-26, before the other snapshot of 2026-11-27")));
}

TEST(Snapshot, OfSeveralHubsIsComparedByPart) {
  const testing::TempDir dir;
  Write(dir / "a", KeyOf(dir, 'a'));
  Write(dir / "b", KeyOf(dir, 'b'));
  const auto equal = CompareSnapshots({dir / "a", dir / "b"});
  ASSERT_TRUE(equal.ok()) << equal.status().message();
  EXPECT_TRUE(equal->agreed()) << "hubs with the same inputs differ in key and signature only";
  EXPECT_EQ(equal->agreement(), 2u);
  EXPECT_EQ(ReadManifestOf(*SnapshotFiles::Open(dir / "a"))->manifest.projects.size(), 2u);
  EXPECT_EQ(ContentOf(ReadManifestOf(*SnapshotFiles::Open(dir / "a"))->manifest),
            ContentOf(ReadManifestOf(*SnapshotFiles::Open(dir / "b"))->manifest));

  Write(dir / "c", KeyOf(dir, 'c'), {.total_of_17 = 6'000'000});
  const auto differs = CompareSnapshots({dir / "a", dir / "c", dir / "b"});
  ASSERT_TRUE(differs.ok());
  EXPECT_FALSE(differs->agreed());
  EXPECT_EQ(differs->agreement(), 2u);
  int different = 0;
  for (const ComparedItem& item : differs->items) {
    if (item.agreed()) continue;
    ++different;
    EXPECT_EQ(item.what, "alpha users");
    EXPECT_THAT(item.camps.at(0).snapshots, ElementsAre(0u, 2u));
    EXPECT_THAT(item.camps.at(1).snapshots, ElementsAre(1u));
    EXPECT_THAT(item.camps.at(1).value, HasSubstr("3 records, 7000000 micro-credits"));
  }
  EXPECT_EQ(different, 1) << "the hubs agree about everything else";
  EXPECT_FALSE(CompareSnapshots({dir / "a"}).ok());
  fs::remove(dir / "b/manifest.sig");
  EXPECT_THAT(CompareSnapshots({dir / "a", dir / "b"}).status().message(),
              HasSubstr("the signature of the manifest"));
}

TEST(Snapshot, ProvesOneRecordToWhoeverHasTheManifest) {
  const testing::TempDir dir;
  Write(dir / "day", KeyOf(dir, 'k'));
  const Manifest manifest = ReadManifestOf(*SnapshotFiles::Open(dir / "day"))->manifest;
  for (const std::uint64_t id : {3, 17, 18}) {
    const auto proof = ProveRecord(dir / "day", "alpha", PartKind::kUsers, id);
    ASSERT_TRUE(proof.ok()) << proof.status().message();
    const auto received = ParseRecordProof(RenderRecordProof(*proof));
    ASSERT_TRUE(received.ok());
    EXPECT_TRUE(CheckRecordProof(*received, manifest).ok());
    RecordProof forged = *received;
    forged.line.replace(forged.line.find("total_micro\":\""), 14, "total_micro\":\"9");
    EXPECT_THAT(CheckRecordProof(forged, manifest).message(), HasSubstr("not in this snapshot"));
    forged = *received;
    forged.project = "beta";
    EXPECT_THAT(CheckRecordProof(forged, manifest).message(), HasSubstr("another snapshot"));
  }
  EXPECT_EQ(ProveRecord(dir / "day", "alpha", PartKind::kUsers, 4).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ProveRecord(dir / "day", "beta", PartKind::kUsers, 3).status().code(), StatusCode::kNotFound);
  for (const char* text :
       {"", "{}", "[]", R"({"project":"a","kind":"users","index":0,"records":1,"line":"","path":["00"]})"})
    EXPECT_FALSE(ParseRecordProof(text).ok()) << text;
}

TEST(SigningKey, IsReadFromAPrivateFileOnly) {
  const testing::TempDir dir;
  KeyOf(dir, 'k');
  ::chmod((dir / "key-k").c_str(), 0644);
  EXPECT_THAT(SigningKey::Read("hub.key", dir / "key-k").status().message(), StartsWith("hub.key: "));
  WriteFile(dir / "text", "no key");
  ::chmod((dir / "text").c_str(), 0600);
  EXPECT_THAT(SigningKey::Read("hub.key", dir / "text").status().message(),
              HasSubstr("holds no Ed25519 key"));
}

}  // namespace
}  // namespace cobblestone::hub
