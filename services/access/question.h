// The questions of people, each by its path and parameters: the same over the socket as from the command
// line that has opened the directory itself.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "services/embedded/engine.h"

namespace cobblestone {

struct Question {
  std::string path;                                 // "/explain"
  std::map<std::string, std::string> parameters{};  // as text, as in a URL
};

// One question that can be asked: for the server's table and for messages.
struct QuestionKind {
  std::string_view path;
  bool changes = false;  // POST
};
const std::vector<QuestionKind>& QuestionKinds();

//   /producer?source=S                how far a source was taken in: {"lines", "hash"}
//   /explain?project=P&result=R        one grant
//   /account?project=P&kind=K&id=I     K: host, user, team; project, whose id is its number
//   /host-version?project=P&host=H&version=V[&app=A]    A for the anonymous platform
//   /scales?project=P
//   /adopted?project=P                 control totals of an adoption, as the pipeline has them
//   /refused?from=N&limit=M            from the N-th refusal on
//   /refused/show?offset=N
//   /refused/resubmit?offset=N         changes
//   /state/copy                        changes: copies of all states for another process (Engine::CopyState)
//   /audit                             long (Engine::Audit)
//   /ledger/sums?grants=P&postings=P[&anew=1]    long (Engine::SumLedger); P: places by partition, "17,4,0"
//   /corrections?...                   long (correction_question.h): what a reversal or re-pricing would do
//   /tasks
//   /idle                              {"idle"}: waits for up to a second until it is
// InvalidArgument where a parameter is missing or no number, NotFound where there is no such question or
// thing.
Result<nlohmann::json> Answer(Engine& engine, const Question& question);
// Of those that are long, which tell how far they have come.
Result<nlohmann::json> AnswerLong(Engine& engine, const Question& question,
                                  const std::function<void(std::uint64_t done, std::uint64_t all)>& progress);
const std::vector<std::string_view>& LongQuestions();

// "explain?project=1&result=7", each value escaped.
std::string UrlOf(const Question& question);

// Status <-> {"error": {"code", "message"}} and the number of HTTP.
nlohmann::json ErrorJson(const Status& status);
Status ParseErrorJson(const nlohmann::json& json);
int HttpStatusOf(const Status& status);

}  // namespace cobblestone
