# SPDX-License-Identifier: Apache-2.0
# Minimum versions, in one place. The left-hand side is what find_package gets.
set(TENSORSMITH_MIN_LLVM_MAJOR 17)
set(TENSORSMITH_MIN_EIGEN 3.4)
set(TENSORSMITH_MIN_FMT 9.0)
set(TENSORSMITH_MIN_JSON 3.10)
set(TENSORSMITH_MIN_CLI11 2.1)
set(TENSORSMITH_MIN_CATCH2 2.13)
set(TENSORSMITH_MIN_BENCHMARK 1.7)
