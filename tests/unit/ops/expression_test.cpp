// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ops/expression.hpp"

#include <string>

#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/te/notation.hpp"
#include "tensorsmith/te/workload_key.hpp"

using namespace tensorsmith;

TEST_CASE("expression: a workload string may be index notation, whose name is its canonical text") {
  const auto workload = ops::parse_workload("C[i:4,j:6] += A[i,k:5]*B[k,j]");
  REQUIRE(workload);
  CHECK(workload->name == "A[4,5]; B[5,6]; C[i:4,j:6] += A[i,k:5]*B[k,j]");
  CHECK(workload->kind == "expression");
  CHECK(workload->reduction_length == 5);
  CHECK(workload->nominal_flop == 2 * 4 * 5 * 6);
  CHECK(ops::parse_workload(workload->name)->name == workload->name);
  const auto wrong = ops::parse_workload("C[i:4] = A[j:3]");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().find("a reduction such as +=") != std::string::npos);
}

TEST_CASE("expression: the text of a named workload has its key") {
  const auto named = ops::parse_workload("conv2d:n=1,h=14,w=14,ci=8,co=16,k=3,s=2,p=1");
  const auto text = te::write_notation(*named->dag);
  REQUIRE(text);
  CHECK(te::workload_key(*ops::parse_workload(*text)->dag) == te::workload_key(*named->dag));
}

TEST_CASE("expression: einsum is subscripts and extents") {
  CHECK(ops::parse_workload("einsum:ik,kj->ij,i=4,k=5,j=6")->name ==
        "A[4,5]; B[5,6]; Y[i:4,j:6] += A[i,k:5]*B[k,j]");
  CHECK(ops::parse_workload("einsum:ij->ji,i=4,j=6")->name == "A[4,6]; Y[j:6,i:4] = A[i,j]");
  CHECK(ops::parse_workload("einsum:ijk->,i=2,j=3,k=4")->name == "A[2,3,4]; Y[] += A[i:2,j:3,k:4]");
  CHECK(ops::parse_workload("einsum:i,i->,i=8,bf16")->name ==
        "A.bf16[8]; B.bf16[8]; T[] += f32(A[i:8])*f32(B[i]); Y.bf16[] = bf16(T[])");
  const auto error_of = [](const char* text) { return ops::parse_workload(text).error(); };
  CHECK(error_of("einsum:ik,kj->ij,i=4,k=5").find("the extent of index j") != std::string::npos);
  CHECK(error_of("einsum:ik,kj").find("an arrow") != std::string::npos);
  CHECK(error_of("einsum:ik->iz,i=2,k=3,z=4").find("that an operand has") != std::string::npos);
  CHECK(error_of("einsum:i->i,i=2,i8").find("a type f64") != std::string::npos);
  CHECK_FALSE(ops::parse_workload("einsum:i1->i,i=2"));
}
