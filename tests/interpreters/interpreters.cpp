// For builds without optimisation: the two interpreters, compiled with it. They are what the tests
// of such a build wait for; linked before the tests, these definitions are the ones that are kept.
#include <vector>

#include "tensorsmith/ir/eval.hpp"
#include "tensorsmith/te/eval_dag.hpp"

namespace tensorsmith::test {

// Named by no one: a use of each function, so that the compiler keeps it.
bool use_interpreters(const LoopProgram& program, const ComputeDag& dag,
                      std::vector<HostArray>& arrays) {
  return eval(program, arrays).has_value() && eval_dag(dag, arrays).has_value();
}

}  // namespace tensorsmith::test
