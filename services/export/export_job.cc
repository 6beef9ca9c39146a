#include "services/export/export_job.h"

#include <optional>
#include <utility>

#include "services/export/exporter.h"
#include "services/export/files/publish.h"
#include "services/export/files/read_back.h"

namespace cobblestone::exports {

Result<ExportOutcome> RunExport(Source& source, const Spec& spec, const ExportJob& job) {
  const auto warn = [&](const std::string& what) {
    if (job.warn) job.warn(what);
  };
  for (const std::string& warning : spec.warnings) warn(warning);
  ExportOutcome outcome{.directory = job.out.empty() ? spec.final_output_dir : job.out};
  if (outcome.directory.empty())
    return Status::InvalidArgument("no output directory: set --out, or <final_output_dir> in the spec");
  auto publication =
      Publication::Begin({.final_directory = outcome.directory,
                          .archive_directory = job.archive.empty() ? spec.archive_dir : job.archive,
                          .delete_old = job.delete_old,
                          .now = job.now,
                          .report = warn});
  if (!publication.ok()) return publication.status();
  ExportOptions options{.settings = job.settings,
                        .now = job.now,
                        .directory = publication->directory(),
                        .threads = job.threads,
                        .ledger = job.ledger,
                        .progress = job.progress,
                        .warn = warn};
  std::optional<ExportChain> chain;
  if (!job.incremental_from.empty()) {
    auto opened = ExportChain::Open(job.incremental_from);
    if (!opened.ok()) return opened.status();
    chain = std::move(*opened);
    if (Status status = chain->CheckFiles(nullptr); !status.ok()) return status;
    options.base = chain->AsBase();
    options.known = [&](const std::string& output) { return chain->Records(output); };
  }
  auto manifest = WriteExport(source, spec, options);
  if (!manifest.ok()) {
    // Files are written through the open directory; messages show the directory's name.
    std::string message = manifest.status().message();
    for (std::size_t at; (at = message.find(publication->directory() + "/")) != std::string::npos &&
                         publication->directory() != publication->shown();)
      message.replace(at, publication->directory().size(), publication->shown());
    return Status(manifest.status().code(), message);
  }
  auto old = publication->Publish();
  if (!old.ok()) return old.status();
  outcome.manifest = *std::move(manifest);
  outcome.old_directory = *old;
  return outcome;
}

Result<ReadBackOutcome> ReadBack(const std::vector<std::string>& directories,
                                 const std::function<void(const std::string& what)>& progress) {
  auto chain = ExportChain::Open(directories);
  if (!chain.ok()) return chain.status();
  if (Status status = chain->CheckFiles(progress); !status.ok()) return status;
  ReadBackOutcome outcome{.outputs = chain->last().outputs};
  for (const OutputFigures& output : outcome.outputs) {
    if (progress) progress(output.name);
    const auto totals = chain->Totals(output.name);
    if (!totals.ok()) return totals.status();
    if (*totals == output.totals) continue;
    outcome.differences.push_back(output.name + " has " + std::to_string(totals->records) + " records with " +
                                  CreditText(totals->credit) + " Cobblestones (" + HashText(totals->hash) +
                                  "), but should have " + std::to_string(output.totals.records) + " with " +
                                  CreditText(output.totals.credit) + " (" + HashText(output.totals.hash) +
                                  ")");
  }
  return outcome;
}

}  // namespace cobblestone::exports
