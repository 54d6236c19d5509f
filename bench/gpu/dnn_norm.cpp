// SPDX-License-Identifier: Apache-2.0
// requires: cuda json
// Layernorm of cuDNN: a graph of one operation, built by attributes of descriptors.
#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "bench/gpu/dnn.hpp"
#include "tensorsmith/cuda/shared_library.hpp"

namespace tensorsmith::bench {
namespace {

using cuda::DevicePointer;
using cuda::find_function;

// Of cudnnBackendDescriptorType_t.
enum : int {
  heuristic_form = 4,
  plan_form = 5,
  graph_form = 15,
  pack_form = 16,
  tensor_form = 17,
  norm_form = 29,
  configuration_form = 3
};
// Of cudnnBackendAttributeType_t.
enum : int {
  handle_type = 0,
  data_type_type = 1,
  boolean_type = 2,
  int64_type = 3,
  pointer_type = 6,
  heuristic_type = 8,
  form_type = 15,
  norm_mode_type = 27,
  norm_phase_type = 28
};
// Of cudnnBackendAttributeName_t.
enum : int {
  heuristic_mode = 200,
  heuristic_graph = 201,
  heuristic_results = 202,
  plan_handle = 400,
  plan_configuration = 401,
  plan_workspace_size = 402,
  graph_handle = 800,
  graph_operations = 801,
  tensor_alignment = 900,
  tensor_type = 901,
  tensor_dimensions = 902,
  tensor_strides = 903,
  tensor_id = 906,
  tensor_is_by_value = 908,
  pack_ids = 1000,
  pack_pointers = 1001,
  pack_workspace = 1003,
  norm_mode = 2000,
  norm_phase = 2001,
  norm_x = 2002,
  norm_scale = 2005,
  norm_bias = 2006,
  norm_epsilon = 2007,
  norm_y = 2013
};

/// Descriptors of a graph. The first call that fails ends all: is_good() is false from then on.
class Graph {
 public:
  explicit Graph(const Cudnn& cudnn) : handle_(cudnn.handle) {
    is_good_ = find_function(cudnn.library, "cudnnBackendCreateDescriptor", create_) &&
               find_function(cudnn.library, "cudnnBackendSetAttribute", set_) &&
               find_function(cudnn.library, "cudnnBackendGetAttribute", get_) &&
               find_function(cudnn.library, "cudnnBackendFinalize", finalize_) &&
               find_function(cudnn.library, "cudnnBackendExecute", execute_);
  }

  bool is_good() const { return is_good_; }
  void* create(int form) {
    void* made = nullptr;
    is_good_ = is_good_ && create_(form, &made) == 0;
    return made;
  }
  template <class T>
  void set(void* form, int name, int type, const T* values, std::int64_t count = 1) {
    is_good_ = is_good_ && set_(form, name, type, count, values) == 0;
  }
  void finalize(void* form) { is_good_ = is_good_ && finalize_(form) == 0; }

  /// [rows, columns, 1, 1] in f32; one that is passed by value has one element.
  void* tensor(std::int64_t id, std::int64_t rows, std::int64_t columns, bool is_by_value) {
    void* const made = create(tensor_form);
    const std::int64_t dimensions[] = {rows, columns, 1, 1};
    const std::int64_t strides[] = {columns, 1, columns, columns};
    const std::int64_t alignment = is_by_value ? 4 : 16;
    set(made, tensor_type, data_type_type, &dnn_f32);
    set(made, tensor_dimensions, int64_type, dimensions, 4);
    set(made, tensor_strides, int64_type, strides, 4);
    set(made, tensor_id, int64_type, &id);
    set(made, tensor_alignment, int64_type, &alignment);
    if (is_by_value) {
      set(made, tensor_is_by_value, boolean_type, &is_by_value);
    }
    finalize(made);
    return made;
  }

  /// Plans for one operation, best guess first.
  std::vector<void*> plans(void* operation) {
    constexpr std::int64_t most = 8;
    void* const graph = create(graph_form);
    set(graph, graph_handle, handle_type, &handle_);
    set(graph, graph_operations, form_type, &operation);
    finalize(graph);
    std::vector<void*> found;
    for (const int mode : {3, 2}) {  // CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK
      void* const heuristic = create(heuristic_form);
      set(heuristic, heuristic_graph, form_type, &graph);
      set(heuristic, heuristic_mode, heuristic_type, &mode);
      finalize(heuristic);
      std::array<void*, most> configurations{};
      for (void*& configuration : configurations) {
        configuration = create(configuration_form);
      }
      std::int64_t count = 0;
      is_good_ = is_good_ && get_(heuristic, heuristic_results, form_type, most, &count,
                                  configurations.data()) == 0;
      for (std::int64_t i = 0; is_good_ && i < std::min(count, most); ++i) {
        void* const plan = create(plan_form);
        const bool is_usable = set_(plan, plan_handle, handle_type, 1, &handle_) == 0 &&
                               set_(plan, plan_configuration, form_type, 1,
                                    &configurations[static_cast<std::size_t>(i)]) == 0 &&
                               finalize_(plan) == 0;
        if (is_usable) {
          found.push_back(plan);
        }
      }
    }
    return found;
  }
  std::int64_t workspace_size(void* plan) {
    std::int64_t size = 0, count = 0;
    is_good_ = is_good_ && get_(plan, plan_workspace_size, int64_type, 1, &count, &size) == 0;
    return size;
  }
  std::function<cuda::Status()> call(void* plan, void* pack) const {
    return
        [execute = execute_, handle = handle_, plan, pack] { return execute(handle, plan, pack); };
  }

 private:
  void* handle_;
  bool is_good_ = false;
  int (*create_)(int, void**) = nullptr;
  int (*set_)(void*, int, int, std::int64_t, const void*) = nullptr;
  int (*get_)(void*, int, int, std::int64_t, std::int64_t*, void*) = nullptr;
  int (*finalize_)(void*) = nullptr;
  int (*execute_)(void*, void*, void*) = nullptr;
};

}  // namespace

GpuPeer open_cudnn_layernorm(cuda::Device& device, std::int64_t rows, std::int64_t columns,
                             DevicePointer x, DevicePointer gamma, DevicePointer beta,
                             DevicePointer y) {
  static float epsilon = 1e-5F;  // that of ops/row.hpp; plans read it when they run
  constexpr std::int64_t most_workspace = std::int64_t{1} << 30;
  const Cudnn cudnn = open_cudnn(device);
  GpuPeer peer = peer_of(cudnn);
  peer.output = y;
  if (cudnn.handle == nullptr) {
    return peer;
  }
  Graph graph(cudnn);
  const int layer_norm = 0, inference = 0;
  void* const operation = graph.create(norm_form);
  graph.set(operation, norm_mode, norm_mode_type, &layer_norm);
  graph.set(operation, norm_phase, norm_phase_type, &inference);
  const auto add = [&](int name, std::int64_t id, std::int64_t height, std::int64_t width) {
    void* const tensor = graph.tensor(id, height, width, name == norm_epsilon);
    graph.set(operation, name, form_type, &tensor);
  };
  add(norm_x, 1, rows, columns);
  add(norm_scale, 2, 1, columns);
  add(norm_bias, 3, 1, columns);
  add(norm_epsilon, 4, 1, 1);
  add(norm_y, 5, rows, columns);
  graph.finalize(operation);
  std::vector<GpuPeer> found;
  for (void* const plan : graph.plans(operation)) {
    const std::int64_t num_bytes = graph.workspace_size(plan);
    DevicePointer workspace = 0;
    if (!graph.is_good() || num_bytes > most_workspace ||
        device.driver().allocate(&workspace, static_cast<std::size_t>(num_bytes) + 256) != 0) {
      continue;
    }
    const std::int64_t ids[] = {1, 2, 3, 4, 5};
    void* const pointers[] = {pointer_of(x), pointer_of(gamma), pointer_of(beta), &epsilon,
                              pointer_of(y)};
    void* const memory = pointer_of(workspace);
    void* const pack = graph.create(pack_form);
    graph.set(pack, pack_ids, int64_type, ids, 5);
    graph.set(pack, pack_pointers, pointer_type, pointers, 5);
    graph.set(pack, pack_workspace, pointer_type, &memory);
    graph.finalize(pack);
    if (graph.is_good()) {
      found.push_back(peer);
      found.back().version += ", plan " + std::to_string(found.size());
      found.back().enqueue = graph.call(plan, pack);
    }
  }
  if (found.empty()) {
    peer.absent = "cuDNN was found, but has no layernorm for this (its graphs have since 8.5)";
    return peer;
  }
  return fastest_of(device, found);
}

}  // namespace tensorsmith::bench
