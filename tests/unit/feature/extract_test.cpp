// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/feature/extract.hpp"

#include <cmath>

#include "support/feature_rows.hpp"
#include "support/golden_tasks.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/sched/replay.hpp"
#include "tensorsmith/te/notation.hpp"
#include "tensorsmith/te/program.hpp"
#include "unit/sketch/sketch_fixtures.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;
using tensorsmith::test::Approx;

namespace {

Shared<const ComputeDag> matmul(std::int64_t n) { return test::matmul_dag(n, n, n); }

State scheduled(Shared<const ComputeDag> dag, const std::vector<Step>& steps) {
  auto state = replay(std::move(dag), steps);
  REQUIRE(state.has_value());
  return *state;
}

/// The row whose listed columns are as given and all others 0, apart from the intensity curve.
void check_row(std::span<const float, feature_length> row,
               const std::vector<std::pair<std::size_t, double>>& expected) {
  std::vector<double> all(feature_length, 0.0);
  for (const auto& [where, value] : expected) {
    all[where] = value;
  }
  for (std::size_t c = 0; c < feature_length; ++c) {
    const std::size_t curve = column(TailColumn::arith_intensity_curve_0);
    if (c >= curve && c < curve + intensity_points) {
      continue;
    }
    INFO(feature_name(c));
    CHECK(row[c] == Approx(all[c]).epsilon(1e-5).margin(1e-6));
  }
}

using Expected = std::vector<std::pair<std::size_t, double>>;

/// acc_type, then bytes ... unique_lines, reuse_type, dis_iter, dis_bytes, ct, the four per use,
/// stride
void add_buffer(Expected& list, std::size_t b, BufferColumn access, BufferColumn reuse,
                std::array<double, 4> sizes, std::array<double, 8> rest) {
  list.emplace_back(column(b, access), 1.0);
  list.emplace_back(column(b, reuse), 1.0);
  for (std::size_t i = 0; i < 4; ++i) {
    list.emplace_back(column(b, BufferColumn::bytes) + i, sizes[i]);
  }
  for (std::size_t i = 0; i < 8; ++i) {
    list.emplace_back(column(b, BufferColumn::reuse_dis_iter) + i, rest[i]);
  }
}
Expected common(double outer_prod, double num_loops) {
  Expected list{{column(TailColumn::outer_prod), outer_prod},
                {column(TailColumn::num_loops), num_loops}};
  for (std::size_t i = 0; i < 7; ++i) {
    list.emplace_back(column(HeadColumn::block_idx_x_len) + i, 1.0);
  }
  return list;
}

}  // namespace

TEST_CASE("conformance 11.5 (a): a scheduled matmul 512", "[feature]") {
  const State state = scheduled(
      matmul(512),
      {SplitStep{2, 0, 512, {16}, true}, SplitStep{2, 2, 512, {8}, true},
       ReorderStep{2, {0, 2, 4, 3, 1}}, AnnotationStep{2, 0, Annotation::parallel},
       AnnotationStep{2, 1, Annotation::parallel}, AnnotationStep{2, 2, Annotation::unroll},
       AnnotationStep{2, 3, Annotation::vectorize}});
  const FeatureMatrix features = extract_features(state);
  REQUIRE(features.num_rows == 1);
  Expected e = common(27, 2.58496);
  const auto head = [&](HeadColumn c, double v) { e.emplace_back(column(c), v); };
  const auto tail = [&](TailColumn c, double v) { e.emplace_back(column(c), v); };
  head(HeadColumn::float_addsub, 27);
  head(HeadColumn::float_mul, 27);
  head(HeadColumn::int_addsub, 29);
  head(HeadColumn::int_mul, 29);
  head(HeadColumn::vec_num, 1);
  head(HeadColumn::vec_prod, 3.16992);
  head(HeadColumn::vec_len, 3.16992);
  head(HeadColumn::vec_pos_mixed, 1);
  head(HeadColumn::unroll_num, 1);
  head(HeadColumn::unroll_prod, 9.00282);
  head(HeadColumn::unroll_len, 9.00282);
  head(HeadColumn::unroll_pos_mixed, 1);
  head(HeadColumn::parallel_num, 1.58496);
  head(HeadColumn::parallel_prod, 11.0007);
  head(HeadColumn::parallel_len, 6.02237);
  head(HeadColumn::parallel_pos_mixed, 1);
  add_buffer(e, 0, BufferColumn::acc_read, BufferColumn::reuse_loop_multiple_read,
             {29, 20, 27, 14.0001}, {4.08746, 7.05528, 3.16992, 26, 17, 24, 11.0007, 9.00282});
  add_buffer(e, 1, BufferColumn::acc_read_write, BufferColumn::reuse_loop_multiple_read,
             {29, 20, 27, 14.0001}, {7.01123, 9.2503, 9.00282, 20, 11.0007, 18, 5.04439, 9.00282});
  add_buffer(e, 2, BufferColumn::acc_read, BufferColumn::reuse_loop_multiple_read,
             {29, 20, 19, 14.0001}, {1, 3.70044, 4.08746, 25, 16, 15, 10.0014, 0});
  tail(TailColumn::alloc_size, 20);
  tail(TailColumn::alloc_prod, 18);
  tail(TailColumn::alloc_outer_prod, 1);
  tail(TailColumn::alloc_inner_prod, 27);
  // A and C have equal lines and bytes; theirs is the one order, ours may be the other.
  std::vector<double> reference(feature_length, 0.0);
  for (const auto& [where, value] : e) {
    reference[where] = value;
  }
  for (std::size_t i = 0; i < intensity_points; ++i) {
    const std::size_t c = column(TailColumn::arith_intensity_curve_0) + i;
    reference[c] = std::as_const(features).row(0)[c];
    CHECK(reference[c] > 0.0);
  }
  CHECK(test::difference(std::as_const(features).row(0), reference) == "");
}

TEST_CASE("conformance 11.5 (b): an unscheduled matmul 128", "[feature]") {
  const FeatureMatrix features = extract_features(State::initial(matmul(128)));
  REQUIRE(features.num_rows == 1);
  Expected e = common(21, 2);
  e.emplace_back(column(HeadColumn::float_addsub), 21);
  e.emplace_back(column(HeadColumn::float_mul), 21);
  e.emplace_back(column(HeadColumn::vec_pos_none), 1);
  e.emplace_back(column(HeadColumn::unroll_pos_none), 1);
  e.emplace_back(column(HeadColumn::parallel_pos_none), 1);
  const auto reuse = BufferColumn::reuse_loop_multiple_read;
  add_buffer(e, 0, BufferColumn::acc_read, reuse, {23, 16, 21, 10.0014},
             {14.0001, 16.0334, 7.01123, 16, 9.00282, 14.0001, 3.16992, 7.01123});
  add_buffer(e, 1, BufferColumn::acc_read, reuse, {23, 16, 17, 10.0014},
             {7.01123, 10.007, 7.01123, 16, 9.00282, 10.0014, 3.16992, 1});
  add_buffer(e, 2, BufferColumn::acc_read_write, reuse, {23, 16, 10.0014, 10.0014},
             {1, 3.70044, 7.01123, 16, 9.00282, 3.16992, 3.16992, 0});
  e.emplace_back(column(TailColumn::alloc_size), 16);
  e.emplace_back(column(TailColumn::alloc_prod), 14.0001);
  e.emplace_back(column(TailColumn::alloc_outer_prod), 1);
  e.emplace_back(column(TailColumn::alloc_inner_prod), 21);
  check_row(std::as_const(features).row(0), e);
}

TEST_CASE("conformance 11.5 (a), (b): the curve of release 0.9", "[feature]") {
  const State tiled =
      scheduled(matmul(512), {SplitStep{2, 0, 512, {16}, true}, SplitStep{2, 2, 512, {8}, true},
                              ReorderStep{2, {0, 2, 4, 3, 1}}});
  const std::vector<std::pair<State, std::vector<double>>> cases = {
      {tiled,
       {.709784, .740839, .875045, .944949, 1.01485, 1.08476, 1.11369, 1.13947, 1.21196, 1.2972}},
      {State::initial(matmul(128)),
       {.79955, .79955, .79955, .815166, .858111, .901055, .954184, 1.05315, 1.15211, 1.25107}}};
  for (const auto& [state, expected] : cases) {
    const FeatureMatrix features =
        extract_features(state, FeatureOptions{.intensity = IntensityForm::logarithmic});
    REQUIRE(features.num_rows == 1);
    for (std::size_t i = 0; i < intensity_points; ++i) {
      CHECK(std::as_const(features).row(0)[column(TailColumn::arith_intensity_curve_0) + i] ==
            Approx(expected[i]).epsilon(1e-5));
    }
  }
}

TEST_CASE("conformance 11.5 (d): a matmul of a GPU", "[feature]") {
  const char* const text =
      R"([["CHW",2,"local"],["SP",2,0,512,[1,16,32,1],1],["SP",2,5,512,[4,1,1,16],1],)"
      R"(["SP",2,10,512,[1,2],1],["RE",2,[0,5,1,6,2,7,10,11,3,8,12,4,9]],["FSP",3,0,1,3],)"
      R"(["FSP",3,4,2,3],["RE",3,[0,4,1,5,2,6,3,7]],["FU",2,[0,1]],["FU",3,[0,1]],)"
      R"(["FU",2,[1,2]],["FU",3,[1,2]],["FU",2,[2,3]],["FU",3,[2,3]],["CA",2,3,2],)"
      R"(["CHR",1,"shared",[2]],["CA",2,3,3],["FU",2,[0,1]],["FFSP",2,0,[1,2],1,1],)"
      R"(["AN",2,1,6],["CHR",0,"shared",[3]],["CA",1,4,3],["FU",1,[0,1]],)"
      R"(["FFSP",1,0,[1,2],1,1],["AN",1,1,6],["AN",5,0,5],["AN",5,1,4],["AN",5,2,6],)"
      R"(["PR",4,0,"auto_unroll_max_step$1024"]])";
  const auto steps = steps_from_text(text);
  REQUIRE(steps);
  const State state = scheduled(matmul(512), *steps);
  const auto bounded = infer_bounds(state);
  REQUIRE(bounded.has_value());
  CHECK(state_text(*bounded) == R"(Placeholder: A, B
blockIdx.x i.0@j.0@ (0,8)
  vthread i.1@j.1@ (0,4)
    threadIdx.x i.2@j.2@ (0,16)
      C.local auto_unroll: 1024
      for k.0 (0,256)
        for ax0@ax1@.0 (0,8)
          threadIdx.x ax0@ax1@.1 (0,16)
            B.shared = ...
        for ax0@ax1@.0 (0,64)
          threadIdx.x ax0@ax1@.1 (0,16)
            A.shared = ...
        for i_c.3 (0,32)
          for k.2 (0,2)
            for j_c.4 (0,16)
              C.local = ...
      for i.3 (0,32)
        for j.3 (0,16)
          C = ...
)");
  const FeatureMatrix features = extract_features(state);
  REQUIRE(features.num_rows == 4);
  std::size_t computing = features.num_rows;
  for (std::size_t r = 0; r < features.num_rows; ++r) {
    const auto row = std::as_const(features).row(r);
    CHECK(row[column(HeadColumn::is_gpu)] == 1.0F);
    CHECK(row[column(HeadColumn::block_idx_x_len)] == Approx(3.16992).epsilon(1e-5));
    CHECK(row[column(HeadColumn::vthread_len)] == Approx(2.32193).epsilon(1e-5));
    CHECK(row[column(HeadColumn::thread_idx_x_len)] == Approx(4.08746).epsilon(1e-5));
    computing = row[column(HeadColumn::float_mul)] > 0 ? r : computing;
  }
  REQUIRE(computing < features.num_rows);
  const auto row = std::as_const(features).row(computing);
  const std::vector<std::pair<std::size_t, double>> expected = {
      {column(HeadColumn::float_addsub), 27},
      {column(HeadColumn::float_mul), 27},
      {column(HeadColumn::int_addsub), 30},
      {column(HeadColumn::int_mul), 30},
      {column(TailColumn::auto_unroll_max_step), 10.0014},
      {column(TailColumn::alloc_size), 11.0007},
      {column(TailColumn::alloc_prod), 18},
      {column(TailColumn::alloc_outer_prod), 9.00282},
      {column(TailColumn::alloc_inner_prod), 18},
      {column(TailColumn::num_loops), 3}};
  for (const auto& [where, value] : expected) {
    INFO(feature_name(where));
    CHECK(row[where] == Approx(value).epsilon(1e-5));
  }
}

TEST_CASE("conformance 11.5 (e): a pragma on a loop over blocks is lost", "[feature]") {
  te::Program p;
  const auto a = p.placeholder("A", {64, 1024});
  const auto k1 = p.reduce_axis("k1", 1024), k2 = p.reduce_axis("k2", 1024);
  const auto high = p.compute("max", {64}, [&](auto i) { return te::max(a(i, k1), {k1}); });
  const auto power =
      p.compute("exp", {64, 1024}, [&](auto i, auto j) { return te::exp(a(i, j) - high(i)); });
  const auto sum = p.compute("sum", {64}, [&](auto i) { return te::sum(power(i, k2), {k2}); });
  const auto norm =
      p.compute("norm", {64, 1024}, [&](auto i, auto j) { return power(i, j) / sum(i); });
  const auto dag = p.dag({a, norm});
  std::vector<Step> steps;  // 64 rows = 2 blocks x 32 threads, but for the maximum (stage 1)
  for (std::int32_t stage = 2; stage <= 4; ++stage) {
    steps.push_back(SplitStep{stage, 0, 64, {32}, true});
    steps.push_back(AnnotationStep{stage, 0, Annotation::block_x});
    steps.push_back(AnnotationStep{stage, 1, Annotation::thread_x});
  }
  steps.push_back(SplitStep{1, 0, 64, {32}, true});
  const PragmaStep pragma{1, 0, "auto_unroll_max_step$1024"};
  const std::size_t unroll = column(TailColumn::auto_unroll_max_step);
  std::vector<Step> with_loops = steps;
  with_loops.push_back(pragma);
  const FeatureMatrix looped = extract_features(scheduled(dag, with_loops));
  steps.push_back(AnnotationStep{1, 0, Annotation::block_x});
  steps.push_back(AnnotationStep{1, 1, Annotation::thread_x});
  steps.push_back(pragma);
  const FeatureMatrix bound = extract_features(scheduled(dag, steps));
  REQUIRE(looped.num_rows == 4);
  REQUIRE(bound.num_rows == 4);
  for (std::size_t r = 0; r < 4; ++r) {
    CHECK(std::as_const(looped).row(r)[unroll] == Approx(r == 0 ? 10.0014 : 0.0).epsilon(1e-5));
    CHECK(std::as_const(bound).row(r)[unroll] == 0.0F);
  }
  CHECK(std::as_const(bound).row(0)[column(HeadColumn::block_idx_x_len)] ==
        Approx(1.58496).epsilon(1e-5));  // 2 blocks
  CHECK(std::as_const(bound).row(0)[column(HeadColumn::thread_idx_x_len)] ==
        Approx(5.04439).epsilon(1e-5));  // 32 threads
}

TEST_CASE("conformance 11.5 (c): two copies, the first inside the second", "[feature]") {
  te::Program p;
  const auto A = p.placeholder("A", {64, 32});
  const auto B = p.compute("B", {64, 32}, [&](auto i, auto j) { return A(i, j); });
  const auto C = p.compute("C", {64, 32}, [&](auto i, auto j) { return B(i, j); });
  const FeatureMatrix features =
      extract_features(scheduled(p.dag({A, C}), {ComputeAtStep{1, 2, 1}}));
  REQUIRE(features.num_rows == 2);
  const auto b = features.row(0), c = features.row(1);
  const auto at = [](std::span<const float, feature_length> row, std::size_t where, double value) {
    INFO(feature_name(where));
    CHECK(row[where] == Approx(value).epsilon(1e-5).margin(1e-6));
  };
  // the row of C: which buffer is B follows from its reuse
  const std::size_t first = column(0, BufferColumn::reuse_serial_multiple_read_write);
  const std::size_t which = c[first] == 1.0F ? 0 : 1;
  at(c, column(which, BufferColumn::reuse_serial_multiple_read_write), 1);
  at(c, column(which, BufferColumn::acc_read), 1);
  at(c, column(which, BufferColumn::reuse_dis_iter), 1);
  at(c, column(which, BufferColumn::reuse_dis_bytes), 4.08746);
  at(c, column(which, BufferColumn::reuse_ct), 1);
  at(c, column(which, BufferColumn::stride), 1);
  at(b, column(0, BufferColumn::reuse_no_reuse), 1);
  at(b, column(1, BufferColumn::reuse_no_reuse), 1);
  at(b, column(TailColumn::alloc_size), 2.32193);
  at(b, column(TailColumn::alloc_prod), 11.0007);
}

TEST_CASE("every feature lies in its declared range", "[feature][laws]") {
  for (const test::GoldenTask& task : test::own_golden_tasks()) {
    INFO(task.id);
    const FeatureMatrix features = extract_features(State::initial(task.dag));
    REQUIRE(features.num_rows > 0);
    for (std::size_t r = 0; r < features.num_rows; ++r) {
      for (std::size_t c = 0; c < feature_length; ++c) {
        const float value = features.row(r)[c];
        const std::string_view range = feature_facts(c).range;
        const bool fits = range == "0 or 1"   ? value == 0.0F || value == 1.0F
                          : range == "x >= 1" ? value == 0.0F || value >= 1.0F
                                              : value >= 0.0F;
        if (!fits || !std::isfinite(value)) {
          FAIL(feature_name(c) << " is " << value);
        }
      }
    }
  }
}

TEST_CASE("the same state gives the same features", "[feature]") {
  const auto& dag = test::own_golden_task("conv2d_nhwc_bias_relu_1x56x56x64_64_3x3").dag;
  CHECK(hash_features(extract_features(State::initial(dag))) ==
        hash_features(extract_features(State::initial(dag))));
}

TEST_CASE("a state with an open length has no features", "[feature][error]") {
  const State state = scheduled(matmul(16), {SplitStep{2, 0, 16, {unknown_length}, true}});
  CHECK(extract_features(state).empty());
}

TEST_CASE("the size of a cache line comes from the target", "[feature]") {
  const State state = State::initial(matmul(128));
  const FeatureMatrix wide = extract_features(state, FeatureOptions{128});
  const std::size_t lines = column(1, BufferColumn::lines);
  CHECK(std::as_const(wide).row(0)[lines] == Approx(16.0));  // 17 with 64 bytes
}

TEST_CASE("a storage layout decides what is contiguous", "[feature]") {
  te::Program p;
  const auto A = p.placeholder("A", {64, 64}), B = p.placeholder("B", {64, 64});
  const auto k = p.reduce_axis("k", 64);
  const auto C =
      p.compute("C", {64, 64}, [&](auto i, auto j) { return te::sum(A(i, k) * B(j, k), {k}); });
  const auto dag = p.dag({A, B, C});
  std::vector<Step> steps = {CacheReadStep{1, "packed", {2}}, SplitStep{3, 1, 64, {32}, true},
                             ReorderStep{3, {0, 1, 3, 2}}};
  // B.packed[j, k] along j.1, the innermost loop of C; the stride is log2(1 + elements).
  const auto num_with_stride = [&](double stride) {
    const FeatureMatrix features = extract_features(scheduled(dag, steps));
    const auto row = features.row(features.num_rows - 1);
    int found = 0;
    for (std::size_t b = 0; b < feature_num_buffers; ++b) {
      const double actual = row[column(b, BufferColumn::stride)];
      found += actual == Approx(stride).epsilon(1e-5) ? 1 : 0;
    }
    return found;
  };
  CHECK(num_with_stride(std::log2(65.0)) == 1);
  CHECK(num_with_stride(1) == 1);  // C
  steps.emplace_back(StorageLayoutStep{2, {32, 0}, {0, 2, 1}, 0});
  CHECK(num_with_stride(std::log2(65.0)) == 0);
  CHECK(num_with_stride(1) == 2);
}

TEST_CASE("an index that is read may have any value, of whose number the reference keeps 32 bits",
          "[feature]") {
  const auto most_bytes = [](const char* notation) {
    const auto dag = te::read_notation(notation);
    CAPTURE(dag ? "" : dag.error());
    REQUIRE(dag);
    const FeatureMatrix features = extract_features(State::initial(*dag));
    REQUIRE(features.num_rows == 1);
    double most = 0;
    for (std::size_t b = 0; b < 5; ++b) {
      const std::size_t c = column(b, BufferColumn::unique_bytes);
      most = std::max(most, double{std::as_const(features).row(0)[c]});
    }
    return most;
  };
  const auto of_bytes = [](double bytes) { return Approx(std::log2(1 + bytes)).epsilon(1e-5); };
  // Of x there are 2^32 or 2^64 - 1 elements: none. The rows' numbers are the most bytes.
  CHECK(most_bytes("p[i:60] = x[t.i32[i]:1000]") == of_bytes(60 * 4));
  CHECK(most_bytes("p[i:60] = x[t.i64[i]:1000]") == of_bytes(60 * 8));
}
