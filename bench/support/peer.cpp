// SPDX-License-Identifier: Apache-2.0
#include "bench/support/peer.hpp"

namespace tensorsmith::bench {

std::vector<FoundPeer> make_peers() {
  std::vector<FoundPeer> peers = make_onednn_peers();
  peers.push_back(make_openblas_peer());
  peers.push_back(make_blis_peer());
  peers.push_back(make_xsmm_peer());
  return peers;
}

}  // namespace tensorsmith::bench
