// Questions of people, each a path with parameters: the same over the socket and from a command that has opened the
// directory itself.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "services/embedded/engine.h"

namespace cobblestone::access {

struct Question {
  std::string path;                                 // "/explain"
  std::map<std::string, std::string> parameters{};  // decoded text
};

// One kind of question: for the server's table and for messages.
struct QuestionKind {
  std::string_view path;
  bool changes = false;  // POST
};
const std::vector<QuestionKind>& QuestionKinds();

//   /producer?source=S                position of a source: {"lines", "hash"}
//   /explain?project=P&result=R        one grant
//   /account?project=P&kind=K&id=I     K: host, user, team, or project (whose id is its number)
//   /host-version?project=P&host=H&version=V[&app=A]    A for the anonymous platform
//   /scales?project=P
//   /adopted?project=P                 control totals of an adoption, as the pipeline has them
//   /refused?...                       refused records (refused_question.h)
//   /refused/point                     a point in the log, for /refused/count
//   /refused/count?...                 counts of refused records, by reason
//   /refused/show?offset=N
//   /refused/resubmit?...              changes: sends refused events again
//   /state/copy                        changes: copies of all states for another process (Engine::CopyState)
//   /backup/copy                       changes: copies log and states for a backup (Engine::CopyForBackup)
//   /audit[?since_days=N]              long (Engine::Audit)
//   `/ledger/sums?grants=P&postings=P[&from_start=1]`  long (Engine::SumLedger); P: places by partition, "17,4,0"
//   /history/fit?project=P[&app=A]     long (Engine::FitWorld): the world of an app's hosts
//   /corrections?...                   long (correction_question.h): effects of a reversal or repricing
//   /tasks
//   /idle                              {"idle"}: waits up to a second until the pipeline is idle
// InvalidArgument: a parameter is missing or not a number. NotFound: no such question, or no such thing.
Result<nlohmann::json> Answer(embedded::Engine& engine, const Question& question);
// Long questions; `progress` receives their progress.
Result<nlohmann::json> AnswerLong(embedded::Engine& engine, const Question& question,
                                  const std::function<void(std::uint64_t done, std::uint64_t all)>& progress);
const std::vector<std::string_view>& LongQuestions();

// "explain?project=1&result=7", each value escaped.
std::string UrlOf(const Question& question);

// Status <-> {"error": {"code", "message"}}, and the status code of HTTP.
nlohmann::json ErrorJson(const Status& status);
Status ParseErrorJson(const nlohmann::json& json);
int HttpStatusOf(const Status& status);

}  // namespace cobblestone::access
