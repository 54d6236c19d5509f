// oneDNN, in as many versions as were found: each is a plug-in of its own, because two of them in
// one name space would call each other's functions.
#include <dlfcn.h>

#include <sstream>

#include "bench/support/peer.hpp"

namespace tensorsmith::bench {

#if !defined(TENSORSMITH_ONEDNN_PLUGINS)
#define TENSORSMITH_ONEDNN_PLUGINS ""
#endif

std::vector<FoundPeer> make_onednn_peers() {
  std::vector<FoundPeer> all;
  std::istringstream list(TENSORSMITH_ONEDNN_PLUGINS);  // "name=path" separated by |
  for (std::string entry; std::getline(list, entry, '|');) {
    const std::size_t mark = entry.find('=');
    FoundPeer found;
    found.name = entry.substr(0, mark);
    const std::string path = entry.substr(mark + 1);
    // Never closed: the peer's code lies in it. Its own library's symbols go before all others.
    void* plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    using Open = void (*)(FoundPeer&);
    const auto open = plugin == nullptr
                          ? nullptr
                          : reinterpret_cast<Open>(dlsym(plugin, "tensorsmith_open_onednn"));
    if (open != nullptr) {
      open(found);
    } else {
      found.reason = std::string("cannot be loaded: ") + dlerror();
    }
    all.push_back(std::move(found));
  }
  if (all.empty()) {
    all.push_back(
        {"onednn", nullptr, "built without oneDNN; install libdnnl-dev and configure again"});
  }
  return all;
}

}  // namespace tensorsmith::bench
