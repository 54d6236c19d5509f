// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ir/eval_threads.hpp"

#include "support/catch.hpp"
#include "tensorsmith/ir/eval.hpp"
#include "tensorsmith/ir/lane_access.hpp"

using namespace tensorsmith;

namespace {

/// for b in 2 block_x: alloc S[4] shared: for t in 4 thread_x: body.
struct ThreadedKernel {
  LoopProgram p;
  ExprPool& e = p.pool;
  VarId vb = e.new_var("b"), vt = e.new_var("t");
  ExprId b = e.var(vb), t = e.var(vt);
  BufferId a = argument("A", 0), out = argument("B", 1);
  BufferId s = p.add(Buffer{"S", DType::i32, {4}, {}, Scope::shared});
  BufferId own = p.add(Buffer{"L", DType::i32, {1}, {}, Scope::local});

  BufferId argument(const char* name, std::int32_t position) {
    Buffer buffer{name, DType::i32, {2, 4}, {}};
    buffer.argument = position;
    const BufferId id = p.add(buffer);
    p.arguments.push_back(id);
    return id;
  }
  ExprId n(std::int64_t v) { return e.int_imm(v); }
  ExprId at(BufferId buffer, ExprList indices) { return e.load(buffer, DType::i32, indices); }
  StmtId store(BufferId buffer, ExprList indices, ExprId value) {
    return p.add(Store{buffer, indices, value});
  }
  StmtId barrier() { return p.add(Barrier{Scope::shared}); }
  /// "" and right results for reverse(A) + 0, or the name of the error.
  std::string run(std::vector<StmtId> items, LoopOrder order = LoopOrder::forward) {
    return run_with(s, std::move(items), order);
  }
  /// The same with another buffer of the block in place of S.
  std::string run_with(BufferId block, std::vector<StmtId> items,
                       LoopOrder order = LoopOrder::forward) {
    const StmtId body = p.add(Alloc{own, p.add(Seq{std::move(items)})});
    const StmtId threads = p.add(For{vt, n(4), ForKind::thread_x, body});
    p.body = p.add(For{vb, n(2), ForKind::block_x, p.add(Alloc{block, threads})});
    std::vector<HostArray> arguments(2, HostArray(DType::i32, {2, 4}));
    for (std::int64_t i = 0; i < 8; ++i) {
      arguments[0].set_int(i, 10 + i);
    }
    const auto done = eval(p, arguments, {order, 7, {false, true}});
    if (!done) {
      CHECK(!explain(done.error(), p).empty());
      return std::string(name_of(done.error().kind));
    }
    for (std::int64_t i = 0; i < 8; ++i) {
      CHECK(arguments[1].get_int(i) == 10 + (i / 4) * 4 + 3 - i % 4);
    }
    return "";
  }
  StmtId fill() { return store(s, {t}, at(a, {b, t})); }
  StmtId reverse() { return store(out, {b, t}, at(s, {e.sub(n(3), t)})); }
};

}  // namespace

TEST_CASE("threads run from barrier to barrier, in any order") {
  for (LoopOrder order : {LoopOrder::forward, LoopOrder::reversed, LoopOrder::shuffled}) {
    ThreadedKernel k;
    CHECK(k.run({k.fill(), k.barrier(), k.reverse()}, order) == "");
  }
}

TEST_CASE("a private buffer is another one in every thread, across barriers too") {
  ThreadedKernel k;
  CHECK(k.run({k.store(k.own, {k.n(0)}, k.at(k.a, {k.b, k.e.sub(k.n(3), k.t)})), k.barrier(),
               k.store(k.out, {k.b, k.t}, k.at(k.own, {k.n(0)}))}) == "");
}

TEST_CASE("threads that meet without a barrier are a race, whatever the order") {
  for (LoopOrder order : {LoopOrder::forward, LoopOrder::reversed, LoopOrder::shuffled}) {
    ThreadedKernel read;  // everything has a value, but some of it could be new
    CHECK(read.run({read.fill(), read.barrier(), read.reverse(),
                    read.store(read.s, {read.t}, read.n(0))},
                   order) == "race between threads");
    ThreadedKernel write;
    CHECK(write.run({write.fill(), write.barrier(), write.store(write.s, {write.n(0)}, write.t),
                     write.barrier(), write.reverse()},
                    order) == "race between threads");
  }
}

TEST_CASE("blocks that meet in global memory are a race, with barriers too") {
  ThreadedKernel k;
  CHECK(k.run({k.fill(), k.barrier(), k.reverse(), k.barrier(),
               k.store(k.out, {k.n(0), k.t}, k.t)}) == "race between threads");
}

TEST_CASE("a barrier in a loop counts each time; all threads must take the same way") {
  ThreadedKernel k;
  const VarId v = k.e.new_var("i");
  const StmtId again = k.p.add(Seq{{k.barrier(), k.fill(), k.barrier(), k.reverse()}});
  CHECK(k.run({k.p.add(For{v, k.n(3), ForKind::serial, again})}) == "");
  ThreadedKernel some;
  const VarId w = some.e.new_var("i");
  const StmtId few = some.p.add(For{w, some.t, ForKind::serial, some.barrier()});
  CHECK(some.run({some.fill(), few, some.reverse()}) == "barrier not reached by all threads");
  ThreadedKernel one;
  const StmtId first = one.p.add(If{one.e.lt(one.t, one.n(1)), one.barrier(), {}});
  CHECK(one.run({one.fill(), first, one.reverse()}) == "barrier not reached by all threads");
}

TEST_CASE("lanes of a warp: their barrier orders their buffers and no others") {
  ThreadedKernel k;
  const BufferId w = k.p.add(Buffer{"W", DType::i32, {4}, {}, Scope::warp});
  const StmtId fill = k.store(w, {k.t}, k.at(k.a, {k.b, k.t}));
  const StmtId reverse = k.store(k.out, {k.b, k.t}, k.at(w, {k.e.sub(k.n(3), k.t)}));
  const StmtId wait = k.p.add(Barrier{Scope::warp});
  CHECK(k.run_with(w, {fill, wait, reverse}) == "");
  CHECK(k.run_with(w, {fill, k.barrier(), reverse}) == "");
  CHECK(k.run_with(w, {fill, wait, reverse, wait, fill}) == "");
  CHECK(k.run_with(w, {fill, wait, reverse, fill}) == "race between threads");
  CHECK(k.run({k.fill(), wait, k.reverse()}) == "race between threads");
}

TEST_CASE("two warps do not meet in a buffer of one") {
  for (const std::int64_t distance : {1, 16, 32}) {
    LoopProgram p;
    ExprPool& e = p.pool;
    Buffer a{"A", DType::i32, {64}, {}};
    a.argument = 0;
    p.arguments.push_back(p.add(a));
    const BufferId w = p.add(Buffer{"W", DType::i32, {64}, {}, Scope::warp});
    const VarId vt = e.new_var("t");
    const ExprId t = e.var(vt), other = xor_index(e, t, distance);
    const StmtId body =
        p.add(Seq{{p.add(Store{w, {t}, t}), p.add(Barrier{Scope::shared}),
                   p.add(Store{p.arguments[0], {t}, e.load(w, DType::i32, {other})})}});
    p.body = p.add(Alloc{w, p.add(For{vt, e.int_imm(64), ForKind::thread_x, body})});
    std::vector<HostArray> arguments(1, HostArray(DType::i32, {64}));
    const auto done = eval(p, arguments, {LoopOrder::forward, 1, {true}});
    CHECK(done.has_value() == (distance < 32));
    CHECK((!done || arguments[0].get_int(5) == (5 ^ distance)));
  }
}
