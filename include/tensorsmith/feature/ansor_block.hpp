// SPDX-License-Identifier: Apache-2.0
// ansor_block: the row of the feature table for the reference's 164 columns per stored buffer.
//
// Floor 5. Ansor reference, ch. 6; columns in features.def.
#pragma once

#include <utility>

#include "tensorsmith/feature/extract.hpp"
#include "tensorsmith/feature/feature_table.hpp"

namespace tensorsmith {

inline FeatureExtractor ansor_block() {
  return {ansor_schema(),
          [](const ProgramView& view, const FeatureContext& context, FeatureBlock& block) {
            const auto& stores = view.part<store_program_of>(context);
            FeatureMatrix rows =
                stores ? extract_features(view.state(), *stores, context.rows) : FeatureMatrix{};
            block.num_rows = rows.num_rows;
            block.values = std::move(rows.values);
            return block.num_rows > 0;
          }};
}

}  // namespace tensorsmith
