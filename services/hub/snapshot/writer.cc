#include "services/hub/snapshot/writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>

#include "common/base/failpoint.h"
#include "services/hub/snapshot/new_file.h"

namespace cobblestone::hub {
namespace {

namespace fs = std::filesystem;

Status SyncNames(const std::string& path) {
  const int directory = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return UnwrittenFile(path);
  const int synced = ::fsync(directory);
  ::close(directory);
  return synced == 0 ? Status::Ok() : UnwrittenFile(path);
}

Status WriteWhole(const std::string& path, std::string_view bytes) {
  NewFile file;
  if (Status s = file.Open(path); !s.ok()) return s;
  if (Status s = file.Append(bytes); !s.ok()) return s;
  return file.Finish();
}

}  // namespace

struct SnapshotWriter::State {
  // A part that is being written.
  struct OpenPart {
    NewFile file;
    Sha256 sum;
    HashTree tree;
    Part part;
    std::uint64_t last_id = 0;
  };

  std::string directory;
  std::string partial;
  Manifest manifest;
  std::optional<OpenPart> open;
  Status failure;  // the first; nothing is published after it
  bool published = false;

  ~State() {
    std::error_code ignored;  // the next Begin deletes what remains
    if (!published) fs::remove_all(partial, ignored);
  }
  Status Fail(Status status) {
    if (failure.ok()) failure = status;
    return status;
  }
  Status ClosePart() {
    if (!open) return Status::Ok();
    if (Status s = open->file.Finish(); !s.ok()) return Fail(std::move(s));
    open->part.sha256 = open->sum.Finish();
    open->part.tree = open->tree.Root();
    open->part.records = open->tree.size();
    manifest.projects.back().parts.push_back(open->part);
    open.reset();
    return Status::Ok();
  }
};

SnapshotWriter::SnapshotWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
SnapshotWriter::~SnapshotWriter() = default;
SnapshotWriter::SnapshotWriter(SnapshotWriter&&) noexcept = default;
SnapshotWriter& SnapshotWriter::operator=(SnapshotWriter&&) noexcept = default;

Result<SnapshotWriter> SnapshotWriter::Begin(const std::string& place, Manifest head) {
  std::string directory = place;
  while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
  struct stat there {};
  if (::lstat(directory.c_str(), &there) == 0)
    return Status::InvalidArgument(directory + " exists already; a snapshot never changes");
  auto state = std::make_unique<State>();
  state->directory = directory;
  state->partial = directory + ".partial";
  state->manifest = std::move(head);
  state->manifest.projects.clear();
  std::error_code error;
  fs::remove_all(state->partial, error);
  if (::mkdir(state->partial.c_str(), 0755) != 0) {
    state->published = true;  // nothing to delete
    if (errno == ENOENT) return Status::InvalidArgument(directory + ": its parent directory does not exist");
    return UnwrittenFile(state->partial);
  }
  if (::chmod(state->partial.c_str(), 0755) != 0) return UnwrittenFile(state->partial);
  return SnapshotWriter(std::move(state));
}

Status SnapshotWriter::AddProject(Project project) {
  if (Status s = state_->ClosePart(); !s.ok()) return s;
  project.parts.clear();
  auto& projects = state_->manifest.projects;
  if (!projects.empty() && projects.back().key >= project.key)
    return state_->Fail(Status::InvalidArgument("project " + project.key + " comes after " +
                                                projects.back().key + ": projects are written by key"));
  // A key is part of file names: the whole check, before the first file.
  projects.push_back(std::move(project));
  Manifest head = state_->manifest;
  head.key.assign(32, '\0');
  if (auto checked = RenderManifest(head); !checked.ok()) return state_->Fail(checked.status());
  return Status::Ok();
}

Status SnapshotWriter::AddPart(PartKind kind) {
  if (Status s = state_->ClosePart(); !s.ok()) return s;
  auto& projects = state_->manifest.projects;
  if (!state_->failure.ok()) return state_->failure;
  if (projects.empty() || (!projects.back().parts.empty() && projects.back().parts.back().kind >= kind))
    return state_->Fail(Status::InvalidArgument("parts are written by project and kind"));
  state_->open.emplace();
  state_->open->part.kind = kind;
  const std::string path = state_->partial + "/" + FileNameOf(projects.back(), kind);
  if (Status s = state_->open->file.Open(path); !s.ok()) return state_->Fail(std::move(s));
  return Status::Ok();
}

template <class Record>
Status SnapshotWriter::AddLine(PartKind kind, const Record& record) {
  if (!state_->failure.ok()) return state_->failure;
  if (!state_->open || state_->open->part.kind != kind)
    return state_->Fail(
        Status::InvalidArgument("a record of " + std::string(NameOf(kind)) + " is outside its part"));
  State::OpenPart& open = *state_->open;
  auto line = LineOf(record);
  if (!line.ok()) return state_->Fail(line.status());
  if (record.id <= open.last_id)
    return state_->Fail(Status::InvalidArgument("record " + std::to_string(record.id) + " comes after " +
                                                std::to_string(open.last_id) +
                                                ": records are written by id"));
  open.last_id = record.id;
  open.tree.Add(*line);
  *line += '\n';
  open.sum.Add(*line);
  open.part.bytes += line->size();
  open.part.total += record.total;
  if (Status s = open.file.Append(*line); !s.ok()) return state_->Fail(std::move(s));
  return Status::Ok();
}

Status SnapshotWriter::Add(const UserRecord& record) { return AddLine(PartKind::kUsers, record); }
Status SnapshotWriter::Add(const HostRecord& record) { return AddLine(PartKind::kHosts, record); }
Status SnapshotWriter::Add(const TeamRecord& record) { return AddLine(PartKind::kTeams, record); }

Result<Previous> SnapshotWriter::Publish(const SigningKey& key) {
  if (Status s = state_->ClosePart(); !s.ok()) return s;
  if (!state_->failure.ok()) return state_->failure;
  state_->manifest.key = key.PublicKey();
  auto bytes = RenderManifest(state_->manifest);
  if (!bytes.ok()) return bytes.status();
  if (Status s = WriteWhole(state_->partial + "/" + kManifestFile, *bytes); !s.ok()) return s;
  if (Status s = WriteWhole(state_->partial + "/" + kSignatureFile, key.Sign(*bytes)); !s.ok()) return s;
  if (Status s = SyncNames(state_->partial); !s.ok()) return s;
  Failpoint("H1");
  if (::renameat2(AT_FDCWD, state_->partial.c_str(), AT_FDCWD, state_->directory.c_str(), RENAME_NOREPLACE) !=
      0)
    return UnwrittenFile(state_->directory);
  state_->published = true;
  const fs::path parent = fs::path(state_->directory).parent_path();
  if (Status s = SyncNames(parent.empty() ? "." : parent.string()); !s.ok()) return s;
  return Previous{.sequence = state_->manifest.sequence, .sha256 = Sha256Of(*bytes)};
}

}  // namespace cobblestone::hub
