// SPDX-License-Identifier: Apache-2.0
// Workloads with a range of rows, such as gemm:1..512x768x768:f32.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "command.hpp"
#include "export_files.hpp"
#include "tensorsmith/tune/range.hpp"

namespace tensorsmith::cli {

/// FIRST..LAST in place of an extent; the same range in several places is one number.
struct RowRange {
  std::string text;  ///< the workload, or index notation
  std::string mark;  ///< "1..512"
  std::int64_t first = 1, last = 1;

  std::string with(std::int64_t rows) const;
  /// Throws Error for a workload that there is not.
  TaskOfRows task(const Target& target) const;
};

/// Nothing if the text has no range. Throws Error for two different ones.
std::optional<RowRange> row_range(const std::string& workload);

struct RangeArguments {
  WorkloadOptions common;
  TuneOptions tune;  ///< its budget is that of all kernels
  bool is_quiet = false;
};
int tune_row_range(const RangeArguments& arguments, const RowRange& range);

/// The files of an exported family, of the best records.

std::vector<ExportedFile> range_files(const WorkloadOptions& common, const RowRange& range,
                                      const std::string& name, bool is_portable);

}  // namespace tensorsmith::cli
