// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/place_barriers.hpp"

#include "support/catch.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/lower/hoist_guards.hpp"
#include "tensorsmith/lower/inject_vthreads.hpp"

using namespace tensorsmith;

namespace {

/// What one thread does with A[8, 8] (global), S[8] and T[8] (shared), L[1] (private).
struct ThreadBody {
  LoopProgram p;
  ExprPool& e = p.pool;
  VarId vt = e.new_var("t");
  ExprId t = e.var(vt);
  BufferId a = p.add(Buffer{"A", DType::i32, {8, 8}, {}});
  BufferId s = p.add(Buffer{"S", DType::i32, {8}, {}, Scope::shared});
  BufferId u = p.add(Buffer{"T", DType::i32, {8}, {}, Scope::shared});
  BufferId l = p.add(Buffer{"L", DType::i32, {1}, {}, Scope::local});

  ExprId n(std::int64_t v) { return e.int_imm(v); }
  ExprId at(BufferId b, ExprList indices) { return e.load(b, DType::i32, indices); }
  StmtId store(BufferId b, ExprList indices, ExprId v) { return p.add(Store{b, indices, v}); }
  StmtId seq(std::vector<StmtId> items) { return p.add(Seq{std::move(items)}); }
  StmtId loop(VarId v, std::int64_t extent, StmtId body, ForKind kind = ForKind::serial) {
    return p.add(For{v, n(extent), kind, body});
  }
  /// S[t] = t
  StmtId fill(BufferId b) { return store(b, {t}, t); }
  /// L[0] = S[7 - t]
  StmtId use(BufferId b) { return store(l, {n(0)}, at(b, {e.sub(n(7), t)})); }
  std::string text(StmtId body) { return "\n" + debug_string(body, p); }
};

}  // namespace

TEST_CASE_METHOD(ThreadBody,
                 "one barrier behind all that is written, one in front of the next round") {
  const StmtId body = loop(e.new_var("k"), 3, seq({fill(s), fill(u), use(s), use(u)}));
  place_barriers(p, body);
  CHECK(text(body) == R"(
for k in 3:
  barrier shared
  S[t] = t
  T[t] = t
  barrier shared
  L[0] = S[7 - t]
  L[0] = T[7 - t]
)");
}

TEST_CASE_METHOD(ThreadBody, "no barrier where nothing is read, or by the writer only") {
  const StmtId writes = seq({fill(s), fill(u), store(s, {t}, e.add(at(s, {t}), n(1)))});
  place_barriers(p, writes);
  CHECK(text(writes).find("barrier") == std::string::npos);
  const StmtId own = seq({fill(s), store(l, {n(0)}, at(s, {t}))});
  place_barriers(p, own, vt);
  CHECK(text(own).find("barrier") == std::string::npos);
  place_barriers(p, own);  // several axes: another thread may have the same t
  CHECK(text(own).find("barrier") != std::string::npos);
}

TEST_CASE_METHOD(ThreadBody, "a barrier stands in front of a condition, not in it") {
  const StmtId body = seq({fill(s), p.add(If{e.lt(t, n(4)), use(s), {}})});
  place_barriers(p, body);
  CHECK(text(body) == R"(
S[t] = t
barrier shared
if t < 4:
  L[0] = S[7 - t]
)");
}

TEST_CASE_METHOD(ThreadBody, "a loop that runs once needs no barrier at its head") {
  const StmtId body = loop(e.new_var("k"), 1, seq({fill(s), use(s)}));
  place_barriers(p, body);
  CHECK(text(body) == R"(
for k in 1:
  S[t] = t
  barrier shared
  L[0] = S[7 - t]
)");
}

TEST_CASE_METHOD(ThreadBody, "conditions leave loops that do not change them, and meet") {
  const VarId i = e.new_var("i"), j = e.new_var("j");
  const ExprId some = e.lt(t, n(4)), few = e.lt(e.var(j), t);
  const auto guarded = [&](ExprId condition, StmtId body) {
    return p.add(If{condition, body, {}});
  };
  const StmtId body =
      seq({loop(i, 2, guarded(some, fill(s))), loop(j, 2, guarded(few, guarded(some, fill(u))))});
  hoist_guards(p, body);
  CHECK(text(body) == R"(
if t < 4:
  for i in 2:
    S[t] = t
  for j in 2:
    if j < t:
      T[t] = t
)");
}

TEST_CASE_METHOD(ThreadBody, "virtual threads: innermost where they matter, else not at all") {
  const VarId v = e.new_var("v"), k = e.new_var("k");
  const StmtId sum = store(l, {n(0)}, e.add(at(l, {n(0)}), at(a, {e.var(v), e.var(k)})));
  const StmtId body =
      loop(v, 2,
           p.add(Alloc{l, seq({fill(s), loop(k, 8, sum), store(a, {e.var(v), t}, at(l, {n(0)}))})}),
           ForKind::vthread);
  inject_vthreads(p, body);
  CHECK(p[l].shape[0] == 2);
  CHECK(text(body) == R"(
alloc L:
  S[t] = t
  for k in 8:
    for v in 2 unrolled:
      L[v, 0] = L[v, 0] + A[v, k]
  for v in 2 unrolled:
    A[v, t] = L[v, 0]
)");
}

TEST_CASE_METHOD(ThreadBody, "lanes wait for their warp, which does not count for shared memory") {
  const BufferId w = p.add(Buffer{"W", DType::i32, {8}, {}, Scope::warp});
  const StmtId body =
      loop(e.new_var("k"), 3, seq({fill(s), fill(w), use(w), fill(w), use(w), use(s)}));
  place_barriers(p, body);
  CHECK(text(body) == R"(
for k in 3:
  barrier shared
  S[t] = t
  W[t] = t
  barrier warp
  L[0] = W[7 - t]
  barrier warp
  W[t] = t
  barrier warp
  L[0] = W[7 - t]
  barrier shared
  L[0] = S[7 - t]
)");
}

TEST_CASE_METHOD(ThreadBody, "a barrier of the block is one of its warps too") {
  const BufferId w = p.add(Buffer{"W", DType::i32, {8}, {}, Scope::warp});
  const StmtId body = seq({fill(s), fill(w), use(s), use(w)});
  place_barriers(p, body);
  CHECK(text(body) == R"(
S[t] = t
W[t] = t
barrier shared
L[0] = S[7 - t]
L[0] = W[7 - t]
)");
}

TEST_CASE_METHOD(ThreadBody,
                 "a loop whose iterations meet in lanes alone begins with their barrier") {
  const BufferId w = p.add(Buffer{"W", DType::i32, {8}, {}, Scope::warp});
  const StmtId body = loop(e.new_var("k"), 3, seq({fill(w), use(w)}));
  place_barriers(p, body);
  CHECK(text(body) == R"(
for k in 3:
  barrier warp
  W[t] = t
  barrier warp
  L[0] = W[7 - t]
)");
}
