// The question "what would this correction do?" as parameters of a URL.
#pragma once

#include "common/base/status.h"
#include "services/access/question.h"
#include "services/corrections/correction_plan.h"

namespace cobblestone::access {

// /corrections?project=P&target=result|host|workunit|app-version&id=N[&since=T][&until=T][&version=V]
//   [&reinstates=1[&judged_invalid=1][&credit=C]]
//   &reason=TEXT[&time=T]
// kInvalidArgument: a parameter is missing or invalid.
Result<corrections::CorrectionRequest> CorrectionRequestOf(const Question& question);
Question QuestionOf(const corrections::CorrectionRequest& request);

}  // namespace cobblestone::access
