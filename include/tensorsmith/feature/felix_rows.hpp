// SPDX-License-Identifier: Apache-2.0
// felix_rows: Felix's features of a program, one row of 154 numbers per stored buffer.
//
// Floor 5. Felix, ch. 3.2: the exact formulas at the integer point that a concrete program is. Read
// from the same stores as the rows of the Ansor reference. Not here: formulas in variables.
#pragma once

#include <vector>

#include "tensorsmith/feature/extract.hpp"
#include "tensorsmith/feature/feature_table.hpp"
#include "tensorsmith/feature/felix_columns.hpp"
#include "tensorsmith/support/compiled.hpp"

namespace tensorsmith {

struct FelixRows {
  std::vector<TensorId> tensors;  ///< the stored buffer of each row, in the order of first stores
  std::vector<float> values;      ///< row-major
  /// Felix's own extractor has these rows, too. It refuses programs in which an extent depends on
  /// the loops around or an index calls a function.
  bool is_known = true;
};

/// No rows if the program cannot be built. A part of a ProgramView.
TENSORSMITH_INLINE FelixRows felix_rows_of(const ProgramView& view, const FeatureContext& context);

/// The row of the feature table.
inline FeatureExtractor felix_block() {
  return {felix_schema(),
          [](const ProgramView& view, const FeatureContext& context, FeatureBlock& block) {
            const FelixRows& rows = view.part<felix_rows_of>(context);
            block.num_rows = static_cast<std::uint32_t>(rows.tensors.size());
            block.values = rows.values;
            return block.num_rows > 0;
          }};
}

}  // namespace tensorsmith

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/feature/felix_rows_body.hpp"
#endif
