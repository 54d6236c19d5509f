#include "tensorsmith/ir/eval_threads.hpp"

#include "support/catch.hpp"
#include "tensorsmith/ir/eval.hpp"

using namespace tensorsmith;

namespace {

/// for b in 2 block_x: alloc S[4] shared: for t in 4 thread_x: body.
struct Kernel {
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
    const StmtId body = p.add(Alloc{own, p.add(Seq{std::move(items)})});
    const StmtId threads = p.add(For{vt, n(4), ForKind::thread_x, body});
    p.body = p.add(For{vb, n(2), ForKind::block_x, p.add(Alloc{s, threads})});
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
    Kernel k;
    CHECK(k.run({k.fill(), k.barrier(), k.reverse()}, order) == "");
  }
}

TEST_CASE("a private buffer is another one in every thread, across barriers too") {
  Kernel k;
  CHECK(k.run({k.store(k.own, {k.n(0)}, k.at(k.a, {k.b, k.e.sub(k.n(3), k.t)})), k.barrier(),
               k.store(k.out, {k.b, k.t}, k.at(k.own, {k.n(0)}))}) == "");
}

TEST_CASE("threads that meet without a barrier are a race, whatever the order") {
  for (LoopOrder order : {LoopOrder::forward, LoopOrder::reversed, LoopOrder::shuffled}) {
    Kernel read;  // everything has a value, but some of it could be new
    CHECK(read.run({read.fill(), read.barrier(), read.reverse(),
                    read.store(read.s, {read.t}, read.n(0))},
                   order) == "race between threads");
    Kernel write;
    CHECK(write.run({write.fill(), write.barrier(), write.store(write.s, {write.n(0)}, write.t),
                     write.barrier(), write.reverse()},
                    order) == "race between threads");
  }
}

TEST_CASE("blocks that meet in global memory are a race, with barriers too") {
  Kernel k;
  CHECK(k.run({k.fill(), k.barrier(), k.reverse(), k.barrier(),
               k.store(k.out, {k.n(0), k.t}, k.t)}) == "race between threads");
}

TEST_CASE("a barrier in a loop counts each time; all threads must take the same way") {
  Kernel k;
  const VarId v = k.e.new_var("i");
  const StmtId again = k.p.add(Seq{{k.barrier(), k.fill(), k.barrier(), k.reverse()}});
  CHECK(k.run({k.p.add(For{v, k.n(3), ForKind::serial, again})}) == "");
  Kernel some;
  const VarId w = some.e.new_var("i");
  const StmtId few = some.p.add(For{w, some.t, ForKind::serial, some.barrier()});
  CHECK(some.run({some.fill(), few, some.reverse()}) == "barrier not reached by all threads");
  Kernel one;
  const StmtId first = one.p.add(If{one.e.lt(one.t, one.n(1)), one.barrier(), {}});
  CHECK(one.run({one.fill(), first, one.reverse()}) == "barrier not reached by all threads");
}
