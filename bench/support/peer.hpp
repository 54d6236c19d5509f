// SPDX-License-Identifier: Apache-2.0
// A library that solves the same problem: what we compare ourselves with.
//
// Own design; rules of use: one contestant never runs outside an interleaved measurement
// (paired.hpp), and its implementation string is published next to its time.
// Not here: timing, verification.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/support/shapes.hpp"

namespace tensorsmith::bench {

/// Answer of Peer::prepare. When not ok, `reason` is one sentence for the report.
struct Prepared {
  bool ok = false;
  std::string reason;

  static Prepared yes() { return {true, ""}; }
  static Prepared no(std::string reason) { return {false, std::move(reason)}; }
};

/// Life of a peer: prepare, then run any number of times. To verify: rewind, run, write_output.
/// prepare may be called again for another problem. The buffers must outlive the last run.
class Peer {
 public:
  virtual ~Peer() = default;

  virtual std::string name() const = 0;  ///< key of the report: "onednn", "openblas"
  virtual std::string library_version() const = 0;
  /// What runs: primitives and kernels, e.g. "matmul brg:avx512_core"; valid after prepare.
  virtual std::string impl_info() const = 0;
  /// Sets up the fastest way that the library has for this class, found by timing the candidates.
  virtual Prepared prepare(const Problem& problem, const Buffers& buffers, PackingClass packing,
                           int threads) = 0;
  /// Brings back what a run overwrites: a residual that the result is added to. Not timed.
  virtual void rewind() {}
  /// The timed region.
  virtual void run() = 0;
  /// Brings the result of the last run into buffers.output in plain layout. Not timed.
  virtual void write_output() = 0;
};

/// A peer, or the reason why there is none.
struct FoundPeer {
  std::string name;
  std::unique_ptr<Peer> peer;
  std::string reason;
};

/// "onednn" is the distribution's, "onednn3" the newer one of scripts/setup.sh --peers.
std::vector<FoundPeer> make_onednn_peers();
/// Loads OpenBLAS with its core type forced to the host's class; it is fixed at load time. An
/// OPENBLAS_CORETYPE that says otherwise is overridden and reported, because a comparison with the
/// wrong kernels is void; TENSORSMITH_OPENBLAS_CORETYPE chooses another one on purpose. Call it
/// before pinning threads: the library counts the processors it may use when it is loaded.
FoundPeer make_openblas_peer();
/// libxsmm, if this was built with it: one thread, plain layouts.
FoundPeer make_xsmm_peer();
/// Loads BLIS, with its widest kernels chosen unless BLIS_ARCH_TYPE says otherwise.
FoundPeer make_blis_peer();
/// All of the above, found or not.
std::vector<FoundPeer> make_peers();

}  // namespace tensorsmith::bench
