// Reads keys of an experiment file that may be left out: where a key is missing, the value stays.
#pragma once

#include "fairlead/input/yaml_reader.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

Status read(const YamlNode& map, std::string_view key, std::string& value);
Status read(const YamlNode& map, std::string_view key, RealBounds bounds, double& value);
Status read(const YamlNode& map, std::string_view key, IntegerBounds bounds, std::int64_t& value);
// "true" or "false".
Status read(const YamlNode& map, std::string_view key, bool& value);
// A list, or one value that stands for a list of one.
Status read(const YamlNode& map, std::string_view key, std::vector<std::string>& values);
Status read(const YamlNode& map, std::string_view key, RealBounds bounds,
            std::vector<double>& values);
Status read(const YamlNode& map, std::string_view key, IntegerBounds bounds,
            std::vector<std::int64_t>& values);

}  // namespace fairlead
