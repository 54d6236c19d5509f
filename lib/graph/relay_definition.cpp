#include "graph/relay_builder.hpp"

namespace tensorsmith::graph {

Shared<const ComputeDag> relay_definition(const RelayGraph&, const RelayGroup&, RelayTarget) {
  return {};
}

}  // namespace tensorsmith::graph
