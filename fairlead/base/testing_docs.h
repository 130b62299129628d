// Tables of the documentation, for tests that compare them with the tables in the code.
#pragma once

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

using DocRow = std::vector<std::string>;

// Returns the rows of the first table in the Markdown file `path` with the header line `header`, without the header; no
// rows if there is no such table.
inline std::vector<DocRow> doc_table(const std::string& path, std::string_view header) {
  std::ifstream file(path);
  std::vector<DocRow> rows;
  std::string line;
  while (std::getline(file, line) && line != header) continue;
  std::getline(file, line);  // |---|---|
  while (std::getline(file, line) && line.starts_with("| ")) {
    DocRow cells;
    for (std::size_t begin = 1, end = 0; (end = line.find('|', begin)) != line.npos;
         begin = end + 1) {
      const std::size_t first = std::min(line.find_first_not_of(' ', begin), end);
      const std::size_t last = line.find_last_not_of(' ', end - 1);
      cells.push_back(first == end ? "" : line.substr(first, last + 1 - first));
    }
    rows.push_back(std::move(cells));
  }
  return rows;
}

}  // namespace fairlead
