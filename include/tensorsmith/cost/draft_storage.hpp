// SPDX-License-Identifier: Apache-2.0
// DraftStorage: how the values of tensors lie in memory, and what of it an access touches.
//
// Floor 6. Own design. Aware of storage layouts. Not here: what of that the caches hold
// (draft_traffic.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensorsmith/cost/draft_footprint.hpp"
#include "tensorsmith/cost/draft_program.hpp"
#include "tensorsmith/sched/layouts.hpp"

namespace tensorsmith::detail {

class DraftStorage {
 public:
  explicit DraftStorage(const DraftProgram& program) : program_(program), state_(program.state()) {
    layouts_ = storage_layouts(state_);
    std::vector<bool> is_known(state_.dag().tensors().size(), false);
    pieces_.resize(is_known.size());
    for (std::size_t s = 0; s < state_.num_stages(); ++s) {
      for (const DraftAccess& access : program_.operation(s).accesses) {
        const std::size_t tensor = access.tensor.value;
        if (!is_known[tensor]) {
          is_known[tensor] = true;
          pieces_[tensor] = read_pieces(access.tensor);
        }
      }
    }
  }

  /// Elements between neighbours along `axis`; 0: they are the same element.
  double stride(const DraftOperation& op, const DraftAccess& access, std::size_t axis) const {
    const std::vector<DraftPiece>& pieces = pieces_of(access);
    double sum = 0, below = 1;
    for (std::size_t p = pieces.size(); p-- > 0;) {
      double step = op.row(access, pieces[p].dimension)[axis];
      step = (op.collapsed >> axis & 1) != 0 && step < 1 ? 0 : step;  // its rows follow each other
      const bool is_outer_block = pieces[p].block > 1;                // its inner piece counts
      sum += is_outer_block ? 0 : step * below;
      below *= pieces[p].extent + pieces[p].pad;
    }
    return sum;
  }

  /// What an access touches when axis a runs over spans[a] positions.
  DraftFootprint footprint(const DraftOperation& op, const DraftAccess& access,
                           const std::vector<double>& spans) const {
    const std::vector<DraftPiece>& pieces = pieces_of(access);
    DraftFootprint result;
    double below = bytes_of(state_.dag().tensor(access.tensor).dtype);
    result.run = below;
    bool is_contiguous = true;
    for (std::size_t p = pieces.size(); p-- > 0;) {
      const DraftPiece& piece = pieces[p];
      const double* row = op.row(access, piece.dimension);
      double width = 1, of_run = 0;
      for (std::size_t a = 0; a < op.num_axes; ++a) {
        // Five pixels in a run through rows of seven are five, not two times five.
        const bool is_outer_of_run = (op.collapsed >> a & 1) != 0 && row[a] < 1;
        (is_outer_of_run ? of_run : width) +=
            is_outer_of_run ? larger_of(0.0, row[a] * spans[a] - 1) : row[a] * (spans[a] - 1);
      }
      width = smaller_of(piece.extent, larger_of(1.0, whole(width / piece.block)) + of_run);
      if (!is_contiguous && result.stride == 0 && width > 1) {
        result.stride = below;
      }
      (is_contiguous ? result.run : result.segments) *= width;
      is_contiguous = is_contiguous && width >= piece.extent + piece.pad;
      below *= piece.extent + piece.pad;
    }
    result.stride = result.stride == 0 ? result.run : result.stride;
    return result;
  }

 private:
  /// Pieces of the tensor's storage. One that is computed inside other loops has only the region
  /// that they need.
  const std::vector<DraftPiece>& pieces_of(const DraftAccess& access) const {
    return pieces_[access.tensor.value];
  }

  std::vector<DraftPiece> read_pieces(TensorId tensor) const {
    const TensorInfo& info = state_.dag().tensor(tensor);
    std::vector<double> extents(info.shape.begin(), info.shape.end());
    if (program_.place(info.operation)) {
      std::vector<double> region(extents.size(), 1.0);
      for (const DraftLoop& loop : program_.own_loops(info.operation)) {
        const std::size_t axis = DraftProgram::axis_index(loop.moves);
        if (loop.moves != 0 && axis < region.size()) {
          region[axis] *= loop.extent;
        }
      }
      const AxisMask collapsed = program_.operation(info.operation).collapsed;
      for (std::size_t d = extents.size(); d-- > 1;) {  // one loop runs along several dimensions
        if ((collapsed >> d & 1) != 0) {
          for (std::size_t a = d; a > 0 && region[a] > extents[a]; --a) {
            region[a - 1] *= whole(region[a] / extents[a]);
            region[a] = extents[a];
          }
        }
      }
      for (std::size_t d = 0; d < extents.size(); ++d) {
        extents[d] = smaller_of(extents[d], region[d]);
      }
    }
    std::vector<DraftPiece> pieces;
    const StorageLayoutStep* layout = layouts_[info.operation];
    if (layout == nullptr) {
      for (std::size_t d = 0; d < extents.size(); ++d) {
        pieces.push_back({d, extents[d], 1});
      }
      return pieces;
    }
    for (std::int32_t entry : layout->order) {
      const auto d = static_cast<std::size_t>(entry / 2);
      const double block = static_cast<double>(layout->blocks[d]);
      const bool is_inner = entry % 2 == 1;
      pieces.push_back({d,
                        is_inner    ? block
                        : block > 0 ? whole(extents[d] / block)
                                    : extents[d],
                        is_inner || block == 0 ? 1 : block});
    }
    pieces.back().pad = static_cast<double>(layout->pad_elements);
    return pieces;
  }

  const DraftProgram& program_;
  const State& state_;
  std::vector<const StorageLayoutStep*> layouts_;  ///< per stage; empty: none has one
  std::vector<std::vector<DraftPiece>> pieces_;    ///< per tensor
};

}  // namespace tensorsmith::detail
