// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ir/program_hash.hpp"

#include <set>
#include <string>

#include "support/catch.hpp"

namespace tensorsmith {
namespace {

/// for NAME in 8: for OTHER in 4: B[NAME, OTHER] = A[OTHER] + 1, with whatever is to be different.
struct HashedNest {
  std::string outer = "i", inner = "j", input = "A";
  std::int64_t extent = 8;
  ForKind kind = ForKind::serial;
  bool is_swapped = false, is_nested_seq = false, has_unused = false, is_async = false;
  std::int64_t stride = 4;
  double added = 1;
  Scope scope = Scope::global;
  std::int32_t load_sets = 1;

  LoopProgram program() const {
    LoopProgram p;
    if (has_unused) {
      (void)p.pool.new_var("unused");
      (void)p.pool.int_imm(77);
      (void)p.add(Buffer{.name = "unused", .shape = {3}, .strides = {}});
    }
    const VarId i = p.pool.new_var(outer), j = p.pool.new_var(inner);
    Buffer a{.name = input, .shape = {4}, .strides = {1}};
    a.argument = 0;
    Buffer b{.name = "B", .shape = {extent, 4}, .strides = {stride, 1}, .scope = scope};
    const BufferId from = p.add(a), to = p.add(b);
    const ExprId x = p.pool.var(is_swapped ? j : i), y = p.pool.var(is_swapped ? i : j);
    const ExprId value = p.pool.add(p.pool.load(from, DType::f32, {y}), p.pool.float_imm(added));
    StmtId body = p.add(Store{to, {x, y}, value, is_async});
    if (is_nested_seq) {
      body = p.add(Seq{{p.add(Seq{{body}})}});
    }
    body = p.add(For{j, p.pool.int_imm(4), ForKind::serial, body});
    For loop{i, p.pool.int_imm(extent), kind, body};
    loop.load_sets = load_sets;
    p.body = p.add(loop);
    return p;
  }
};

/// Two loops behind each other; the second one may bind the variable of the first again.
LoopProgram two_loops(bool shares_variable, bool is_second_deeper) {
  LoopProgram p;
  const VarId i = p.pool.new_var("i"), other = p.pool.new_var("k"), outer = p.pool.new_var("o");
  const BufferId b = p.add(Buffer{.name = "B", .shape = {8}, .strides = {}});
  const auto loop = [&](VarId var) {
    const StmtId store = p.add(Store{b, {p.pool.var(var)}, p.pool.float_imm(0)});
    return p.add(For{var, p.pool.int_imm(8), ForKind::serial, store});
  };
  StmtId second = loop(shares_variable ? i : other);
  if (is_second_deeper) {
    second = p.add(For{outer, p.pool.int_imm(2), ForKind::serial, second});
  }
  const StmtId first = loop(i);
  p.body = p.add(Seq{{first, second}});
  return p;
}

}  // namespace

TEST_CASE("names, ids and grouping are not part of a program's hash") {
  const HashedNest plain;
  const ProgramHash hash = program_hash(plain.program());
  CHECK(hash == program_hash(plain.program()));
  HashedNest other;
  other.outer = "row";
  other.inner = "i";
  other.input = "weights";
  other.is_nested_seq = true;
  other.has_unused = true;
  CHECK(program_hash(other.program()) == hash);
  CHECK(program_hash(two_loops(true, false)) == program_hash(two_loops(false, false)));
  CHECK(program_hash(two_loops(true, true)) == program_hash(two_loops(false, true)));
  CHECK(program_hash(two_loops(true, true)) != program_hash(two_loops(true, false)));
}

TEST_CASE("everything else is part of it") {
  std::set<ProgramHash> hashes;
  std::set<std::string> keys;
  const auto add = [&](auto change) {
    HashedNest nest;
    change(nest);
    const ProgramHash hash = program_hash(nest.program());
    CHECK(hashes.insert(hash).second);
    CHECK(keys.insert(to_key(hash)).second);
    CHECK(to_key(hash).size() == 16);
  };
  add([](HashedNest&) {});
  add([](HashedNest& n) { n.extent = 9; });
  add([](HashedNest& n) { n.kind = ForKind::parallel; });
  add([](HashedNest& n) { n.kind = ForKind::unrolled; });
  add([](HashedNest& n) { n.is_swapped = true; });
  add([](HashedNest& n) { n.is_async = true; });
  add([](HashedNest& n) { n.stride = 5; });
  add([](HashedNest& n) { n.added = 2; });
  add([](HashedNest& n) { n.added = -1; });
  add([](HashedNest& n) { n.scope = Scope::shared; });
  add([](HashedNest& n) { n.load_sets = 2; });
}

}  // namespace tensorsmith
