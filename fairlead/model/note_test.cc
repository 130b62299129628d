#include "fairlead/model/note.h"

#include "fairlead/base/testing_docs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(Notes, AreExplainedInTheDocumentation) {
  std::vector<DocRow> explained =
      doc_table("docs/formats.md", "| note | fields | steps | value | written by |");
  for (DocRow& row : explained) row.resize(4);  // the last column, policies, is not compared
  std::vector<DocRow> rows;
  for (std::size_t kind = 0; kind < kNoteKinds; ++kind) {
    rows.push_back({std::string(note_info(kind).name), std::string(note_info(kind).about),
                    fmt::format("{:.0f}", note_info(kind).scale),
                    std::string(note_info(kind).value)});
  }
  EXPECT_EQ(explained, rows);
}

TEST(Notes, HaveTheNumbersThatTheJournalGivesThem) {
  std::string names;
  for (std::size_t kind = 0; kind < kNoteKinds; ++kind) {
    names += fmt::format("{}{}", kind == 0 ? "" : ", ", note_info(kind).name);
    if (kind == 0 || kind == kNoteKinds - 1) names += fmt::format(" {}", kind);
  }
  const std::vector<DocRow> records = doc_table("docs/formats.md", "| # | kind | fields |");
  ASSERT_GT(records.size(), 14u);
  EXPECT_EQ(records[14],
            (DocRow{"14", "note", "kind (" + names + "), job, user, other user, GPU type, value"}));
}

TEST(Notes, AreWholeNumbersOfTheirUnit) {
  EXPECT_EQ(scaled_value(note::Queue{JobId(0), 2}), 2);
  EXPECT_EQ(scaled_value(note::NodeTimer{JobId(0), milliseconds(42'500)}), 42.5);
  EXPECT_EQ(scaled_value(note::Pass{JobId(0), note::Millionths::of(1.25)}), 1.25);
}

}  // namespace
}  // namespace fairlead
