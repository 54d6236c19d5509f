// SPDX-License-Identifier: Apache-2.0
// Transposing copies: where to read rows instead of gathering columns, and the network of shuffles.
//
// Private to lib/cpu. Own design; the network is the usual one of unpacks inside of 128-bit units
// and shuffles of whole units, one two-input shuffle per vector and stage.
//     for u: for v (vectorized): P[u][v] = f(B[v][u], ...)
//       -->  rows = B[v + r][u ..] for every lane r; columns = transposition of rows;
//            P[u + j][v ..] = f(columns[j], ...)
//     few v, P dense: f is computed along u for every v, and the rows are interleaved as they are
//     stored; or vectors run along both: lane l is iteration l / n of u, l % n of v
// Not here: blocks, tails and the code around the network (transpose_emit.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir_builder.hpp"
#include "program_facts.hpp"

namespace tensorsmith::llvm_codegen {

/// Two loops that may be cut into blocks: u, and directly inside of it v, vectorized.
struct Transposition {
  const For* lanes = nullptr;    ///< v
  const Store* store = nullptr;  ///< all that v does
  std::vector<ExprId> values;    ///< parts of the stored value to be computed along u
  bool stores_rows = false;      ///< the store, too, is far apart along v and dense along u
  /// Of a few rows, where u, then v, is dense in what is stored.
  bool is_interleaving = false;  ///< as they are stored
  bool is_joint = false;         ///< vectors along both
  /// Interleaved, with the iterations of u as rows: along v, then u, the store is dense.
  bool has_outer_rows = false;
};

/// Nothing if `loop` (u) holds anything else, if blocks could change the result, or if no access
/// would gain: one that is dense along u and neither dense nor nearly so along v. A few rows are
/// interleaved or joined where that takes fewer operations than vectors of `native` lanes along v.
std::optional<Transposition> find_transposition(const LoopProgram& program,
                                                const ProgramFacts& facts, const For& loop,
                                                int native);

/// One behind the other, the results have lane i of row j as element i * n + j; n, the number of
/// rows, is 3 or a power of two. Of 2 and 4 rows there is one result, of others as many as rows.
std::vector<LLVMValueRef> interleave(IrBuilder& b, std::vector<LLVMValueRef> rows);

/// Column j holds lane j of every row; `lanes` (a power of two) >= the number of rows. The lanes
/// without a row repeat the last one. Rows are vectors of at least `columns` and at least two
/// lanes; lanes of them >= `columns` have no meaning. Not for vectors of i1.
std::vector<LLVMValueRef> transpose(IrBuilder& b, const std::vector<LLVMValueRef>& rows, int lanes,
                                    int columns);

}  // namespace tensorsmith::llvm_codegen
