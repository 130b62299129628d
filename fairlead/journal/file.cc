// The journal on disk: records in blocks.

#include "fairlead/journal/journal.h"

#include <utility>

namespace fairlead {

JournalFile::JournalFile() = default;
JournalFile::JournalFile(JournalFile&&) noexcept = default;
JournalFile::~JournalFile() = default;

Result<JournalFile> JournalFile::create(const std::filesystem::path& path) {
  FL_TRY_ASSIGN(file, BlockWriter::create(path));
  JournalFile journal;
  journal.file_.emplace(std::move(file));
  return journal;
}

Result<JournalFile> JournalFile::append_to(const std::filesystem::path& path, RecordSink& before,
                                           JournalEnd* end) {
  FL_TRY_ASSIGN(found, read_journal(path, before));
  if (found.state == JournalEnd::State::kDamaged) return input_error("{}", found.problem);
  if (found.state == JournalEnd::State::kFinished) {
    return input_error("{}: the journal is finished; nothing can follow", path.string());
  }
  FL_TRY_ASSIGN(file, append_to_file(path, found.bytes));
  JournalFile journal = go_on(found, std::move(file));
  if (end != nullptr) *end = std::move(found);
  return journal;
}

JournalFile JournalFile::go_on(const JournalEnd& end, std::unique_ptr<AppendFile> file) {
  FL_CHECK(end.state == JournalEnd::State::kUnfinished, "a journal that cannot go on");
  JournalFile journal;
  journal.last_ = end.last;
  journal.hash_ = end.hash;
  journal.block_bytes_ = kBlockBytesMax / 2;
  journal.file_.emplace(std::move(file), end.blocks);
  return journal;
}

void JournalFile::on(const Record& record) {
  FL_CHECK(!closed_, "a record follows the end of the journal");
  encode_record(buffer_, record, last_);
  last_ = record.t;
  ++buffered_;
  if (buffer_.bytes().size() >= block_bytes_) end_block();
}

void JournalFile::end_block() {
  if (buffered_ == 0) return;
  hash_.add(buffer_.bytes());
  if (file_) file_->append(buffer_.bytes(), buffered_, hash_.value());
  buffer_.clear();
  buffered_ = 0;
}

Status JournalFile::sync() {
  FL_CHECK(!closed_, "the journal is synced after its end");
  end_block();
  return file_ ? file_->sync() : Status();
}

Status JournalFile::close() {
  FL_CHECK(!std::exchange(closed_, true), "the journal is closed twice");
  end_block();
  return file_ ? file_->close() : Status();
}

std::string JournalFile::hash() const {
  FL_CHECK(closed_, "the journal may go on");
  return hash_text(hash_);
}

std::string hash_text(const StreamHash& hash) { return fmt::format("{:016x}", hash.value()); }

namespace {

class JournalReading {
 public:
  JournalReading(BlockReader& blocks, RecordSink& sink) : blocks_(blocks), sink_(sink) {}

  // Reads until the end, or to the first invalid block.
  Result<JournalEnd> read() {
    for (;;) {
      Result<std::optional<Block>> block = blocks_.next();
      if (!block && !blocks_.damaged()) return tl::unexpected(std::move(block).error());
      if (!block) return damaged(std::move(block).error().message, blocks_.rest());
      if (!*block) return at_end();
      if (std::string wrong = take(**block); !wrong.empty()) return refused(**block, wrong);
    }
  }

 private:
  // Returns the error in the records, or empty.
  std::string take(const Block& block) {
    if (decoder_.end()) return "records after the end record";
    const Status status =
        decoder_.decode(Reader({block.content.data(), block.content.size()}), sink_);
    if (!status) return status.error().message;
    if (decoder_.records() != end_.records + block.records) return "it has fewer or more records";
    end_.blocks = blocks_.blocks();
    end_.bytes = blocks_.bytes();
    end_.records = decoder_.records();
    end_.last = decoder_.last();
    end_.hash = blocks_.hash();
    return {};
  }

  JournalEnd damaged(std::string problem, const BlocksRest& rest) {
    end_.state = JournalEnd::State::kDamaged;
    end_.problem = std::move(problem);
    end_.rest = rest;
    return end_;
  }

  // Handles a block whose checksum is right and whose content is wrong. The rest is only counted.
  Result<JournalEnd> refused(const Block& block, std::string_view wrong) {
    BlocksRest rest{.blocks = 1, .records = block.records};
    Result<std::optional<Block>> next;
    while ((next = blocks_.next()) && *next) {
      ++rest.blocks;
      rest.records += (*next)->records;
    }
    if (!next && !blocks_.damaged()) return tl::unexpected(std::move(next).error());
    rest.bytes = blocks_.bytes() - end_.bytes + blocks_.rest().bytes;
    rest.blocks += blocks_.rest().blocks;
    rest.records += blocks_.rest().records;
    return damaged(fmt::format("{}: damaged at byte {}, in block {}: {}", blocks_.name(),
                               end_.bytes, end_.blocks + 1, wrong),
                   rest);
  }

  JournalEnd at_end() {
    if (!decoder_.end()) {
      end_.rest = blocks_.rest();
      return end_;
    }
    if (const BlocksRest& rest = blocks_.rest(); rest.bytes > 0) {
      return damaged(fmt::format("{}: damaged at byte {}: {} bytes follow the end record "
                                 "(fairlead journal repair cuts them)",
                                 blocks_.name(), end_.bytes, rest.bytes),
                     rest);
    }
    // Passed on only now: the sink could not take the end record back if more records followed.
    sink_.on(*decoder_.end());
    end_.state = JournalEnd::State::kFinished;
    return end_;
  }

  BlockReader& blocks_;
  RecordSink& sink_;
  RecordDecoder decoder_;
  JournalEnd end_{.bytes = kBlocksMagic.size()};
};

}  // namespace

Result<JournalEnd> read_journal(BlockReader blocks, RecordSink& sink) {
  return JournalReading(blocks, sink).read();
}

Result<JournalEnd> read_journal(const std::filesystem::path& path, RecordSink& sink) {
  FL_TRY_ASSIGN(blocks, BlockReader::open(path));
  return read_journal(std::move(blocks), sink);
}

Result<JournalEnd> read_finished_journal(const std::filesystem::path& path, RecordSink& sink) {
  FL_TRY_ASSIGN(end, read_journal(path, sink));
  if (end.state == JournalEnd::State::kDamaged) return input_error("{}", end.problem);
  if (end.state == JournalEnd::State::kFinished) return end;
  if (end.rest.bytes > 0) {
    return input_error(
        "{}: unfinished: the run was cut off; its last {} bytes, from byte {} on, are a partial "
        "block "
        "(for details: fairlead journal verify)",
        path.string(), end.rest.bytes, end.bytes);
  }
  return input_error(
      "{}: unfinished: it has no end record after {} records; the run goes on or was cut off",
      path.string(), end.records);
}

}  // namespace fairlead
