// Fetching from projects whose servers, proxies and contents are as bad as real ones have been.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "common/http/server.h"
#include "services/hub/feeds/acceptance.h"
#include "services/hub/feeds/export_fetch.h"
#include "services/hub/feeds/fetch_schedule.h"
#include "tests/support/gzip.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/hub_raw_server.h"

namespace cobblestone::hub {
namespace {

using testing::Gzip;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string FileBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

std::string UserFile(const std::string& credit = "5.000000") {
  return "<users>\n<user>\n <id>1</id>\n <total_credit>" + credit + "</total_credit>\n</user>\n</users>\n";
}
std::string TablesText(int update_time) {
  return "<tables>\n    <update_time>" + std::to_string(update_time) +
         "</update_time>\n    <nusers_total>1</nusers_total>\n</tables>\n";
}

// A fetch of one URL into a file of a temporary directory, from a local server.
class FetcherTest : public ::testing::Test {
 protected:
  FetcherTest() {
    auto made = Fetcher::Create({.private_addresses = true});
    EXPECT_TRUE(made.ok());
    fetcher_ = std::move(*made);
  }
  FetchResult Fetch(const std::string& path) { return FetchUrl(server_.Url(path)); }
  FetchResult FetchUrl(const std::string& url) {
    FetchResult result = fetcher_->Fetch({.url = url, .path = file_}, limits_);
    EXPECT_EQ(::access(file_.c_str(), F_OK) == 0, result.outcome == FetchOutcome::kFetched) << url;
    return result;
  }
  static std::string Name(const FetchResult& result) { return std::string(FetchFailureName(result.failure)); }

  RawServer server_;
  testing::TempDir directory_;
  std::string file_ = directory_ / "user.gz";
  std::unique_ptr<Fetcher> fetcher_;
  FetchLimits limits_;
};

TEST_F(FetcherTest, StoresTheBodyAsItWasSentWithItsValidators) {
  const std::string body = Gzip(UserFile());
  server_.SetBody("/user.gz", body, "ETag: \"abc\"\r\nlast-modified: Tue, 24 Nov 2026 00:00:00 GMT\r\n");
  const FetchResult result = Fetch("/user.gz");
  EXPECT_EQ(result.outcome, FetchOutcome::kFetched);
  EXPECT_EQ(result.status, 200);
  EXPECT_EQ(result.etag, "\"abc\"");
  EXPECT_EQ(result.last_modified, "Tue, 24 Nov 2026 00:00:00 GMT");
  EXPECT_EQ(result.bytes, body.size());
  EXPECT_EQ(FileBytes(file_), body);
  struct stat about {};
  ASSERT_EQ(::stat(file_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
}

TEST_F(FetcherTest, AsksWithBothValidatorsAndUnderstandsNotModified) {
  server_.SetBytes("/user.gz", "HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n");
  const FetchResult result = fetcher_->Fetch({.url = server_.Url("/user.gz"),
                                              .path = file_,
                                              .etag = "\"abc\"",
                                              .last_modified = "Tue, 24 Nov 2026 00:00:00 GMT"},
                                             limits_);
  EXPECT_EQ(result.outcome, FetchOutcome::kNotModified);
  EXPECT_THAT(server_.last_head(), HasSubstr("If-None-Match: \"abc\"\r\n"));
  EXPECT_THAT(server_.last_head(), HasSubstr("If-Modified-Since: Tue, 24 Nov 2026 00:00:00 GMT\r\n"));
}

TEST_F(FetcherTest, NoticesBodiesThatEndTooEarly) {
  const std::string body = Gzip(UserFile());
  const std::string whole = RawServer::Ok(body);
  server_.SetBytes("/short", whole.substr(0, whole.size() - 5));
  EXPECT_EQ(Name(Fetch("/short")), "incomplete");
  server_.SetBytes(
      "/chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\n<user\r\n");
  EXPECT_EQ(Name(Fetch("/chunks")), "incomplete");
  server_.SetBytes("/no-chunks",
                   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n<users>");
  EXPECT_EQ(Name(Fetch("/no-chunks")), "incomplete");
  server_.SetBytes("/silent", "");
  EXPECT_EQ(Name(Fetch("/silent")), "incomplete");
}

// With a Content-Length that is too small the client cannot know better; the reader refuses what it has.
TEST_F(FetcherTest, LeavesACutBodyOfTheAnnouncedLengthToTheReader) {
  const std::string body = Gzip(UserFile());
  server_.SetBytes("/user.gz", "HTTP/1.1 200 OK\r\nContent-Length: 40\r\nConnection: close\r\n\r\n" + body);
  ASSERT_EQ(Fetch("/user.gz").outcome, FetchOutcome::kFetched);
  const auto reader = StatisticsReader::OpenFile(RecordKind::kUser, file_, "user.gz");
  StatisticsRecord record;
  while ((*reader)->Next(&record)) {
  }
  ASSERT_FALSE((*reader)->accepted());
  EXPECT_EQ((*reader)->refusals()[0].problem, FileProblem::kTruncated);
}

TEST_F(FetcherTest, RefusesPagesAndOtherContentsWithStatus200) {
  server_.SetBody("/page", "<!DOCTYPE html><html><body>Down for maintenance</body></html>");
  EXPECT_EQ(Name(Fetch("/page")), "page");
  server_.SetBody("/login", "<html><form><input name=p type=\"password\"></form></html>");
  EXPECT_EQ(Name(Fetch("/login")), "password_page");
  server_.SetBody("/zipped-page", Gzip("<html>no</html>"));
  EXPECT_EQ(Name(Fetch("/zipped-page")), "page");
  server_.SetBody("/not-gzip.gz", "\x01\x02\x03 these are not the bytes of a gzip file");
  EXPECT_EQ(Name(Fetch("/not-gzip.gz")), "foreign");
  server_.SetBody("/zip", "PK\x03\x04 an archive");
  EXPECT_EQ(Name(Fetch("/zip")), "foreign");
  server_.SetBody("/plain.gz", UserFile());
  EXPECT_EQ(Name(Fetch("/plain.gz")), "none");
}

TEST_F(FetcherTest, NamesTheStatusesApart) {
  const auto status = [&](const std::string& line, const std::string& headers = "") {
    server_.SetBytes("/user.gz", "HTTP/1.1 " + line + "\r\nContent-Length: 6\r\nConnection: close\r\n" +
                                     headers + "\r\n<html>");
    return Fetch("/user.gz");
  };
  EXPECT_EQ(Name(status("401 Unauthorized")), "refused");
  EXPECT_EQ(Name(status("403 Forbidden")), "refused");
  EXPECT_EQ(Name(status("404 Not Found")), "missing");
  EXPECT_EQ(Name(status("410 Gone")), "missing");
  EXPECT_EQ(Name(status("500 Internal Server Error")), "server_error");
  const FetchResult busy = status("429 Too Many Requests", "Retry-After: 120\r\n");
  EXPECT_EQ(Name(busy), "server_error");
  EXPECT_EQ(busy.retry_after, "120");
  EXPECT_THAT(busy.text, HasSubstr("/user.gz: the server answered 429"));
}

TEST_F(FetcherTest, FollowsAMovedProjectAndSaysWhere) {
  server_.SetBody("/new/user.gz", Gzip(UserFile()));
  server_.SetBytes("/user.gz",
                   "HTTP/1.1 301 Moved Permanently\r\nETag: \"old\"\r\nLocation: /new/user.gz?key=1\r\n"
                   "Content-Length: 0\r\nConnection: close\r\n\r\n");
  const FetchResult result = Fetch("/user.gz");
  EXPECT_EQ(result.outcome, FetchOutcome::kFetched);
  EXPECT_EQ(result.moved_to, server_.Url("/new/user.gz"));
  // The ETag of the answer that redirects is not one of the file.
  EXPECT_EQ(result.etag, "");
}

TEST_F(FetcherTest, EndsALoopOfRedirects) {
  server_.SetBytes(
      "/user.gz",
      "HTTP/1.1 302 Found\r\nLocation: /user.gz\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(Name(Fetch("/user.gz")), "redirects");
  // The first request and five redirects.
  EXPECT_EQ(server_.requests().size(), 6u);
}

TEST_F(FetcherTest, FollowsNoRedirectToAFileOrAnotherProtocol) {
  for (const std::string target :
       {"file:///etc/passwd", "ftp://127.0.0.1/user.gz", "gopher://127.0.0.1/", "dict://127.0.0.1/"}) {
    server_.SetBytes("/user.gz", "HTTP/1.1 302 Found\r\nLocation: " + target +
                                     "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(Name(Fetch("/user.gz")), "forbidden_url") << target;
    EXPECT_EQ(Name(FetchUrl(target)), "forbidden_url") << target;
  }
}

TEST_F(FetcherTest, ConnectsToNoPrivateAddressUnlessItIsAllowed) {
  server_.SetBody("/user.gz", Gzip(UserFile()));
  const auto guarded = Fetcher::Create({});
  const FetchResult result = (*guarded)->Fetch({.url = server_.Url("/user.gz"), .path = file_}, limits_);
  EXPECT_EQ(Name(result), "forbidden_url");
  EXPECT_THAT(result.text, HasSubstr("its address is in a private network"));
  for (const char* host : {"localhost", "[::1]", "169.254.169.254", "0.0.0.0", "[::ffff:127.0.0.1]",
                           "[64:ff9b::10.0.0.1]", "[2002:7f00:1::1]"})
    EXPECT_EQ(
        Name((*guarded)->Fetch({.url = "http://" + std::string(host) + ":9/x", .path = file_}, limits_)),
        "forbidden_url")
        << host;
  EXPECT_THAT(server_.requests(), ElementsAre());
}

TEST_F(FetcherTest, BoundsTheSizeWhetherItIsAnnouncedOrNot) {
  limits_.largest = 1000;
  server_.SetBody("/announced", std::string(1001, '<'));
  EXPECT_EQ(Name(Fetch("/announced")), "too_large");
  server_.SetBytes("/endless", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + std::string(100000, '<'));
  EXPECT_EQ(Name(Fetch("/endless")), "too_large");
  server_.SetBody("/fits", "<" + std::string(999, ' '));
  EXPECT_EQ(Name(Fetch("/fits")), "none");
}

TEST_F(FetcherTest, BoundsTheTimeOfAServerThatSendsByteForByte) {
  server_.Set("/drip", [](const std::string&, int connection) {
    RawServer::Send(connection, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    // Ends when the client has closed the connection.
    while (RawServer::Send(connection, "<")) std::this_thread::yield();
  });
  limits_.total_ms = 300;
  EXPECT_EQ(Name(Fetch("/drip")), "timeout");
  server_.Set("/stall", [](const std::string&, int connection) {
    RawServer::Send(connection, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n<users>");
    char byte = 0;
    while (::recv(connection, &byte, 1, 0) == 1) {
    }
  });
  limits_ = {.low_speed_bytes = 1000, .low_speed_seconds = 1};
  EXPECT_EQ(Name(Fetch("/stall")), "timeout");
}

TEST_F(FetcherTest, StopsWhenTheProgramStops) {
  const auto stop = std::make_shared<std::stop_source>();
  server_.Set("/stall", [stop](const std::string&, int connection) {
    RawServer::Send(connection, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n<users>");
    stop->request_stop();
    char byte = 0;
    while (::recv(connection, &byte, 1, 0) == 1) {
    }
  });
  EXPECT_EQ(Name(fetcher_->Fetch({.url = server_.Url("/stall"), .path = file_}, limits_, stop->get_token())),
            "stopped");
}

TEST_F(FetcherTest, SendsCredentialsToTheirHostAloneAndNamesThemNowhere) {
  const FetchCredentials credentials{.user = "hub", .password = "secret"};
  RawServer other;
  other.SetBody("/user.gz", Gzip(UserFile()));
  server_.SetBytes("/user.gz", "HTTP/1.1 302 Found\r\nLocation: " + other.Url("/user.gz") +
                                   "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  const FetchResult result =
      fetcher_->Fetch({.url = server_.Url("/user.gz"), .path = file_, .credentials = &credentials}, limits_);
  EXPECT_EQ(Name(result), "none");
  EXPECT_THAT(server_.last_head(), HasSubstr("Authorization: Basic aHViOnNlY3JldA=="));  // hub:secret
  EXPECT_THAT(other.last_head(), Not(HasSubstr("Authorization")));
  // In a URL they would reach logs, so such a URL is refused, without them in the message.
  const FetchResult in_url = FetchUrl("http://hub:secret@127.0.0.1:1/user.gz?token=secret");
  EXPECT_EQ(Name(in_url), "forbidden_url");
  EXPECT_THAT(in_url.text, Not(HasSubstr("secret")));
  EXPECT_EQ(UrlForMessages("https://a:b@example.org/x?key=c#d"), "https://example.org/x");
}

// ---- HTTPS ------------------------------------------------------------------------------------------------

class StaticService final : public http::Service {
 public:
  http::Plan OnRequest(const http::Head& head) override {
    http::Plan plan;
    plan.answer = [this, path = head.path](const std::string&) {
      if (path == "/down") return http::Response{.status = 302, .headers = {{"Location", plain_url}}};
      return http::Response{.type = "application/xml", .body = UserFile()};
    };
    return plan;
  }
  http::Response OnError(int status, const std::string& message) override {
    return {.status = status, .body = message};
  }
  std::string plain_url;
};

TEST_F(FetcherTest, ChecksTheCertificateAndNeverLeavesHttps) {
  const std::string certificate = directory_ / "certificate.pem";
  const std::string key = directory_ / "key.pem";
  const std::string command =
      "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout " +
      key + " -out " + certificate + " 2>/dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  ASSERT_EQ(::chmod(key.c_str(), 0600), 0);
  server_.SetBody("/user.gz", UserFile());
  StaticService service;
  service.plain_url = server_.Url("/user.gz");
  auto secure = http::Server::Start(
      {.host = "127.0.0.1", .tls = http::TlsFiles{.certificate = certificate, .key = key}}, service);
  ASSERT_TRUE(secure.ok()) << secure.status().message();
  const std::string url = "https://127.0.0.1:" + std::to_string((*secure)->port());

  EXPECT_EQ(Name(FetchUrl(url + "/user.gz")), "tls");
  auto trusting = Fetcher::Create({.ca_file = certificate, .private_addresses = true});
  ASSERT_TRUE(trusting.ok());
  fetcher_ = std::move(*trusting);
  EXPECT_EQ(Name(FetchUrl(url + "/user.gz")), "none");
  EXPECT_EQ(Name(FetchUrl(url + "/down")), "forbidden_url");
  EXPECT_FALSE(Fetcher::Create({.ca_file = directory_ / "none.pem"}).ok());
}

// ---- The export as a whole --------------------------------------------------------------------------------

class ExportFetchTest : public FetcherTest {
 protected:
  ExportFetchTest() {
    auto opened = FeedFolder::Open(directory_ / "project");
    EXPECT_TRUE(opened.ok());
    folder_.emplace(std::move(*opened));
    server_.SetBody("/stats/tables.xml", TablesText(100));
    server_.SetBody("/stats/user.gz", Gzip(UserFile()), "ETag: \"1\"\r\n");
  }
  ExportFetch FetchUsers() {
    return FetchExport(*fetcher_, *folder_,
                       {.base_url = server_.Url("/stats"), .kinds = {RecordKind::kUser}, .now = 1000},
                       limits_);
  }
  void ServeOnlyIfModified(const std::string& path, const std::string& body, const std::string& etag) {
    server_.Set(path, [body, etag](const std::string& head, int connection) {
      const bool same = head.find("If-None-Match: " + etag) != std::string::npos;
      RawServer::Send(connection, same ? "HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n"
                                       : RawServer::Ok(body, "ETag: " + etag + "\r\n"));
    });
  }

  std::optional<FeedFolder> folder_;
};

TEST_F(ExportFetchTest, FetchesTablesXmlBeforeAndBehindTheFiles) {
  const ExportFetch fetched = FetchUsers();
  ASSERT_TRUE(fetched.ok()) << fetched.text;
  EXPECT_THAT(server_.requests(),
              ElementsAre("GET /stats/tables.xml", "GET /stats/user.gz", "GET /stats/tables.xml"));
  EXPECT_EQ(fetched.before, fetched.after);
  EXPECT_EQ(fetched.before->update_time, 100u);
  ASSERT_EQ(fetched.kinds.size(), 1u);
  EXPECT_THAT(fetched.kinds[0].names, ElementsAre("user.gz"));
  EXPECT_TRUE(fetched.kinds[0].changed);
  EXPECT_EQ(FileBytes(folder_->PathOf("user.gz")), Gzip(UserFile()));
  EXPECT_EQ(folder_->Find("user.gz")->fetched, 1000);
}

TEST_F(ExportFetchTest, FetchesAnUnchangedFileOnce) {
  ServeOnlyIfModified("/stats/user.gz", Gzip(UserFile()), "\"7\"");
  EXPECT_TRUE(FetchUsers().kinds[0].changed);
  // Also after a restart.
  folder_.emplace(std::move(*FeedFolder::Open(directory_ / "project")));
  const ExportFetch again = FetchUsers();
  EXPECT_TRUE(again.ok());
  EXPECT_FALSE(again.kinds[0].changed);
  EXPECT_THAT(again.kinds[0].names, ElementsAre("user.gz"));
}

TEST_F(ExportFetchTest, AConfirmingFetchIsASecondTransfer) {
  ServeOnlyIfModified("/stats/user.gz", Gzip(UserFile()), "\"7\"");
  ExportRequest request{.base_url = server_.Url("/stats"), .kinds = {RecordKind::kUser}, .now = 1000};
  EXPECT_TRUE(FetchExport(*fetcher_, *folder_, request, limits_).kinds[0].changed);
  request.in_full = true;
  EXPECT_TRUE(FetchExport(*fetcher_, *folder_, request, limits_).kinds[0].changed);
}

TEST_F(ExportFetchTest, AsksForNothingElseIfTheExportIsImported) {
  ExportRequest request{.base_url = server_.Url("/stats"), .kinds = {RecordKind::kUser}, .imported = 100};
  const ExportFetch fetched = FetchExport(*fetcher_, *folder_, request, limits_);
  EXPECT_TRUE(fetched.ok());
  EXPECT_TRUE(fetched.imported);
  EXPECT_THAT(server_.requests(), ElementsAre("GET /stats/tables.xml"));
  request.imported = 99;
  EXPECT_FALSE(FetchExport(*fetcher_, *folder_, request, limits_).imported);
}

TEST_F(ExportFetchTest, ReadsTablesXmlAlsoIfTheServerCompressesIt) {
  server_.SetBody("/stats/tables.xml", Gzip(TablesText(100)), "Content-Encoding: gzip\r\n");
  EXPECT_EQ(FetchUsers().before->update_time, 100u);
}

TEST_F(ExportFetchTest, FetchesInFullWhenTheCopyIsGoneOrDamagedOrForgotten) {
  ServeOnlyIfModified("/stats/user.gz", Gzip(UserFile()), "\"7\"");
  EXPECT_TRUE(FetchUsers().kinds[0].changed);
  ASSERT_EQ(::unlink(folder_->PathOf("user.gz").c_str()), 0);
  EXPECT_TRUE(FetchUsers().kinds[0].changed);
  ASSERT_EQ(::truncate(folder_->PathOf("user.gz").c_str(), 3), 0);
  EXPECT_TRUE(FetchUsers().kinds[0].changed);
  // The reader refused it: the server would answer 304 for ever.
  ASSERT_TRUE(folder_->Forget("user.gz").ok());
  EXPECT_TRUE(FetchUsers().kinds[0].changed);
  EXPECT_FALSE(FetchUsers().kinds[0].changed);
}

TEST_F(ExportFetchTest, SaysSoWhenAServerAnswersNotModifiedToANewClient) {
  server_.SetBytes("/stats/user.gz", "HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n");
  const ExportFetch fetched = FetchUsers();
  EXPECT_EQ(fetched.kinds[0].failure, FetchFailure::kNotModifiedWithoutCopy);
  EXPECT_TRUE(fetched.kinds[0].names.empty());
}

TEST_F(ExportFetchTest, FindsTheOtherNamesOfAFileAndRemembersThem) {
  for (const std::string name : {"user_id.gz", "user.xml.gz", "user.xml", "user"}) {
    RawServer& server = server_;
    testing::TempDir directory;
    auto folder = FeedFolder::Open(directory / "p");
    server.Remove("/stats/user.gz");
    server.SetBody("/stats/" + name, UserFile());
    const ExportRequest request{.base_url = server.Url("/stats/"), .kinds = {RecordKind::kUser}, .now = 5};
    EXPECT_THAT(FetchExport(*fetcher_, *folder, request, limits_).kinds[0].names, ElementsAre(name));
    const std::size_t before = server.requests().size();
    EXPECT_THAT(FetchExport(*fetcher_, *folder, request, limits_).kinds[0].names, ElementsAre(name));
    EXPECT_EQ(server.requests().size(), before + 3) << name;
    server.Remove("/stats/" + name);
  }
}

TEST_F(ExportFetchTest, FetchesASetOfNumberedFiles) {
  server_.Remove("/stats/user.gz");
  for (int i = 0; i < 3; ++i) server_.SetBody("/stats/user_" + std::to_string(i) + ".gz", Gzip(UserFile()));
  const ExportFetch fetched = FetchUsers();
  EXPECT_TRUE(fetched.ok());
  EXPECT_THAT(fetched.kinds[0].names, ElementsAre("user_0.gz", "user_1.gz", "user_2.gz"));
  // One of them broken: none is used.
  server_.SetBytes("/stats/user_1.gz", "");
  EXPECT_TRUE(FetchUsers().kinds[0].names.empty());
}

// A server that has every numbered file is no endless fetch.
TEST_F(ExportFetchTest, BoundsTheBytesAndTheTimeOfAllFilesTogether) {
  server_.Remove("/stats/user.gz");
  for (int i = 0; i < 20; ++i) server_.SetBody("/stats/user_" + std::to_string(i) + ".gz", Gzip(UserFile()));
  limits_.largest = TablesText(100).size() + 5 * Gzip(UserFile()).size();
  const ExportFetch fetched = FetchUsers();
  EXPECT_EQ(FetchFailureName(fetched.kinds[0].failure), "too_large");
  EXPECT_TRUE(fetched.kinds[0].names.empty());
  limits_.largest = FetchLimits().largest;
  limits_.total_ms = 0;
  EXPECT_EQ(FetchFailureName(FetchUsers().failure), "timeout");
}

// An operator reads once what happened, and to which file.
TEST_F(ExportFetchTest, SaysOnceWhyAnExportCannotBeFetched) {
  server_.Set("/stats/user.gz", [](const std::string&, int connection) {
    RawServer::Send(connection, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
  });
  const ExportRequest request{.base_url = server_.Url("/stats"), .now = 1000};
  const ExportFetch failed = FetchExport(*fetcher_, *folder_, request, limits_);
  ASSERT_EQ(failed.kinds.size(), 1u) << "the other files would not make the export whole";
  EXPECT_EQ(failed.kinds[0].failure, FetchFailure::kServerError);
}

TEST_F(ExportFetchTest, NamesAMissingFileByItsUsualName) {
  server_.Remove("/stats/user.gz");
  const ExportFetch missing = FetchUsers();
  EXPECT_EQ(missing.kinds[0].failure, FetchFailure::kMissing);
  EXPECT_EQ(
      missing.kinds[0].cause,
      "user.gz (missing): the server has neither it nor one of its other names (user_id.gz, user.xml.gz, "
      "user.xml, user, user.zst, user_0.gz)");
  EXPECT_THAT(missing.kinds[0].text, ::testing::HasSubstr("/stats/user.gz: the server has neither"));
}

// A project publishes by two renames of a directory: between them nothing is there.
TEST_F(ExportFetchTest, SurvivesADirectoryThatVanishesBehindTablesXml) {
  ASSERT_TRUE(FetchUsers().ok());
  server_.Set("/stats/tables.xml", [this](const std::string&, int connection) {
    server_.Remove("/stats/user.gz");
    RawServer::Send(connection, RawServer::Ok(TablesText(200)));
  });
  const ExportFetch fetched = FetchUsers();
  EXPECT_FALSE(fetched.ok());
  EXPECT_EQ(fetched.kinds[0].failure, FetchFailure::kMissing);
  // The copy of before is whole and still there.
  EXPECT_EQ(FileBytes(folder_->PathOf("user.gz")), Gzip(UserFile()));
}

TEST_F(ExportFetchTest, HoldsAFileThatWasReplacedBetweenTheTwoTables) {
  server_.Set("/stats/user.gz", [this](const std::string&, int connection) {
    server_.SetBody("/stats/tables.xml", TablesText(200));
    RawServer::Send(connection, RawServer::Ok(Gzip(UserFile())));
  });
  const ExportFetch fetched = FetchUsers();
  ASSERT_TRUE(fetched.ok());
  EXPECT_EQ(fetched.before->update_time, 100u);
  EXPECT_EQ(fetched.after->update_time, 200u);
  const FetchedFile file{.summary = {.records = 1, .total_credit = 5000000},
                         .tables_before = fetched.before,
                         .tables_after = fetched.after,
                         .fetched = 1000};
  const Judgement judgement = JudgeFile(file, nullptr, nullptr, nullptr, {});
  ASSERT_EQ(judgement.holds.size(), 1u);
  EXPECT_EQ(judgement.holds[0].reason, HoldReason::kTablesChanged);
}

TEST_F(ExportFetchTest, FetchesNothingElseWhileTablesXmlIsAPage) {
  server_.SetBody("/stats/tables.xml", "<html>Project is down</html>");
  const ExportFetch fetched = FetchUsers();
  EXPECT_EQ(fetched.failure, FetchFailure::kPage);
  EXPECT_TRUE(fetched.kinds.empty());
  server_.SetBody("/stats/tables.xml", "<tables>\n</tables>\n");
  EXPECT_EQ(FetchUsers().failure, FetchFailure::kForeign);
  // A project without tables.xml is fetched, and its files are held.
  server_.Remove("/stats/tables.xml");
  const ExportFetch without = FetchUsers();
  EXPECT_EQ(without.failure, FetchFailure::kMissing);
  EXPECT_THAT(without.kinds[0].names, ElementsAre("user.gz"));
}

TEST_F(ExportFetchTest, AFailedFetchKeepsTheOlderCopy) {
  ASSERT_TRUE(FetchUsers().ok());
  for (const std::string& bytes :
       {std::string(), RawServer::Ok("<html>down</html>"),
        std::string(
            "HTTP/1.1 503 Busy\r\nRetry-After: 60\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")}) {
    server_.SetBytes("/stats/user.gz", bytes);
    const ExportFetch fetched = FetchUsers();
    EXPECT_FALSE(fetched.ok());
    EXPECT_EQ(FileBytes(folder_->PathOf("user.gz")), Gzip(UserFile()));
  }
  EXPECT_EQ(FetchUsers().retry_after, "60");
}

TEST_F(ExportFetchTest, TheFolderIsPrivateAndForgetsUnfinishedFetches) {
  const std::string path = directory_ / "project";
  struct stat about {};
  ASSERT_EQ(::stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0700u);
  std::ofstream(folder_->PartPathOf("user.gz")) << "half";
  std::ofstream(path + "/.files.json") << "{ damaged";
  folder_.emplace(std::move(*FeedFolder::Open(path)));
  EXPECT_NE(::access(folder_->PartPathOf("user.gz").c_str(), F_OK), 0);
  EXPECT_EQ(folder_->Find("user.gz"), std::nullopt);
  EXPECT_TRUE(FetchUsers().ok());
}

// ---- When -------------------------------------------------------------------------------------------------

TEST(FetchSchedule, SpreadsTheFetchesOfADayAndBacksOff) {
  const ScheduleLimits limits;
  EXPECT_EQ(NextFetch({}, 1, limits), 0);
  double earliest = 1e300;
  double latest = 0;
  for (std::uint64_t project = 1; project <= 1000; ++project) {
    const double next = NextFetch({.last_attempt = 1e9, .last_success = 1e9}, project, limits);
    EXPECT_EQ(next, NextFetch({.last_attempt = 1e9, .last_success = 1e9}, project, limits));
    earliest = std::min(earliest, next);
    latest = std::max(latest, next);
  }
  // 86,400 s plus or minus a tenth, and nearly all of that range is used.
  EXPECT_GE(earliest, 1e9 + 77760);
  EXPECT_LT(earliest, 1e9 + 78000);
  EXPECT_LE(latest, 1e9 + 95040);
  EXPECT_GT(latest, 1e9 + 94800);

  for (const auto& [failures, wait] : std::vector<std::pair<std::uint32_t, double>>{
           {1, 600}, {2, 1200}, {3, 2400}, {8, 76800}, {9, 86400}, {1000, 86400}}) {
    const double next = NextFetch({.last_attempt = 1e9, .failures = failures}, 1, limits) - 1e9;
    EXPECT_GE(next, wait) << failures;
    EXPECT_LE(next, wait * 1.1) << failures;
  }
}

TEST(FetchSchedule, GrantsRetryAfterWithinReasonAndAConfirmingFetch) {
  const ScheduleLimits limits;
  EXPECT_EQ(NextFetch({.last_attempt = 1e9, .failures = 1, .retry_after = 7200}, 1, limits), 1e9 + 7200);
  EXPECT_EQ(NextFetch({.last_attempt = 1e9, .failures = 1, .retry_after = 1e12}, 1, limits), 1e9 + 172800);
  EXPECT_EQ(NextFetch({.last_attempt = 1e9, .last_success = 1e9, .confirm_at = 1e9 + 3600}, 1, limits),
            1e9 + 3600);
  // 24 Nov 2026 00:02:00 UTC is 1795478520.
  EXPECT_EQ(RetryAfter("120", 0), 120);
  EXPECT_EQ(RetryAfter("Tue, 24 Nov 2026 00:02:00 GMT", 1795478400), 120);
  EXPECT_EQ(RetryAfter("Tue, 24 Nov 2026 00:02:00 GMT", 1795479000), 0);
  EXPECT_EQ(RetryAfter("soon", 0), std::nullopt);
  EXPECT_EQ(RetryAfter("", 0), std::nullopt);
}

TEST(FetchSchedule, PacesTheRequestsToOneHost) {
  HostPacer pacer(1);
  EXPECT_EQ(pacer.Reserve("a", 100), 100);
  EXPECT_EQ(pacer.Reserve("a", 100), 101);
  EXPECT_EQ(pacer.Reserve("b", 100), 100);
  EXPECT_EQ(pacer.Reserve("a", 100.5), 102);
  EXPECT_EQ(pacer.Reserve("a", 200), 200);
}

}  // namespace
}  // namespace cobblestone::hub
