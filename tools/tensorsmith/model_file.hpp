// SPDX-License-Identifier: Apache-2.0
// Cost models from files, and to files.
#pragma once

#include <string>

#include "command.hpp"
#include "tensorsmith/cost/model_factory.hpp"

namespace tensorsmith::cli {

struct ModelFiles {
  std::string load;  ///< that save() wrote, or the index of released weights (.json); empty: none
  std::string save;  ///< empty: none
};

/// The model of that name, with what a file says. Throws Error if there is no such model or the
/// file is not one of its kind.
Shared<CostModel> loaded_model(const std::string& name, const ModelFiles& files,
                               const ModelContext& context);

/// Throws Error if the model cannot be saved, or the file cannot be written.
void save_model(const CostModel& model, const std::string& path);

}  // namespace tensorsmith::cli
