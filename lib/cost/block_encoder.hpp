// SPDX-License-Identifier: Apache-2.0
// BlockEncoder: programs scored by a network in blocks of columns.
//
// Private to lib/cost. Rows of programs are encoded when a block is full, whichever programs they
// are of, and added up by program. Products always have this many columns, so that every program is
// computed by the same instructions wherever it stands (see lib/cost/mlp.cpp).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "program_network.hpp"

namespace tensorsmith::program_network {

class BlockEncoder {
 public:
  static constexpr Eigen::Index columns = 64;  ///< of a product; programs of a block at most

  BlockEncoder(const ProgramNetwork& network, std::span<float> scores)
      : network_(network), scores_(scores), slot_of_column_(columns) {
    inputs_ = Matrix::Zero(network.shape().num_inputs, columns);
    sums_ = Matrix::Zero(network.shape().num_hidden, columns);
  }

  /// The program whose score goes to `position`: its place in the block. `write_row(r, out)`.
  template <class WriteRow>
  Eigen::Index add(std::size_t position, std::size_t num_rows, const WriteRow& write_row) {
    const auto slot = static_cast<Eigen::Index>(positions_.size());
    positions_.push_back(position);
    for (std::size_t r = 0; r < num_rows; ++r) {
      write_row(r, inputs_.col(num_rows_).data());
      slot_of_column_[static_cast<std::size_t>(num_rows_)] = slot;
      if (++num_rows_ == columns) {
        encode();
      }
    }
    return slot;
  }
  bool is_empty() const { return positions_.empty(); }
  bool is_full() const { return positions_.size() == static_cast<std::size_t>(columns); }

  /// Writes the scores of the block. `branch`: as decode() takes it.
  void finish(const Matrix& branch) {
    encode();
    Vector scores;
    network_.decode(sums_, branch, scores);
    for (std::size_t slot = 0; slot < positions_.size(); ++slot) {
      scores_[positions_[slot]] = scores[static_cast<Eigen::Index>(slot)];
    }
    positions_.clear();
    sums_.setZero();
  }

 private:
  void encode() {
    if (num_rows_ > 0) {
      network_.encode(inputs_, hidden_, encoded_);
    }
    for (Eigen::Index c = 0; c < num_rows_; ++c) {
      sums_.col(slot_of_column_[static_cast<std::size_t>(c)]) += encoded_.col(c);
    }
    num_rows_ = 0;
  }

  const ProgramNetwork& network_;
  std::span<float> scores_;
  Matrix inputs_, sums_, hidden_, encoded_;
  Eigen::Index num_rows_ = 0;
  std::vector<Eigen::Index> slot_of_column_;
  std::vector<std::size_t> positions_;
};

}  // namespace tensorsmith::program_network
