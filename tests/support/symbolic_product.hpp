// SPDX-License-Identifier: Apache-2.0
// The loop nest of a tiled product for GPUs, with sizes in the place of numbers.
//
// Test support. The reference's tiling of C[M,N] = A[M,K] B[K,N], SSSRRSRS, with copies of both
// operands in shared memory and the accumulators in local memory; sizes are named as in
// tests/data/golden/felix/README.md. Extents are M, N and K; q_g is what the lengths of group g
// leave of one.
#pragma once

#include <string>
#include <vector>

#include "tensorsmith/felix/symbolic_nest.hpp"

namespace tensorsmith::test {

class SymbolicProduct {
 public:
  using Id = felix::FormulaId;

  explicit SymbolicProduct(felix::FormulaPool& pool) : pool_(pool), n_(pool) {
    for (const char* name : {"M", "N", "K"}) {
      extents_.push_back(pool.symbol(name, felix::SymbolKind::shape));
    }
    nest.is_gpu = true;
    const Id tile_i = product({s(0, 0), s(0, 1), s(0, 2), s(0, 3)});
    const Id tile_j = product({s(1, 0), s(1, 1), s(1, 2), s(1, 3)});
    const Id tile_k = product({s(2, 0), s(2, 1)});
    const Id rows_of_thread = product({s(0, 2), s(0, 3)}), columns = product({s(1, 2), s(1, 3)});
    const Id q0 = quotient(0, tile_i), q1 = quotient(1, tile_j), q2 = quotient(2, tile_k);
    const Id threads = product({s(0, 1), s(1, 1)});
    const std::uint32_t block = loop("block", n_.mul(q0, q1), Annotation::block_x);
    const std::uint32_t virtual_thread =
        loop("vthread", product({s(0, 0), s(1, 0)}), Annotation::vthread);
    const std::uint32_t thread = loop("thread", threads, Annotation::thread_x);
    const Id b = var(block), v = var(virtual_thread), t = var(thread);
    // Where a block and a thread begin.
    const Id block_i = n_.mul(n_.floordiv(b, q1), tile_i), block_j = n_.mul(mod(b, q1), tile_j);
    const Id thread_i =
        sum({block_i, n_.mul(n_.floordiv(v, s(1, 0)), product({s(0, 1), s(0, 2), s(0, 3)})),
             n_.mul(n_.floordiv(t, s(1, 1)), rows_of_thread)});
    const Id thread_j = sum({block_j, n_.mul(mod(v, s(1, 0)), product({s(1, 1), s(1, 2), s(1, 3)})),
                             n_.mul(mod(t, s(1, 1)), columns)});
    const std::vector<std::uint32_t> outer{block, virtual_thread, thread};

    buffer("C.local", {m(), n()}, product({rows_of_thread, columns}), FeatureScope::local, outer);
    const std::uint32_t step = loop("k.0", q2);
    std::vector<std::uint32_t> in_step = outer;
    in_step.push_back(step);
    buffer("A.shared", {m(), k()}, n_.mul(tile_i, tile_k), FeatureScope::shared, in_step);
    buffer("B.shared", {k(), n()}, n_.mul(tile_k, tile_j), FeatureScope::shared, in_step);
    buffer("C", {m(), n()}, n_.mul(m(), n()), FeatureScope::global, {});
    buffer("A", {m(), k()}, {}, FeatureScope::global, {});
    buffer("B", {k(), n()}, {}, FeatureScope::global, {});

    // Accumulators begin as 0.
    const std::uint32_t i2 = loop("i2.init", s(0, 2)), j2 = loop("j2.init", s(1, 2)),
                        i3 = loop("i3.init", s(0, 3)), j3 = loop("j3.init", s(1, 3));
    store(local, joined(outer, {i2, j2, i3, j3}),
          {{local, AccessKind::write, tile_indices(thread_i, thread_j, i2, i3, j2, j3)}}, {});
    // Copies to shared memory: elements in a row to threads, then to lanes.
    const Id k_base = n_.mul(var(step), tile_k);
    copy(shared_a, a, in_step, threads, n_.mul(tile_i, tile_k), tile_k, s(4, 0), block_i, k_base);
    copy(shared_b, bb, in_step, threads, n_.mul(tile_k, tile_j), tile_j, s(3, 0), k_base, block_j);
    // The product.
    const std::uint32_t k1 = loop("k.1", s(2, 0)), u2 = loop("i.2", s(0, 2)),
                        w2 = loop("j.2", s(1, 2)), k2 = loop("k.2", s(2, 1)),
                        u3 = loop("i.3", s(0, 3)), w3 = loop("j.3", s(1, 3));
    const Id inner_k = sum({k_base, n_.mul(var(k1), s(2, 1)), var(k2)});
    const std::vector<Id> at = tile_indices(thread_i, thread_j, u2, u3, w2, w3);
    store(local, joined(in_step, {k1, u2, w2, k2, u3, w3}),
          {{local, AccessKind::read_write, at},
           {shared_a, AccessKind::read, {at[0], inner_k}},
           {shared_b, AccessKind::read, {inner_k, at[1]}}},
          {OpClass::float_addsub, OpClass::float_mul});
    // The results.
    const std::uint32_t row = loop("i.inner", rows_of_thread), column = loop("j.inner", columns);
    const std::vector<Id> out{n_.add(thread_i, var(row)), n_.add(thread_j, var(column))};
    store(result, joined(outer, {row, column}),
          {{result, AccessKind::write, out}, {local, AccessKind::read, out}}, {});
  }

  felix::SymbolicNest nest;

 private:
  enum : std::uint32_t { local, shared_a, shared_b, result, a, bb };
  struct Use {
    std::uint32_t buffer;
    AccessKind kind;
    std::vector<Id> indices;
  };

  Id s(int group, int level) {
    return pool_.symbol("sp_" + std::to_string(group) + "_" + std::to_string(level),
                        felix::SymbolKind::plain);
  }
  Id m() const { return extents_[0]; }
  Id n() const { return extents_[1]; }
  Id k() const { return extents_[2]; }
  Id quotient(std::size_t group, Id product_of_lengths) {
    return n_.div(extents_[group], product_of_lengths);
  }
  Id product(const std::vector<Id>& factors) {
    Id all = n_.number(1);
    for (const Id factor : factors) {
      all = n_.mul(all, factor);
    }
    return all;
  }
  Id sum(const std::vector<Id>& terms) {
    Id all = n_.number(0);
    for (const Id term : terms) {
      all = n_.add(all, term);
    }
    return all;
  }
  Id mod(Id x, Id y) { return fold(pool_, felix::Op::mod, x, y); }
  std::uint32_t loop(const std::string& name, Id extent, Annotation kind = Annotation::none) {
    nest.loops.push_back({pool_.symbol(name), extent, kind});
    return static_cast<std::uint32_t>(nest.loops.size()) - 1;
  }
  Id var(std::uint32_t of) const { return nest.loops[of].var; }
  void buffer(const std::string& name, std::vector<Id> lengths, Id elements, FeatureScope scope,
              std::vector<std::uint32_t> around) {
    felix::SymbolicBuffer made;
    made.name = name;
    made.lengths = std::move(lengths);
    made.elements = elements;
    made.scope = scope;
    made.around = std::move(around);
    nest.buffers.push_back(std::move(made));
  }
  static std::vector<std::uint32_t> joined(std::vector<std::uint32_t> loops,
                                           const std::vector<std::uint32_t>& more) {
    loops.insert(loops.end(), more.begin(), more.end());
    return loops;
  }
  std::vector<Id> tile_indices(Id i, Id j, std::uint32_t i2, std::uint32_t i3, std::uint32_t j2,
                               std::uint32_t j3) {
    return {sum({i, n_.mul(var(i2), s(0, 3)), var(i3)}),
            sum({j, n_.mul(var(j2), s(1, 3)), var(j3)})};
  }
  void copy(std::uint32_t to, std::uint32_t from, const std::vector<std::uint32_t>& around,
            Id threads, Id total, Id row_length, Id lanes, Id first, Id second) {
    const Id one = n_.number(1);
    const std::string name = nest.buffers[to].name;
    const Id in_lanes = n_.floordiv(n_.sub(total, one), lanes);
    const std::uint32_t turns = loop(name + ".turns", n_.add(n_.floordiv(in_lanes, threads), one));
    const std::uint32_t thread = loop("thread", threads, Annotation::thread_x);
    const std::uint32_t lane = loop(name + ".lane", n_.min(total, lanes), Annotation::vectorize);
    const Id element =
        n_.add(n_.mul(n_.add(n_.mul(var(turns), threads), var(thread)), lanes), var(lane));
    const std::vector<Id> at{n_.add(first, n_.floordiv(element, row_length)),
                             n_.add(second, mod(element, row_length))};
    store(to, joined(around, {turns, thread, lane}),
          {{to, AccessKind::write, at}, {from, AccessKind::read, at}}, {});
  }
  void store(std::uint32_t to, std::vector<std::uint32_t> loops, const std::vector<Use>& uses,
             const std::vector<OpClass>& operations) {
    felix::SymbolicStore made;
    made.tensor = TensorId{to};
    made.loops = std::move(loops);
    made.counts.fill(n_.number(0));
    for (const OpClass operation : operations) {
      made.counts[static_cast<std::size_t>(operation)] = n_.number(1);
    }
    for (const Use& use : uses) {
      made.accesses.push_back({TensorId{use.buffer}, use.kind, {use.indices}});
    }
    // The remark stands on the accumulators, and holds for what is computed in their loops.
    made.auto_unroll_max_step = to == result ? n_.number(0) : pool_.symbol("ur");
    nest.stores.push_back(std::move(made));
  }

  felix::FormulaPool& pool_;
  felix::FormulaNumbers n_;
  std::vector<Id> extents_;
};

}  // namespace tensorsmith::test
