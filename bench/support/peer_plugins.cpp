// SPDX-License-Identifier: Apache-2.0
// Peers that are plug-ins: oneDNN in as many versions as were found, because two of them in one
// name space would call each other's functions, and libxsmm, which is a static library only.
#include <dlfcn.h>

#include <sstream>

#include "bench/support/peer.hpp"

namespace tensorsmith::bench {
namespace {

#if !defined(TENSORSMITH_PEER_PLUGINS)
#define TENSORSMITH_PEER_PLUGINS ""
#endif

/// Those whose name begins with `library`.
std::vector<FoundPeer> open_plugins(const std::string& library) {
  std::vector<FoundPeer> all;
  std::istringstream list(TENSORSMITH_PEER_PLUGINS);  // "name=path" separated by |
  for (std::string entry; std::getline(list, entry, '|');) {
    if (entry.rfind(library, 0) != 0) {
      continue;
    }
    const std::size_t mark = entry.find('=');
    FoundPeer found;
    found.name = entry.substr(0, mark);
    const std::string path = entry.substr(mark + 1);
    // Never closed: the peer's code lies in it. Its own library's symbols go before all others.
    void* plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    using Open = void (*)(FoundPeer&);
    const auto open = plugin == nullptr
                          ? nullptr
                          : reinterpret_cast<Open>(dlsym(plugin, "tensorsmith_open_peer"));
    if (open != nullptr) {
      open(found);
    } else {
      found.reason = std::string("cannot be loaded: ") + dlerror();
    }
    all.push_back(std::move(found));
  }
  return all;
}

}  // namespace

std::vector<FoundPeer> make_onednn_peers() {
  std::vector<FoundPeer> all = open_plugins("onednn");
  if (all.empty()) {
    all.push_back(
        {"onednn", nullptr, "built without oneDNN; install libdnnl-dev and configure again"});
  }
  return all;
}

FoundPeer make_xsmm_peer() {
  std::vector<FoundPeer> all = open_plugins("libxsmm");
  if (all.empty()) {
    return {"libxsmm", nullptr, "built without libxsmm; install libxsmm-dev and configure again"};
  }
  return std::move(all.front());
}

}  // namespace tensorsmith::bench
