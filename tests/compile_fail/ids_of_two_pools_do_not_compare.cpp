// SPDX-License-Identifier: Apache-2.0
// expect: operator==
// Ids of different pools cannot be compared.
#include "tensorsmith/support/id.hpp"

int main() {
  const tensorsmith::Id<struct OneTag> one{1};
  const tensorsmith::Id<struct TwoTag> two{1};
  bool equal = one == one && two == two;
#ifdef MUST_FAIL
  equal = one == two;
#endif
  return equal ? 0 : 1;
}
