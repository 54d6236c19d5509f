// SPDX-License-Identifier: Apache-2.0
#include "transposition.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

#include "tensorsmith/ir/node_cost.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/support/factorize.hpp"

namespace tensorsmith::llvm_codegen {
namespace {

using V = LLVMValueRef;

/// The largest distance of lanes that access_emit.cpp loads as whole vectors.
constexpr std::int64_t nearly_dense = 4;
/// Lines this far apart share a few sets of the first-level cache. Blocks of stores to them take
/// up to three times as long as storing row after row (Zen 5, 256^2 and 1024^2 elements of f32).
constexpr std::int64_t conflict_bytes = 1024;

class Finder {
 public:
  Finder(const LoopProgram& program, const ProgramFacts& facts, const For& u, const For& v)
      : program_(program), facts_(facts), u_(u), v_(v) {}

  /// Fills in the values.
  void visit(ExprId id) {
    if (!seen_.insert(id).second) {
      return;
    }
    const ExprNode& node = program_.pool[id];
    if (is_column(id)) {
      values.push_back(id);
      return;
    }
    if (std::holds_alternative<Load>(node.op)) {
      return;
    }
    const Call* const call = std::get_if<Call>(&node.op);
    if (call != nullptr && call->op == CallOp::if_then_else) {
      // What only one arm may touch is computed under its condition, whole.
      if (are_rows(id)) {
        values.push_back(id);
      } else {
        visit(call->args[0]);
      }
      return;
    }
    for_each_child(node, [&](ExprId child) { visit(child); });
  }

  std::vector<ExprId> values;

 private:
  bool is_column(ExprId id) const {
    const Load* const load = program_.pool.as<Load>(id);
    if (load == nullptr) {
      return false;
    }
    const auto along_v = facts_.stride(load->buffer, load->indices, v_.var);
    return facts_.stride(load->buffer, load->indices, u_.var) == 1 && along_v &&
           (*along_v < -1 || *along_v > nearly_dense);
  }
  /// All loads are dense or constant along u, one of them is a column.
  bool are_rows(ExprId root) const {
    bool all = true, one = false;
    visit_nodes(program_.pool, root, [&](ExprId id) {
      if (const Load* load = program_.pool.as<Load>(id)) {
        const auto along_u = facts_.stride(load->buffer, load->indices, u_.var);
        all = all && along_u && (*along_u == 0 || *along_u == 1);
        one = one || is_column(id);
      }
    });
    return all && one;
  }

  const LoopProgram& program_;
  const ProgramFacts& facts_;
  const For& u_;
  const For& v_;
  std::set<ExprId> seen_;
};

int log2_of(int power) {
  int bits = 0;
  while ((1 << bits) < power) {
    ++bits;
  }
  return bits;
}

/// Of what is done for as many iterations of u as a vector has lanes, or for all: computed along u
/// for each of the n iterations of v and interleaved, along both, or along v for each of u. In
/// vector instructions; a core loads while it computes. What does not change along u is computed in
/// front of it.
struct Costs {
  double interleaved = 0, joint = 0, along_v = 0;
};
constexpr double load_cost = 0.25, shuffle_cost = 1;

/// Of a load in vectors whose lanes are so far apart; nothing: unevenly. Loads of such vectors for
/// neighbouring elements share what they load.
double vector_cost(std::optional<std::int64_t> stride, std::int64_t lanes) {
  if (stride && (*stride == 0 || *stride == 1)) {
    return load_cost;
  }
  const bool is_near = stride && *stride >= -1 && *stride <= nearly_dense;
  const std::int64_t shuffles = is_near ? std::max<std::int64_t>(1, *stride - 1) : lanes;
  return (is_near ? load_cost : load_cost * static_cast<double>(lanes)) +
         shuffle_cost * static_cast<double>(shuffles);
}

/// Of one in vectors along u and v: runs, each with a shuffle.
double joint_cost(std::optional<std::int64_t> u, std::optional<std::int64_t> v, std::int64_t n,
                  std::int64_t lanes) {
  if (!u || !v) {
    return (load_cost + shuffle_cost) * static_cast<double>(lanes);
  }
  if (*u == *v * n) {
    return vector_cost(v, lanes);
  }
  const std::int64_t rows = ceil_div(lanes, n);  // iterations of u in a vector
  const auto runs = [&](std::int64_t first, std::int64_t count, std::int64_t second,
                        std::int64_t times) {
    // `count` elements `first` apart, that `times`, `second` apart.
    const std::int64_t span = std::abs(first) * (count - 1) + 1;
    const std::int64_t all = span + std::abs(second) * (times - 1);
    const std::int64_t in_one = ceil_div(all, lanes);
    return std::min(in_one, times * std::min(count, ceil_div(span, lanes)));
  };
  return (load_cost + shuffle_cost) *
         static_cast<double>(std::min(runs(*v, n, *u, rows), runs(*u, rows, *v, n)));
}

Costs costs_of(const LoopProgram& program, const ProgramFacts& facts, const For& u, const For& v,
               ExprId value, std::int64_t n, std::int64_t native) {
  const IntImm* const extent = program.pool.as<IntImm>(u.extent);
  const std::int64_t count = extent == nullptr ? native : std::min(native, extent->value);
  const auto rows = static_cast<double>(count);
  const auto vectors = static_cast<double>(ceil_div(count * n, native));
  const std::int64_t shuffles = n == 3 ? 6 : n * log2_of(static_cast<int>(n));
  Costs costs{static_cast<double>(n + shuffles), vectors, rows};  // of the store
  visit_nodes(program.pool, value, [&](ExprId id) {
    if (!facts.uses(id, u.var)) {
      return;
    }
    const bool uses_v = facts.uses(id, v.var);
    const auto times = static_cast<double>(uses_v ? n : 1);
    if (const Load* load = program.pool.as<Load>(id)) {
      const auto along_u = facts.stride(load->buffer, load->indices, u.var);
      const auto along_v = facts.stride(load->buffer, load->indices, v.var);
      costs.interleaved += times * vector_cost(along_u, count);
      costs.joint += vectors * joint_cost(along_u, along_v, n, native);
      costs.along_v += rows * (uses_v ? vector_cost(along_v, n) : load_cost);
    } else if (!facts.is_index(id)) {
      const double cost = vector_instructions(program.pool[id]);
      costs.interleaved += times * cost;
      costs.joint += vectors * cost;
      costs.along_v += rows * cost;
    }
  });
  return costs;
}

/// Whether no part of the value is in registers, which are read along their vectors alone.
bool reads_memory(const LoopProgram& program, ExprId value) {
  bool holds = true;
  visit_nodes(program.pool, value, [&](ExprId id) {
    const Load* load = program.pool.as<Load>(id);
    holds = holds && (load == nullptr || program[load->buffer].scope != Scope::register_);
  });
  return holds;
}

/// The only statement in `id`, seen through sequences of one.
template <class Node>
const Node* only(const LoopProgram& program, StmtId id) {
  const Seq* seq = program.as<Seq>(id);
  while (seq != nullptr && seq->items.size() == 1) {
    id = seq->items[0];
    seq = program.as<Seq>(id);
  }
  return program.as<Node>(id);
}

int bit(int number, int position) { return (number >> position) & 1; }

/// Lanes [first, first + count); those that do not exist have no meaning.
V part(IrBuilder& b, V vector, int first, int count) {
  const int lanes = lanes_of(vector);
  if (first == 0 && count == lanes) {
    return vector;
  }
  std::vector<int> sources;
  for (int lane = 0; lane < count; ++lane) {
    sources.push_back(first + lane < lanes ? first + lane : -1);
  }
  return b.shuffle(vector, LLVMGetPoison(LLVMTypeOf(vector)), sources);
}

/// log2 of the elements like those of `row` in 128 bits.
int unit_bits(V row) {
  const LLVMTypeRef element = LLVMGetElementType(LLVMTypeOf(row));
  const LLVMTypeKind kind = LLVMGetTypeKind(element);
  const unsigned bits = kind == LLVMDoubleTypeKind  ? 64
                        : kind == LLVMFloatTypeKind ? 32
                                                    : LLVMGetIntTypeWidth(element);
  return log2_of(128 / static_cast<int>(bits));
}

/// Keeps LLVM from looking through the shuffles of several stages at once: it takes milliseconds
/// to find longer sequences.
V fenced(IrBuilder& b, V vector) {
  const int unit = unit_bits(vector), bits = (128 >> unit) * lanes_of(vector);
  if (bits % 128 != 0) {
    return vector;
  }
  const LLVMTypeRef reals =
      unit == 1 ? b.m.vector_of(b.m.f64, bits / 64) : b.m.vector_of(b.m.f32, bits / 32);
  const V real = b.bitcast(vector, reals);
  return b.bitcast(b.unary_intrinsic("llvm.arithmetic.fence", real), LLVMTypeOf(vector));
}

/// Every element has a row and a column number. A stage exchanges one bit of the vectors' numbers
/// with a bit of the lanes' numbers; in the end all bits of the row number are in the lanes'.
class Network {
 public:
  Network(IrBuilder& b, const std::vector<V>& rows, int lanes)
      : b_(b), unit_(unit_bits(rows[0])), row_bits_(log2_of(lanes)),
        column_bits_(log2_of(lanes_of(rows[0]))),
        width_(row_bits_ <= unit_ ? std::max(column_bits_, row_bits_) : row_bits_) {
    load(rows);
    for (int row = 0; row < std::min(unit_, row_bits_); ++row) {
      exchange(row, row, std::min(unit_, width_), false);
    }
    for (int row = first_late_row_; row < row_bits_; ++row) {
      exchange(row, unit_, width_, true);
    }
  }

  /// How many lanes of rows like `row` one network takes.
  static int columns_at_once(V row, int lanes) {
    return log2_of(lanes) <= unit_bits(row) ? lanes_of(row) : std::min(lanes, lanes_of(row));
  }

  V column(int number) const {
    int at = 0, lane = 0;
    for (std::size_t q = 0; q < vector_bits_.size(); ++q) {
      at |= bit(number, vector_bits_[q] - first_column_label) << q;
    }
    for (int k = row_bits_; k < width_; ++k) {
      lane |= bit(number, lane_bits_[static_cast<std::size_t>(k)] - first_column_label) << k;
    }
    return part(b_, vectors_[static_cast<std::size_t>(at)], lane, 1 << row_bits_);
  }

 private:
  static constexpr int first_column_label = 32;  // bits of the row number are 0, 1, ...

  /// Widens the rows to `width_`: with nothing up to a unit, then with other rows.
  void load(const std::vector<V>& rows) {
    const int narrow = std::max(column_bits_, std::min(unit_, width_));
    for (int k = 0; k < narrow; ++k) {
      lane_bits_.push_back(first_column_label + k);
    }
    const int joined = width_ - narrow;  // bits of the row number from unit_ on
    for (int k = 0; k < joined; ++k) {
      lane_bits_.push_back(unit_ + k);
    }
    first_late_row_ = joined == 0 ? std::min(unit_, row_bits_) : unit_ + joined;
    for (int k = 0; k < row_bits_; ++k) {
      if (joined == 0 || k < unit_ || k >= unit_ + joined) {
        vector_bits_.push_back(k);
      }
    }
    for (int i = 0; i < 1 << vector_bits_.size(); ++i) {
      std::vector<V> parts;
      for (int j = 0; j < 1 << joined; ++j) {
        int row = j << unit_;
        for (std::size_t q = 0; q < vector_bits_.size(); ++q) {
          row |= bit(i, static_cast<int>(q)) << vector_bits_[q];
        }
        const int last = static_cast<int>(rows.size()) - 1;
        parts.push_back(
            part(b_, rows[static_cast<std::size_t>(std::min(row, last))], 0, 1 << narrow));
      }
      while (parts.size() > 1) {
        std::vector<V> wider;
        for (std::size_t j = 0; j < parts.size(); j += 2) {
          std::vector<int> sources(2 * static_cast<std::size_t>(lanes_of(parts[j])));
          std::iota(sources.begin(), sources.end(), 0);
          wider.push_back(b_.shuffle(parts[j], parts[j + 1], sources));
        }
        parts = std::move(wider);
      }
      vectors_.push_back(parts[0]);
    }
  }

  /// Bit `row` of the row number takes the place of a bit of the column number. Among the lane bits
  /// [low, high): upwards (unpack), it comes in at the bottom and the top one leaves; downwards,
  /// the reverse.
  void exchange(int row, int low, int high, bool downwards) {
    const auto q = static_cast<std::size_t>(
        std::find(vector_bits_.begin(), vector_bits_.end(), row) - vector_bits_.begin());
    const auto begin = lane_bits_.begin() + low;
    const auto end = lane_bits_.begin() + high;
    const int entry = downwards ? high - 1 : low;
    const int leaving = downwards ? *begin : *(end - 1);
    const int lanes = 1 << width_;
    const auto sources = [&](int value_of_leaving) {
      std::vector<int> result;
      for (int lane = 0; lane < lanes; ++lane) {
        const int inside = (lane >> low) & ((1 << (high - low)) - 1);
        const int moved = downwards ? ((inside << 1) & ((1 << (high - low)) - 1)) | value_of_leaving
                                    : (inside >> 1) | (value_of_leaving << (high - low - 1));
        const int outside = lane & ~(((1 << (high - low)) - 1) << low);
        result.push_back((outside | (moved << low)) + (bit(lane, entry) != 0 ? lanes : 0));
      }
      return result;
    };
    const bool is_needed = leaving - first_column_label < column_bits_;
    for (std::size_t i = 0; i < vectors_.size(); ++i) {
      const std::size_t j = i | (std::size_t{1} << q);
      if (i == j || vectors_[i] == nullptr) {
        continue;
      }
      const V first = fenced(b_, vectors_[i]), second = fenced(b_, vectors_[j]);
      vectors_[i] = b_.shuffle(first, second, sources(0));
      vectors_[j] = is_needed ? b_.shuffle(first, second, sources(1)) : nullptr;
    }
    if (downwards) {
      std::rotate(begin, begin + 1, end);
    } else {
      std::rotate(begin, end - 1, end);
    }
    lane_bits_[static_cast<std::size_t>(entry)] = row;
    vector_bits_[q] = leaving;
  }

  IrBuilder& b_;
  int unit_;         // log2 of the elements in 128 bits
  int row_bits_;     // log2 of the lanes of a column
  int column_bits_;  // log2 of the lanes of a row
  int width_;        // log2 of the lanes of what is shuffled
  int first_late_row_ = 0;
  std::vector<int> vector_bits_, lane_bits_;  // which bit of the row or column number each one is
  std::vector<V> vectors_;
};

}  // namespace

std::optional<Transposition> find_transposition(const LoopProgram& program,
                                                const ProgramFacts& facts, const For& loop,
                                                int native) {
  const For* const v = only<For>(program, loop.body);
  if (v == nullptr || v->kind != ForKind::vectorized) {
    return std::nullopt;
  }
  const Store* const store = only<Store>(program, v->body);
  const IntImm* const u_extent = program.pool.as<IntImm>(loop.extent);
  const IntImm* const v_extent = program.pool.as<IntImm>(v->extent);
  if (store == nullptr || v_extent == nullptr || v_extent->value < 2 ||
      (u_extent != nullptr && u_extent->value < 2)) {
    return std::nullopt;
  }
  const std::vector<BufferId>& loaded = facts.of(v->body).loaded;
  if (std::binary_search(loaded.begin(), loaded.end(), store->buffer)) {
    return std::nullopt;
  }
  const auto along_u = facts.stride(store->buffer, store->indices, loop.var);
  const auto along_v = facts.stride(store->buffer, store->indices, v->var);
  const bool is_register = program[store->buffer].scope == Scope::register_;
  if (!along_u || !along_v || (is_register ? *along_v != 1 : *along_v == 0)) {
    return std::nullopt;
  }
  // Blocks visit the iterations in another order: no element may be stored twice.
  const bool is_injective =
      std::abs(*along_u) > std::abs(*along_v) * (v_extent->value - 1) ||
      (u_extent != nullptr && std::abs(*along_v) > std::abs(*along_u) * (u_extent->value - 1));
  if (!is_injective) {
    return std::nullopt;
  }
  Finder finder(program, facts, loop, *v);
  finder.visit(store->value);
  const bool stores_rows = *along_u == 1 && *along_v != 1;
  const bool is_dense = *along_u == *along_v * v_extent->value;
  const std::int64_t distance = *along_u * bytes_of(program[store->buffer].dtype);
  if (!stores_rows && !is_register && !is_dense && distance % conflict_bytes == 0) {
    return std::nullopt;
  }
  const std::int64_t n = v_extent->value;
  const bool are_few = n < native && reads_memory(program, store->value) && is_dense &&
                       *along_v == 1 && !is_register &&
                       program[store->buffer].dtype != DType::boolean;
  bool is_interleaving = false, is_joint = false;
  if (are_few) {
    const Costs costs = costs_of(program, facts, loop, *v, store->value, n, native);
    const double least = std::min(costs.joint, costs.along_v);
    // A shuffle of any lanes of two vectors: of 512 bits and elements of 32 or 64.
    const int bytes = bytes_of(program[store->buffer].dtype);
    const bool any_lanes = native * bytes == 64 && bytes >= 4 && (n & (n - 1)) == 0;
    is_interleaving = (n <= nearly_dense || any_lanes) && costs.interleaved < least;
    is_joint = !is_interleaving && costs.joint < costs.along_v;
  }
  if (finder.values.empty() && !stores_rows && !is_interleaving && !is_joint) {
    return std::nullopt;
  }
  const bool has_outer_rows = stores_rows && u_extent != nullptr &&
                              u_extent->value <= nearly_dense && *along_v == u_extent->value &&
                              !is_register && program[store->buffer].dtype != DType::boolean;
  return Transposition{
      v, store, std::move(finder.values), stores_rows, is_interleaving, is_joint, has_outer_rows};
}

namespace {

/// interleave() of more than four rows. Every stage has two patterns of lanes, so that they stay in
/// registers.
std::vector<V> riffled(IrBuilder& b, std::vector<V> rows) {
  const int width = lanes_of(rows[0]);
  std::vector<int> low, high;
  for (int lane = 0; lane < width; ++lane) {
    low.push_back(lane / 2 + lane % 2 * width);
    high.push_back(width / 2 + lane / 2 + lane % 2 * width);
  }
  for (std::size_t run = 1; run < rows.size(); run *= 2) {
    std::vector<V> next(rows.size());
    for (std::size_t i = 0; i < rows.size() / 2; ++i) {
      const V first = fenced(b, rows[i]), second = fenced(b, rows[i + rows.size() / 2]);
      const std::size_t row = i / run, piece = i % run;
      next[row * 2 * run + 2 * piece] = b.shuffle(first, second, low);
      next[row * 2 * run + 2 * piece + 1] = b.shuffle(first, second, high);
    }
    rows = std::move(next);
  }
  return rows;
}

}  // namespace

std::vector<V> interleave(IrBuilder& b, std::vector<V> rows) {
  const int n = static_cast<int>(rows.size()), width = lanes_of(rows[0]);
  if (n == 3) {
    std::vector<V> pieces;
    for (int first = 0; first < n * width; first += width) {
      V piece = rows[0];
      for (int row = 0; row < n; ++row) {
        std::vector<int> sources;
        for (int lane = 0; lane < width; ++lane) {
          const int element = first + lane;
          sources.push_back(element % n == row ? width * (row > 0 ? 1 : 0) + element / n : lane);
        }
        piece = b.shuffle(piece, row > 0 ? rows[static_cast<std::size_t>(row)] : piece, sources);
      }
      pieces.push_back(piece);
    }
    return pieces;
  }
  if (n > nearly_dense) {
    return riffled(b, std::move(rows));
  }
  // Rows i and i + half: the lanes of the result alternate between them.
  while (rows.size() > 1) {
    const std::size_t half = rows.size() / 2;
    const int lanes = lanes_of(rows[0]);
    std::vector<int> sources;
    for (int lane = 0; lane < 2 * lanes; ++lane) {
      sources.push_back(lane / 2 + lane % 2 * lanes);
    }
    for (std::size_t i = 0; i < half; ++i) {
      rows[i] = b.shuffle(rows[i], rows[i + half], sources);
    }
    rows.resize(half);
  }
  return rows;
}

std::vector<V> transpose(IrBuilder& b, const std::vector<V>& rows, int lanes, int columns) {
  std::vector<V> result;
  for (int first = 0; first < columns;) {
    const int width = Network::columns_at_once(rows[0], lanes);
    std::vector<V> parts;
    for (V row : rows) {
      parts.push_back(part(b, row, first, width));
    }
    const Network network(b, std::move(parts), lanes);
    const int end = std::min(columns, first + width);
    for (int column = first; column < end; ++column) {
      result.push_back(network.column(column - first));
    }
    first = end;
  }
  return result;
}

}  // namespace tensorsmith::llvm_codegen
