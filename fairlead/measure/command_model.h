// The model of a job whose user names none: its script or program, and the words of its command that are neither numbers
// nor paths. So the runs of a sweep over numbers and data sets are of one model, and the daemon knows their speeds.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fairlead {

// Returns the name of the script, or else of the program: "train.py" for "python ./train.py --lr 3", also behind a
// tracker or in a container. Not empty. REQUIRES: the command is not empty, and neither is its first word.
std::string program_of(std::span<const std::string> command);

// Returns program_of(), and a hash of the words after it that are neither numbers nor paths: "train.py#3fa2c1". Without
// such words, there is no hash. The hash hides the words: all users see the models of jobs, and a command may have secrets.
// `image`: of the container, which is part of the hash; empty: there is none. REQUIRES: as program_of().
std::string model_of(std::span<const std::string> command, std::string_view image = {});

}  // namespace fairlead
