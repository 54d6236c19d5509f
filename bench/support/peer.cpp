#include "bench/support/peer.hpp"

namespace tensorsmith::bench {

std::vector<FoundPeer> make_peers() {
  std::vector<FoundPeer> peers;
  peers.push_back(make_onednn_peer());
  peers.push_back(make_openblas_peer());
  return peers;
}

}  // namespace tensorsmith::bench
