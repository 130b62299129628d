#include "table.h"

#include <cerrno>
#include <cmath>

// The structures of the Arrow C data interface.
// https://arrow.apache.org/docs/format/CDataInterface.html
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};

namespace fairlead::python {
namespace {

constexpr std::int64_t kNullable = 2;  // ARROW_FLAG_NULLABLE

const char* format_of(const Column& column) {
  constexpr const char* kFormats[] = {"g", "l", "U"};  // float64, int64, large utf8
  return kFormats[column.values.index()];
}

// Keeps the data of an exported schema alive.
struct SchemaData {
  std::vector<std::string> names;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
};

void release_child(ArrowSchema* schema) { schema->release = nullptr; }

void release_schema(ArrowSchema* schema) {
  auto* data = static_cast<SchemaData*>(schema->private_data);
  for (ArrowSchema& child : data->children) {
    if (child.release != nullptr) child.release(&child);
  }
  delete data;
  schema->release = nullptr;
}

void export_schema(const Table& table, ArrowSchema* schema) {
  auto* data = new SchemaData;
  for (const Column& column : table.columns) data->names.push_back(column.name);
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    data->children.push_back({.format = format_of(table.columns[i]),
                              .name = data->names[i].c_str(),
                              .flags = kNullable,
                              .release = release_child});
  }
  for (ArrowSchema& child : data->children) data->pointers.push_back(&child);
  *schema = {.format = "+s",
             .name = "",
             .n_children = static_cast<std::int64_t>(data->pointers.size()),
             .children = data->pointers.data(),
             .release = release_schema,
             .private_data = data};
}

// Keeps the data of an exported column alive, also after it was moved.
struct ColumnData {
  std::shared_ptr<const Table> table;
  std::vector<std::uint8_t> valid;  // a bit per row; empty: all rows are valid
  const void* buffers[3] = {};
};

void release_column(ArrowArray* array) {
  delete static_cast<ColumnData*>(array->private_data);
  array->release = nullptr;
}

std::int64_t find_nulls(const std::vector<double>& values, std::vector<std::uint8_t>& valid) {
  std::int64_t nulls = 0;
  for (double value : values) nulls += std::isnan(value) ? 1 : 0;
  if (nulls == 0) return 0;
  valid.assign((values.size() + 7) / 8, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isnan(values[i])) valid[i / 8] |= static_cast<std::uint8_t>(1 << i % 8);
  }
  return nulls;
}

void export_column(const std::shared_ptr<const Table>& table, const Column& column,
                   ArrowArray* array) {
  auto* data = new ColumnData{.table = table};
  *array = {.length = static_cast<std::int64_t>(column.size()),
            .n_buffers = 2,
            .buffers = data->buffers,
            .release = release_column,
            .private_data = data};
  if (const auto* numbers = std::get_if<std::vector<double>>(&column.values)) {
    array->null_count = find_nulls(*numbers, data->valid);
    data->buffers[1] = numbers->data();
  } else if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&column.values)) {
    data->buffers[1] = whole->data();
  } else {
    const auto& texts = std::get<Texts>(column.values);
    array->n_buffers = 3;
    data->buffers[1] = texts.offsets.data();
    data->buffers[2] = texts.bytes.data();
  }
  if (!data->valid.empty()) data->buffers[0] = data->valid.data();
}

struct BatchData {
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
  const void* buffers[1] = {};
};

void release_batch(ArrowArray* array) {
  auto* data = static_cast<BatchData*>(array->private_data);
  for (ArrowArray& child : data->children) {
    if (child.release != nullptr) child.release(&child);
  }
  delete data;
  array->release = nullptr;
}

struct StreamData {
  std::shared_ptr<const Table> table;
  bool is_read = false;
};

int get_schema(ArrowArrayStream* stream, ArrowSchema* schema) {
  export_schema(*static_cast<StreamData*>(stream->private_data)->table, schema);
  return 0;
}

int get_next(ArrowArrayStream* stream, ArrowArray* array) {
  auto* data = static_cast<StreamData*>(stream->private_data);
  if (data->is_read) {
    array->release = nullptr;  // end of the stream
    return 0;
  }
  data->is_read = true;
  auto* batch = new BatchData;
  batch->children.resize(data->table->columns.size());
  for (std::size_t i = 0; i < batch->children.size(); ++i) {
    export_column(data->table, data->table->columns[i], &batch->children[i]);
    batch->pointers.push_back(&batch->children[i]);
  }
  *array = {.length = static_cast<std::int64_t>(data->table->rows()),
            .n_buffers = 1,
            .n_children = static_cast<std::int64_t>(batch->pointers.size()),
            .buffers = batch->buffers,
            .children = batch->pointers.data(),
            .release = release_batch,
            .private_data = batch};
  return 0;
}

const char* get_last_error(ArrowArrayStream* /*stream*/) { return nullptr; }

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<StreamData*>(stream->private_data);
  stream->release = nullptr;
}

}  // namespace

std::size_t Column::size() const {
  if (const auto* texts = std::get_if<Texts>(&values)) return texts->offsets.size() - 1;
  if (const auto* numbers = std::get_if<std::vector<double>>(&values)) return numbers->size();
  return std::get<std::vector<std::int64_t>>(values).size();
}

ArrowArrayStream* export_stream(std::shared_ptr<const Table> table) {
  return new ArrowArrayStream{.get_schema = get_schema,
                              .get_next = get_next,
                              .get_last_error = get_last_error,
                              .release = release_stream,
                              .private_data = new StreamData{std::move(table)}};
}

void delete_stream(ArrowArrayStream* stream) {
  if (stream->release != nullptr) stream->release(stream);
  delete stream;
}

}  // namespace fairlead::python
