// SPDX-License-Identifier: Apache-2.0
// standard_features: the table of the blocks of features that the library has.
//
// Floor 6. Own design. A new block is one file with its row, and one line here; blocks of users
// need none (TuneOptions::features). docs/cost-models.md lists them.
#pragma once

#include "tensorsmith/cost/draft_block.hpp"
#include "tensorsmith/cost/schedule_choices.hpp"
#include "tensorsmith/feature/ansor_block.hpp"
#include "tensorsmith/feature/felix_rows.hpp"
#include "tensorsmith/feature/pam_rows.hpp"
#include "tensorsmith/feature/psa_kernels.hpp"
#include "tensorsmith/feature/psa_rows.hpp"
#include "tensorsmith/feature/workload_embedding.hpp"

namespace tensorsmith {

inline FeatureTable standard_features() {
  FeatureTable table;
  for (FeatureExtractor (*row)() :
       {ansor_block, draft_block, choices_block, psa_block, psa_kernels_block, statements_block,
        dataflow_block, embedding_block, felix_block}) {
    (void)table.add(row());
  }
  return table;
}

}  // namespace tensorsmith
