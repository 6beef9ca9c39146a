// The question of what a correction would do, as parameters.
#pragma once

#include "common/base/status.h"
#include "services/access/question.h"
#include "services/corrections/correction_plan.h"

namespace cobblestone {

// /corrections?project=P&target=result|host|workunit|app-version&id=N[&since=T][&until=T][&version=V]
//   [&reinstates=1[&judged_invalid=1][&credit=C]]
//   &reason=TEXT[&time=T]
// kInvalidArgument: a parameter is missing or means nothing.
Result<CorrectionRequest> CorrectionRequestOf(const Question& question);
Question QuestionOf(const CorrectionRequest& request);

}  // namespace cobblestone
