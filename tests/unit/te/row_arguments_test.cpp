// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/te/row_arguments.hpp"

#include "support/catch.hpp"
#include "support/dag_results.hpp"
#include "tensorsmith/ops/workload.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

Shared<const ComputeDag> dag_of(std::string text, std::int64_t rows) {
  const std::string digits = std::to_string(rows);
  for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@')) {
    text.replace(at, 1, digits);
  }
  auto built = ops::parse_workload(text);
  INFO(text);
  REQUIRE(built.has_value());
  return built->dag;
}

Result<std::vector<std::int64_t>, std::string> rows_of(const char* text) {
  return te::row_arguments(*dag_of(text, 6), 6, *dag_of(text, 9), 9);
}

/// Some rows of an argument, or all of it where it has none.
HostArray part(const HostArray& whole, std::int64_t row_elements, std::int64_t first,
               std::int64_t count, const ComputeDag& dag, TensorId id) {
  if (row_elements == 0) {
    return whole;
  }
  const auto& shape = dag.tensor(id).shape;
  HostArray made(whole.dtype, {shape.begin(), shape.end()});
  REQUIRE(made.num_elements() == count * row_elements);
  const auto bytes = static_cast<std::size_t>(bytes_of(whole.dtype));
  const auto row = static_cast<std::size_t>(row_elements) * bytes;
  std::copy_n(whole.data.begin() +
                  static_cast<std::ptrdiff_t>(static_cast<std::size_t>(first) * row),
              static_cast<std::size_t>(count) * row, made.data.begin());
  return made;
}

}  // namespace

TEST_CASE("rows that do not depend on each other may be computed in parts") {
  struct Case {
    const char* text;
    std::vector<std::int64_t> elements;
  };
  const std::vector<Case> cases = {
      {"gemm:@x6x5:f32", {5, 0, 6}},
      {"gemm:@x9x6:f32,tb,bias,add,gelu", {6, 0, 0, 9, 9}},
      {"gemm:@x6x8:i8,weights=i8,requant=i8", {8, 0, 0, 0, 6}},
      {"gemm:@x6x8:f32,layernorm", {8, 0, 0, 0, 6}},
      {"bmm:@x4x3x5:f32", {20, 15, 12}},
      {"attention:@x3x4x2", {6, 8, 8, 6}},
      {"conv2d:n=@,h=5,w=6,ci=3,co=4,k=3,s=2,p=1", {90, 0, 36}},
      {"conv2d:n=@,h=5,w=6,ci=3,co=4,k=3,s=1,p=1,layout=nchw,bias,max_pool=2", {90, 0, 0, 24}},
      {"conv2d_transpose:n=@,h=4,w=4,ci=5,co=3,k=4,s=2,p=1", {80, 0, 192}},
      {"max_pool:n=@,c=2,h=6,w=6,k=3,s=2,p=1", {72, 18}},
      {"softmax:@x7", {7, 7}},
      {"softmax:@x8,online=4", {8, 8}},
      {"layernorm:@x6", {6, 0, 0, 6}},
      {"reduce_var:@x6", {6, 1}},
      {"argmax:@x9", {9, 1}},
      {"gather:@x13x5:f32", {0, 1, 5}},
      {"pointwise:@x6:f32,mul_per_column,add_per_row,relu", {6, 0, 1, 6}},
      {"D[i:@,j:4] = exp(A[i,j]); C[i:@] += D[i,j:4]", {4, 1}},
      {"C[b:1,i:@,j:6] += A[b,i,k:5]*B[k,j]", {5, 0, 6}},
  };
  for (const Case& each : cases) {
    INFO(each.text);
    const auto found = rows_of(each.text);
    INFO((found ? "" : found.error()));
    REQUIRE(found.has_value());
    CHECK(*found == each.elements);
    // The law: rows 0 to 2, then the other three, are all six.
    const Shared<const ComputeDag> whole = dag_of(each.text, 6), half = dag_of(each.text, 3);
    const std::vector<HostArray> inputs = whole_number_inputs(*whole);
    const auto expected = eval_dag(*whole, inputs);
    REQUIRE(expected.has_value());
    std::vector<std::size_t> input_arguments, output_arguments;
    for (std::size_t i = 0; i < whole->arguments().size(); ++i) {
      const TensorInfo& tensor = whole->tensor(whole->arguments()[i]);
      (whole->operation(tensor.operation).is_placeholder() ? input_arguments : output_arguments)
          .push_back(i);
    }
    for (const std::int64_t first : {0, 3}) {
      std::vector<HostArray> some;
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        const std::size_t i = input_arguments[k];
        some.push_back(part(inputs[k], (*found)[i], first, 3, *half, half->arguments()[i]));
      }
      const auto got = eval_dag(*half, some);
      REQUIRE(got.has_value());
      REQUIRE(got->size() == output_arguments.size());
      for (std::size_t k = 0; k < got->size(); ++k) {
        const std::size_t i = output_arguments[k];
        CHECK((*got)[k] ==
              part((*expected)[k], (*found)[i], first, 3, *half, half->arguments()[i]));
      }
    }
  }
}

TEST_CASE("rows that depend on each other, or lie apart, are refused") {
  struct Case {
    const char* text;
    const char* reason;
  };
  const std::vector<Case> cases = {
      {"C[j:6] += A[i:@,j]", "\"C\" reduces over the rows"},
      {"C[i:@,j:6] = A[@-1-i,j]", "\"C\" has another formula with another number of rows"},
      {"C[i:@,j:6] = A[i,j]*f32(i)", "\"C\" computes a row from other rows, or from its number"},
      {"C[i:@,j:6] = A[i,j]*A[0,j]", "\"C\" computes a row from other rows, or from its number"},
      {"C[i:@,j:@] += A[i,k:4]*B[k,j]",
       "\"C\": the number of rows changes more than the extent of one axis"},
      {"C[j:4,i:@] = A[j,i]",
       "\"A\" has its rows apart from each other: axis 0 of 4 iterations is around them"},
      {"reduce_mean:4x@", "reduces over the rows"},
      {"softmax:@x7,transposed",
       "has its rows apart from each other: axis 0 of 7 iterations is around them"},
      {"gemm:6x6x6:f32", "no argument has rows"},
  };
  for (const Case& each : cases) {
    INFO(each.text);
    const auto found = rows_of(each.text);
    REQUIRE_FALSE(found.has_value());
    INFO(found.error());
    CHECK(found.error().find(each.reason) != std::string::npos);
  }
}
