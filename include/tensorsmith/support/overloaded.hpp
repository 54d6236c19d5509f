// SPDX-License-Identifier: Apache-2.0
// The visitor helper: a set of lambdas as one callable.
//
// Floor 0. Standard idiom.
#pragma once

namespace tensorsmith {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace tensorsmith
