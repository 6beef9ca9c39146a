#include "services/export/files/output_set.h"

#include <algorithm>
#include <utility>

#include "services/export/records.h"
#include "services/export/text.h"

namespace cobblestone::exports {

struct OutputSet::Lane {
  Output output;
  OutputFigures figures;
  std::unique_ptr<OutputFile> file;
  std::uint64_t number = 0;  // of the open file
  std::optional<RecordSet> known;
  bool writes = true;  // the current record is written

  [[nodiscard]] bool numbered() const { return output.recs_per_file > 0; }
};

OutputSet::OutputSet(const OutputPlace& place, const Enumeration& enumeration, std::string record,
                     std::string head, std::string tail)
    : place_(place),
      filename_(enumeration.filename),
      record_(std::move(record)),
      head_(std::move(head)),
      tail_(std::move(tail)) {
  for (const Output& output : enumeration.outputs) {
    // Without order by id, numbered files are never started (upstream's rule; the parser of
    // the spec has warned).
    if (output.recs_per_file > 0 && enumeration.sort != Sort::kId) continue;
    auto lane = std::make_unique<Lane>();
    lane->output = output;
    lane->figures.record = record_;
    lane->figures.name =
        filename_ + (lane->numbered() ? "_N" : "") + std::string(EndingOf(output.compression));
    lanes_.push_back(std::move(lane));
  }
}

OutputSet::~OutputSet() = default;

bool OutputSet::WantsPlain() const {
  return std::any_of(lanes_.begin(), lanes_.end(), [](const auto& lane) { return !lane->output.detail; });
}
bool OutputSet::WantsDetail() const {
  return std::any_of(lanes_.begin(), lanes_.end(), [](const auto& lane) { return lane->output.detail; });
}

Status OutputSet::Begin() {
  for (const auto& lane : lanes_) {
    if (place_.known) {
      auto known = place_.known(lane->figures.name);
      if (!known.ok()) return known.status();
      lane->known = std::move(*known);
    }
    if (lane->numbered()) continue;
    auto file = OutputFile::Create(place_.directory, filename_, lane->output.compression, place_.now,
                                   *place_.workers);
    if (!file.ok()) return file.status();
    lane->file = std::move(*file);
    if (Status status = lane->file->Append(head_); !status.ok()) return status;
  }
  return Status::Ok();
}

Status OutputSet::Put(const RecordKey& key, std::string_view plain, std::string_view detailed,
                      std::uint32_t copies) {
  for (const auto& lane : lanes_) {
    const std::string_view record = lane->output.detail ? detailed : plain;
    lane->figures.totals.Add(record, copies);
    lane->writes = !lane->known || !lane->known->Has(key, HashOf(record), copies);
  }
  for (std::uint32_t copy = 0; copy < copies; ++copy) {
    for (const auto& lane : lanes_) {
      if (!lane->writes) continue;
      if (Status status = Write(*lane, lane->output.detail ? detailed : plain); !status.ok()) return status;
    }
  }
  return Status::Ok();
}

Status OutputSet::Write(Lane& lane, std::string_view record) {
  if (lane.numbered()) {
    const std::uint64_t number = counter_++ / lane.output.recs_per_file;
    if (lane.file && number != lane.number) {
      if (Status status = Close(lane, nullptr); !status.ok()) return status;
    }
    if (!lane.file) {
      auto file = OutputFile::Create(place_.directory, filename_ + "_" + std::to_string(number),
                                     lane.output.compression, place_.now, *place_.workers);
      if (!file.ok()) return file.status();
      lane.file = std::move(*file);
      lane.number = number;
      if (Status status = lane.file->Append(head_); !status.ok()) return status;
    }
  }
  ++lane.figures.changed;
  lane.file->CountRecord();
  return lane.file->Append(record);
}

Status OutputSet::Close(Lane& lane, Manifest* manifest) {
  if (lane.file) {
    if (Status status = lane.file->Append(tail_); !status.ok()) return status;
    auto figures = lane.file->Finish();
    lane.file.reset();
    if (!figures.ok()) return figures.status();
    lane.figures.files.push_back(figures->name);
    files_.push_back(*std::move(figures));
  }
  if (manifest == nullptr) return Status::Ok();
  if (Status status = WriteRemoved(lane); !status.ok()) return status;
  manifest->outputs.push_back(lane.figures);
  return Status::Ok();
}

Status OutputSet::WriteRemoved(Lane& lane) {
  const std::vector<RecordKey> gone = lane.known ? lane.known->Unseen() : std::vector<RecordKey>();
  if (gone.empty()) return Status::Ok();
  auto file = OutputFile::Create(place_.directory, filename_ + (lane.numbered() ? "_N" : "") + ".removed",
                                 lane.output.compression, place_.now, *place_.workers);
  if (!file.ok()) return file.status();
  Status status = (*file)->Append(FileHead("removed"));
  std::string text;
  for (const RecordKey& key : gone) {
    text = " <id>";
    AppendId(key.first, &text);
    text += "</id>";
    if (key.second != 0) {
      text += "<badge_id>";
      AppendId(key.second, &text);
      text += "</badge_id>";
    }
    text += '\n';
    if (status.ok()) status = (*file)->Append(text);
  }
  if (status.ok()) status = (*file)->Append(FileTail("removed"));
  if (!status.ok()) return status;
  auto figures = (*file)->Finish();
  if (!figures.ok()) return figures.status();
  lane.figures.removed = gone.size();
  lane.figures.removed_file = figures->name;
  files_.push_back(*std::move(figures));
  return Status::Ok();
}

Status OutputSet::Finish(Manifest* manifest) {
  for (const auto& lane : lanes_) {
    if (Status status = Close(*lane, manifest); !status.ok()) return status;
  }
  for (FileFigures& file : files_) manifest->files.push_back(std::move(file));
  return Status::Ok();
}

}  // namespace cobblestone::exports
