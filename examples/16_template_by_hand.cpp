// SPDX-License-Identifier: Apache-2.0
// Lesson 16: a space of your own, as a program with holes.
//
// A template is a schedule whose numbers are variables: how long tiles are, whether a step is there
// at all. Constraints over the variables say which programs are legal, which the machine can hold,
// and why. Sampling, neighbours, mutation and crossover come with it, so the search tunes it as it
// tunes its own spaces:
//   for i.0 j.0 (parallel): for i.1 j.1 k.0: for i.2 k.1: vector j.2: C[i, j] += A[i, k] * B[k, j]
// requires: llvm json
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tensorsmith/ops/gemm.hpp"
#include "tensorsmith/space/assignment_text.hpp"
#include "tensorsmith/space/enumerate.hpp"
#include "tensorsmith/space/template_builder.hpp"
#include "tensorsmith/space/template_moves.hpp"
#include "tensorsmith/tensorsmith.hpp"

namespace ts = tensorsmith;

/// Tiles of the product of `dag`; its stages are A, B and C.
static ts::Template tiled_product(const ts::Shared<const ts::ComputeDag>& dag) {
  constexpr std::int64_t vectors_of_tile = 24, lanes = 16, l1_bytes = 32 << 10;
  ts::TemplateBuilder t(dag);
  const std::int32_t c = t.stage("C");
  // Loops i, j, k are cut from the outermost on; every variable is a length but the outermost.
  const auto i = t.split(c, 0, "i", 2, 16);
  const auto j = t.split(c, 3, "j", 2, 64);
  const auto k = t.split(c, 6, "k", 1, 64);
  // i.0 i.1 i.2 j.0 j.1 j.2 k.0 k.1  -->  i.0 j.0 i.1 j.1 k.0 k.1 i.2 j.2
  t.reorder(c, {0, 3, 1, 4, 6, 7, 2, 5});
  t.fuse(c, {0, 1});
  t.parallel(c, 0);
  t.vectorize(c, 6);
  t.maybe("i.unrolled", ts::AnnotationStep{c, 5, ts::Annotation::unroll});
  t.hint<ts::hints::AutoUnroll>(c, "unroll", {0, 16, 64});

  ts::VariableSpace& space = t.space();
  const ts::ExprId rows = space.expr(i[1]), columns = space.expr(j[1]);
  const ts::ExprId tile = space.product({rows, columns});
  space.define("elements of the register tile", tile);
  space.require(space.at_most(tile, vectors_of_tile * lanes), ts::ConstraintKind::capacity,
                "the register tile fits 24 vectors");
  space.require(space.at_most(space.product({space.expr(k[0]), columns}), l1_bytes / 4),
                ts::ConstraintKind::capacity, "what a tile reads of B stays in L1");
  space.require(space.divides(space.number(8), columns), ts::ConstraintKind::preference,
                "vectors are whole");
  return t.finish();
}

static void require(bool condition, const char* what) {
  if (!condition) {
    std::fprintf(stderr, "failed: %s\n", what);
    std::exit(1);
  }
}

int main() {
  ts::ops::GemmParams params;
  params.m = 96, params.n = 128, params.k = 64;
  const ts::ops::Workload gemm = ts::ops::gemm(params);

  const ts::Template product = tiled_product(gemm.dag);
  const ts::Enumeration all(product.sampler());
  require(all.count() && *all.count() > 1000, "legal assignments can be counted");
  std::printf("%llu legal assignments; number 17 is\n  %s\n",
              static_cast<unsigned long long>(*all.count()),
              ts::to_text(product.space(), all.at(17)).c_str());
  const std::vector<ts::Instance> near = ts::neighbours(product, all.at(17));
  require(!near.empty(), "it has neighbours");
  std::printf("one step away are %zu others, the first is\n  %s\n", near.size(),
              ts::to_text(product.space(), near.front().values).c_str());

  ts::TuneOptions options;
  options.budget = {0, 24};
  options.templates = [](const auto& dag, const ts::SketchOptions&) {
    return std::vector<ts::Template>{tiled_product(dag)};
  };
  const ts::TuneResult result = ts::tune({gemm.dag, ts::host_target(), gemm.name}, options);
  require(result.has_best() && result.summary.is_verified, "a program is found and is right");
  const auto values = product.read(result.steps);
  require(values.has_value(), "the best program is one of the template");
  std::printf("best of %lld, %.1f us:\n  %s\n", static_cast<long long>(result.summary.trials),
              result.summary.best_ns / 1e3, ts::to_text(product.space(), *values).c_str());
  for (const ts::SpaceConstraint* broken : product.sampler().broken(*values)) {
    std::printf("  although it is not true that %s\n", broken->sentence.c_str());
  }
}
