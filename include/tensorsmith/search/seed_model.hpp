// SPDX-License-Identifier: Apache-2.0
// SeedModel: lengths of splits from registers and caches alone.
//
// Floor 7. Own design after Low et al., TOMS 2016: a register tile of mr x nr with
// mr * nv + nv + 1 <= registers, a run of kc reductions whose panels fit the first cache, blocks of
// mc and nc whose operands fit the second. Not here: what is made of the lengths
// (analytic_seeds.hpp).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "tensorsmith/cost/draft_rates.hpp"
#include "tensorsmith/search/open_stages.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/factorize.hpp"
#include "tensorsmith/support/sort.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith::detail {

/// One choice of the model for a stage. Sizes in elements of the axis.
struct TileChoice {
  std::int64_t vectors = 1, rows = 1;  ///< of the register tile
  std::int64_t run = 1;                ///< reductions between two visits of the tile: kc
  /// Register tiles along the rows and along the vector axis, at the two levels of blocks.
  std::int64_t inner_rows = 1, inner_columns = 1, outer_rows = 1, outer_columns = 1;
};

class SeedModel {
 public:
  SeedModel(const Target& target, std::int64_t max_innermost)
      : target_(target), rates_(draft_rates(target)), max_innermost_(max_innermost) {}

  /// The lengths of every split of the stage, in its order.
  std::vector<LengthList> lengths(const OpenStage& stage, const TileChoice& choice) const {
    std::vector<LengthList> result(stage.size());
    const std::size_t last = last_spatial(stage);
    // What one axis of rows cannot take goes to the next one outside: tiles of whole rows of a
    // plane have their blocks along its height.
    std::int64_t rows_left = choice.rows, run_left = choice.run;
    std::int64_t inner_left = choice.inner_rows, outer_left = choice.outer_rows;
    for (std::size_t i = stage.size(); i-- > 0;) {
      const OpenSplit& split = stage[i];
      std::int64_t tile = 1, inner = 1, outer = 1;
      if (split.is_reduction) {
        tile = even_part(split.extent, run_left);
        run_left = ceil_div(run_left, tile);
      } else if (i == last) {
        tile = smaller_of(choice.vectors * lanes(stage), smaller_of(split.extent, max_innermost_));
        inner = choice.inner_columns;
        outer = choice.outer_columns;
      } else {
        tile = smaller_of(smaller_of(rows_left, split.extent), max_innermost_);
        rows_left = larger_of<std::int64_t>(rows_left / tile, 1);
        inner = inner_left;
        outer = outer_left;
      }
      const std::int64_t tiles = ceil_div(split.extent, tile);
      inner = even_part(tiles, inner);
      outer = even_part(ceil_div(tiles, inner), outer);
      if (!split.is_reduction && i != last) {
        inner_left = ceil_div(inner_left, inner);
        outer_left = ceil_div(outer_left, outer);
      }
      LengthList& lengths = result[i];
      lengths = LengthList(split.num_lengths, 1);
      lengths[split.num_lengths - 1] = tile;
      if (split.num_lengths > 1 && !split.is_reduction) {
        lengths[split.num_lengths - 2] = inner;
      }
      if (split.num_lengths > 2 && !split.is_reduction) {
        lengths[split.num_lengths - 3] = outer;
      }
    }
    return result;
  }

  /// Register tiles by the share of the arithmetic units that they keep busy, best first.
  std::vector<TileChoice> tiles(const OpenStage& stage, std::size_t most) const {
    const std::size_t last = last_spatial(stage);
    if (last == stage.size()) {
      std::vector<TileChoice> blocks;
      for (std::int64_t rows = 1; rows <= few_rows && blocks.size() < most; rows *= 2) {
        blocks.push_back(TileChoice{});
        blocks.back().rows = rows;
      }
      return blocks;
    }
    std::int64_t row_extent = 1;
    for (std::size_t i = 0; i < stage.size(); ++i) {
      row_extent *= i != last && !stage[i].is_reduction ? stage[i].extent : 1;
    }
    struct Rated {
      TileChoice choice;
      double share;
    };
    std::vector<Rated> rated;
    const std::int64_t most_vectors =
        smaller_of<std::int64_t>(4, ceil_div(stage[last].extent, lanes(stage)));
    for (std::int64_t vectors = 1; vectors <= most_vectors; ++vectors) {
      const std::int64_t most_rows =
          larger_of<std::int64_t>((target_.num_vector_registers - vectors - 1) / vectors, 1);
      for (std::int64_t rows = 1; rows <= smaller_of(most_rows, row_extent); ++rows) {
        TileChoice choice;
        choice.vectors = vectors;
        choice.rows = rows;
        rated.push_back(
            {choice, share(vectors, rows, lanes(stage), stage[last].extent, row_extent)});
      }
      // All of a few rows: lowering cuts them into equal parts that fit, inside of the columns, so
      // that each column is read once.
      std::int64_t part = smaller_of(most_rows, row_extent);
      while (row_extent % part != 0) {
        --part;
      }
      if (row_extent > most_rows && row_extent <= few_rows) {
        TileChoice choice;
        choice.vectors = vectors;
        choice.rows = row_extent;
        rated.push_back(
            {choice, share(vectors, part, lanes(stage), stage[last].extent, row_extent)});
      }
    }
    sort_items(rated, [](const Rated& a, const Rated& b) {
      return a.share != b.share ? a.share > b.share : a.choice.rows > b.choice.rows;
    });
    std::vector<TileChoice> best = tile_registers(stage);
    for (const Rated& one : rated) {
      // At most two heights of one width: variety counts more than the last percent.
      const std::size_t alike = count_items(
          best, [&](const TileChoice& other) { return other.vectors == one.choice.vectors; });
      if (best.size() < most && alike < 2) {
        best.push_back(one.choice);
      }
    }
    return best;
  }

  /// Heights of blocks for stages that are tiled inside of them.
  std::vector<TileChoice> row_blocks() const {
    std::vector<TileChoice> heights;
    for (std::int64_t rows : {8, 4, 16, 2, 32, 1, 64}) {
      heights.push_back(TileChoice{});
      heights.back().rows = rows;
    }
    return heights;
  }

  /// Blocks around a register tile: the whole reduction or a part; tiles that share an operand.
  std::vector<TileChoice> blocks(const OpenStage& stage, const TileChoice& tile) const {
    std::int64_t reduction = 1, tiles_down = 1, tiles_across = 1, rows = 1;
    const std::size_t last = last_spatial(stage);
    for (std::size_t i = 0; i < stage.size(); ++i) {
      if (stage[i].is_reduction) {
        reduction *= stage[i].extent;
      } else if (i == last) {
        tiles_across = ceil_div(stage[i].extent, tile.vectors * lanes(stage));
      } else {
        tiles_down *= stage[i].extent;
        rows *= stage[i].extent;
      }
    }
    tiles_down = ceil_div(tiles_down, tile.rows);
    const std::int64_t element_bytes = stage.front().element_bytes;
    const std::int64_t l1 = target_.caches.l1d_bytes.value_or(32 * 1024) / element_bytes;
    const std::int64_t l2 = target_.caches.l2_bytes.value_or(256 * 1024) / element_bytes;
    const std::int64_t columns = tile.vectors * lanes(stage);
    const std::int64_t kc = larger_of<std::int64_t>(l1 / (tile.rows + columns), 1);
    std::vector<std::int64_t> runs;
    add_new(runs, {reduction, smaller_of(kc, reduction), smaller_of(2 * kc, reduction),
                   smaller_of(kc / 2 + 1, reduction)});
    if (rows <= few_rows) {  // little reuse: rows of the other operand as streams, a few at a time
      for (std::int64_t run : {8, 16, 32, 64}) {
        add_new(runs, {smaller_of(run, reduction)});
      }
    }
    std::vector<TileChoice> choices;
    for (std::int64_t run : runs) {
      const std::int64_t across = smaller_of(fit(l2 / 2, run * columns), tiles_across);
      const std::int64_t down = smaller_of(fit(l2 / 2, run * tile.rows), tiles_down);
      const std::int64_t near_across = smaller_of(fit(l1 / 2, run * columns), tiles_across);
      std::vector<std::int64_t> inner_columns, inner_rows;
      add_new(inner_columns, {1, near_across, across});
      if (rows <= few_rows && run < reduction) {  // partial results stay near, beside two blocks
        add_new(inner_columns, {smaller_of(fit(l2 / 16, rows * columns), tiles_across)});
      }
      add_new(inner_rows, {1, down});
      for (std::int64_t c : inner_columns) {
        for (std::int64_t r : inner_rows) {
          std::vector<std::int64_t> outer_columns, outer_rows;
          add_new(outer_columns, {1, ceil_div(across, c), ceil_div(tiles_across, c)});
          add_new(outer_rows, {1, ceil_div(down, r), ceil_div(tiles_down, r)});
          for (std::int64_t oc : outer_columns) {
            for (std::int64_t orows : outer_rows) {
              TileChoice choice = tile;
              choice.run = run;
              choice.inner_columns = c;
              choice.inner_rows = r;
              choice.outer_columns = oc;
              choice.outer_rows = orows;
              choices.push_back(choice);
            }
          }
        }
      }
    }
    return choices;
  }

 private:
  struct TileShape {
    std::int64_t rows, columns;
  };
  /// Blocks of tile registers, those that leave no tails first, then those that multiply most for
  /// every tile that is loaded.
  std::vector<TileChoice> tile_registers(const OpenStage& stage) const {
    std::vector<TileChoice> choices;
    const TensorIntrinsic* tiles = stage.front().tiles;
    const OpenSplit* rows = nullptr;  // the innermost one
    const std::size_t last = last_spatial(stage);
    for (std::size_t i = 0; i < stage.size(); ++i) {
      rows = !stage[i].is_reduction && i != last ? &stage[i] : rows;
    }
    if (tiles == nullptr || rows == nullptr || tiles->n % lanes(stage) != 0) {
      return choices;
    }
    for (const bool wants_whole : {true, false}) {
      for (const TileShape shape : {TileShape{2, 2}, TileShape{1, 4}, TileShape{4, 1},
                                    TileShape{1, 2}, TileShape{2, 1}, TileShape{1, 1}}) {
        TileChoice choice;
        choice.rows = tiles->m * shape.rows;
        choice.vectors = tiles->n * shape.columns / lanes(stage);
        const std::int64_t columns = tiles->n * shape.columns;
        const bool is_whole = rows->extent % choice.rows == 0 && stage[last].extent % columns == 0;
        if (rows->extent >= choice.rows && stage[last].extent >= columns &&
            is_whole == wants_whole && choices.size() < most_tile_shapes) {
          choices.push_back(choice);
        }
      }
    }
    return choices;
  }
  static constexpr std::size_t most_tile_shapes = 3;

  /// With so few rows an operand is streamed rather than kept.
  static constexpr std::int64_t few_rows = 64;

  std::int64_t lanes(const OpenStage& stage) const {
    // Where vectors run along the sum, an element of the tile is a vector.
    const std::int64_t in_vector = target_.vector_lanes(8 * stage.front().element_bytes);
    return stage.front().in_lanes ? 1 : larger_of<std::int64_t>(in_vector, 1);
  }
  static std::size_t last_spatial(const OpenStage& stage) {
    std::size_t last = stage.size();
    for (std::size_t i = 0; i < stage.size(); ++i) {
      last = stage[i].is_reduction || stage[i].is_block ? last : i;
    }
    return last;
  }
  static std::int64_t fit(std::int64_t room, std::int64_t size) {
    return larger_of<std::int64_t>(room / larger_of<std::int64_t>(size, 1), 1);
  }
  static void add_new(std::vector<std::int64_t>& values, std::initializer_list<std::int64_t> more) {
    for (std::int64_t value : more) {
      if (!has_item(values, value)) {
        values.push_back(value);
      }
    }
  }
  /// `whole` in parts of about `wanted`, all of one size if that can be had nearby.
  static std::int64_t even_part(std::int64_t whole, std::int64_t wanted) {
    if (wanted >= whole) {
      return whole;
    }
    const std::int64_t count = ceil_div(whole, larger_of<std::int64_t>(wanted, 1));
    for (std::int64_t parts = count; parts < count + count / 2 + 1; ++parts) {
      if (whole % parts == 0) {
        return whole / parts;
      }
    }
    return ceil_div(whole, count);
  }
  /// Busy share of the arithmetic units: filled tiles over the steps that they take.
  double share(std::int64_t vectors, std::int64_t rows, std::int64_t lanes, std::int64_t columns,
               std::int64_t row_extent) const {
    const auto real = [](std::int64_t x) { return static_cast<double>(x); };
    const double units = target_.fma_per_cycle.value_or(2);
    const double arithmetic = real(rows * vectors) / units;
    const double step =
        larger_of(real(rows + vectors) / 2, step_of_products(arithmetic, target_, rates_));
    const double fill_columns =
        real(columns) / real(ceil_div(columns, vectors * lanes) * vectors * lanes);
    const double fill_rows = real(row_extent) / real(ceil_div(row_extent, rows) * rows);
    return arithmetic / step * fill_columns * (0.5 + 0.5 * fill_rows);
  }

  const Target& target_;
  CoreRates rates_;
  std::int64_t max_innermost_;
};

}  // namespace tensorsmith::detail
