// SPDX-License-Identifier: Apache-2.0
// LegalDiagram: the legal assignments of groups of variables as a decision diagram with counts.
//
// Floor 6. Own design; counting and drawing by diagrams: Knuth, The Art of Computer Programming 4A,
// 7.1.4. One layer for each group. A node is what the rows chosen so far leave for the constraints
// that are open, so choices that leave the same meet in one node; an edge is a class of rows that
// no constraint with other groups tells apart. Nodes that no legal assignment goes through are cut
// off. Counts are numbers of 53 bits: exact up to there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tensorsmith/space/propagate.hpp"
#include "tensorsmith/support/compiled.hpp"

namespace tensorsmith {

class LegalDiagram {
 public:
  /// Edges that a builder may try.
  static constexpr std::size_t usual_limit = std::size_t{1} << 21;

  /// Rows of the group that later constraints do not tell apart stand together.
  struct Layer {
    std::vector<std::uint32_t> rows;     ///< of the group, by class
    std::vector<std::uint32_t> classes;  ///< where each begins in `rows`, and the end
    struct Edge {
      std::uint32_t row_class, target;
      double end;  ///< assignments by this edge and those in front of it of the same node
    };
    std::vector<Edge> edges;           ///< by node, classes ascending
    std::vector<std::uint32_t> nodes;  ///< where the edges of each begin, and the end

    std::uint32_t num_rows(std::uint32_t of_class) const {
      return classes[of_class + 1] - classes[of_class];
    }
    double count(std::uint32_t node) const {
      return nodes[node] == nodes[node + 1] ? 0 : edges[nodes[node + 1] - 1].end;
    }
  };

  explicit LegalDiagram(std::vector<Layer> layers) : layers_(std::move(layers)) {}

  /// Of groups of a space with so many variables; the roots of the tape are its constraints. Of the
  /// first groups alone where more edges than `max_edges` would be tried.
  static LegalDiagram make(const Tape& tape, const std::vector<ValueTable>& groups,
                           std::size_t num_variables, std::size_t max_edges);

  /// The groups that it knows: the first ones.
  std::size_t num_groups() const { return layers_.size(); }
  /// Of the assignments of its groups that break no constraint among them.
  double count() const { return layers_.empty() ? 1 : layers_.front().count(0); }

  /// Each of count() is as likely as every other; count() > 0.
  template <class Rng>
  void draw(const std::vector<ValueTable>& groups, Assignment& values, Rng& rng) const {
    std::uint32_t node = 0;
    for (std::size_t g = 0; g < layers_.size(); ++g) {
      const Layer& layer = layers_[g];
      const std::uint32_t first = layer.nodes[node];
      const Layer::Edge& edge =
          layer.edges[layer.nodes[node + 1] == first + 1
                          ? first
                          : edge_at(layer, node, fraction(rng) * layer.count(node))];
      const std::uint32_t rows = layer.num_rows(edge.row_class);
      const std::uint32_t drawn = rows == 1 ? 0 : rng.next_below(rows);
      groups[g].assign(layer.rows[layer.classes[edge.row_class] + drawn], values);
      node = edge.target;
    }
  }

  /// Number `index` of count().
  void assign(const std::vector<ValueTable>& groups, double index, Assignment& values) const {
    std::uint32_t node = 0;
    for (std::size_t g = 0; g < layers_.size(); ++g) {
      const Layer& layer = layers_[g];
      const std::uint32_t at = edge_at(layer, node, index);
      const Layer::Edge& edge = layer.edges[at];
      index -= before(layer, node, at);
      const double each = count_of(g + 1, edge.target);
      const auto drawn = static_cast<std::uint32_t>(index / each);
      index -= drawn * each;
      groups[g].assign(layer.rows[layer.classes[edge.row_class] + drawn], values);
      node = edge.target;
    }
  }

  /// The number that assign() knows it by; nothing if it is not legal.
  std::optional<double> index_of(const std::vector<ValueTable>& groups,
                                 const Assignment& values) const {
    std::uint32_t node = 0;
    double index = 0;
    for (std::size_t g = 0; g < layers_.size(); ++g) {
      const Layer& layer = layers_[g];
      const std::optional<std::size_t> row = groups[g].find(values);
      std::uint32_t at = row ? layer.nodes[node] : layer.nodes[node + 1];
      std::optional<std::size_t> place;
      for (; at < layer.nodes[node + 1]; ++at) {
        if ((place = place_in(layer, layer.edges[at].row_class, *row))) {
          break;
        }
      }
      if (!place) {
        return std::nullopt;
      }
      const std::uint32_t target = layer.edges[at].target;
      index += before(layer, node, at) + static_cast<double>(*place) * count_of(g + 1, target);
      node = target;
    }
    return index;
  }

 private:
  /// Uniform in [0, 1) with 53 bits, by any generator.
  template <class Rng>
  static double fraction(Rng& rng) {
    const double high = rng.next_below(1U << 31), low = rng.next_below(1U << 22);
    return (high + low * 0x1.0p-22) * 0x1.0p-31;
  }
  /// Where a row stands among those of its class.
  static std::optional<std::size_t> place_in(const Layer& layer, std::uint32_t of_class,
                                             std::size_t row) {
    std::size_t first = layer.classes[of_class], last = layer.classes[of_class + 1];
    const std::size_t begin = first;
    while (first < last) {
      const std::size_t middle = first + (last - first) / 2;
      (layer.rows[middle] < row ? first : last) = layer.rows[middle] < row ? middle + 1 : middle;
    }
    const bool is_found = first < layer.classes[of_class + 1] && layer.rows[first] == row;
    return is_found ? std::optional(first - begin) : std::nullopt;
  }
  static double before(const Layer& layer, std::uint32_t node, std::uint32_t edge) {
    return edge == layer.nodes[node] ? 0 : layer.edges[edge - 1].end;
  }
  double count_of(std::size_t layer, std::uint32_t node) const {
    return layer == layers_.size() ? 1 : layers_[layer].count(node);
  }
  /// The edge of number `index` of the node's assignments.
  static std::uint32_t edge_at(const Layer& layer, std::uint32_t node, double index) {
    std::uint32_t first = layer.nodes[node], last = layer.nodes[node + 1] - 1;
    while (first < last) {
      const std::uint32_t middle = first + (last - first) / 2;
      if (layer.edges[middle].end <= index) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    return first;
  }

  std::vector<Layer> layers_;
};

}  // namespace tensorsmith

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/space/diagram_body.hpp"
#endif
