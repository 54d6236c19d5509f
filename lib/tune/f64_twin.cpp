// SPDX-License-Identifier: Apache-2.0
#include "tune/f64_twin.hpp"

#include <map>
#include <set>
#include <utility>

#include "tensorsmith/ir/rewrite.hpp"

namespace tensorsmith {
namespace {

bool is_narrow(DType dtype) { return widened(dtype) != dtype; }

}  // namespace

struct F64Copy::Impl {
  explicit Impl(const ComputeDag& dag)
      : dag_(dag), from_(dag.pool()), to_(make_shared_of<ExprPool>()) {
    for (std::uint32_t v = 0; v < from_.num_vars(); ++v) {
      const VarId var{v};
      to_->new_var(from_.var_name(var), widened(from_.var_dtype(var)));
    }
    for (std::uint32_t c = 0; c < from_.num_combiners(); ++c) {
      Combiner combiner = from_.combiner(CombinerId{c});
      for (ExprId& result : combiner.results) {
        result = copy(result);
      }
      for (ExprId& identity : combiner.identity) {
        identity = copy(identity);
      }
      to_->add_combiner(std::move(combiner));
    }
  }

  ExprId copy(ExprId id) {
    if (const auto found = copied_.find(id.value); found != copied_.end()) {
      return found->second;
    }
    ExprNode node = from_[id];
    const DType stored = node.dtype;
    node.dtype = widened(node.dtype);
    const auto each = [&](ExprList& list) {
      for (ExprId& child : list) {
        child = copy(child);
      }
    };
    std::visit(Overloaded{[](IntImm&) {}, [](FloatImm&) {}, [](VarRef&) {},
                          [&](Unary& n) { n.a = copy(n.a); },
                          [&](Binary& n) {
                            n.a = copy(n.a);
                            n.b = copy(n.b);
                          },
                          [&](Select& n) {
                            n.condition = copy(n.condition);
                            n.if_true = copy(n.if_true);
                            n.if_false = copy(n.if_false);
                          },
                          [&](Cast& n) { n.a = copy(n.a); }, [&](Call& n) { each(n.args); },
                          [&](TensorRead& n) { each(n.indices); },
                          [&](Load& n) { each(n.indices); }, [&](Reduce& n) { each(n.sources); }},
               node.op);
    const TensorRead* read = std::get_if<TensorRead>(&node.op);
    ExprId result;
    if (read != nullptr && is_input(dag_, dag_.tensor(read->tensor)) && node.dtype != stored) {
      const DType wide = node.dtype;
      node.dtype = stored;
      result = to_->cast(wide, to_->intern(node));
    } else {
      result = is_idle_cast(node) ? std::get<Cast>(node.op).a : to_->intern(node);
    }
    copied_.emplace(id.value, result);
    return result;
  }

  const Shared<ExprPool>& pool() const { return to_; }

 private:
  bool is_idle_cast(const ExprNode& node) const {
    const Cast* cast = std::get_if<Cast>(&node.op);
    return cast != nullptr && to_->dtype(cast->a) == node.dtype && node.dtype == DType::f64;
  }

  const ComputeDag& dag_;
  const ExprPool& from_;
  Shared<ExprPool> to_;
  std::map<std::uint32_t, ExprId> copied_;
};
F64Copy::F64Copy(const ComputeDag& dag) : impl_(std::make_unique<Impl>(dag)) {}
F64Copy::~F64Copy() = default;
ExprId F64Copy::operator()(ExprId id) { return impl_->copy(id); }
const Shared<ExprPool>& F64Copy::pool() const { return impl_->pool(); }

Shared<const ComputeDag> f64_twin(const Shared<const ComputeDag>& dag) {
  bool has_narrow = false;
  for (const TensorInfo& tensor : dag->tensors()) {
    has_narrow = has_narrow || (is_defined(*dag, tensor) && is_narrow(tensor.dtype));
  }
  if (!has_narrow) {
    return dag;
  }
  F64Copy widener(*dag);
  std::vector<TensorInfo> tensors = dag->tensors();
  for (TensorInfo& tensor : tensors) {
    tensor.dtype = is_input(*dag, tensor) ? tensor.dtype : widened(tensor.dtype);
  }
  std::vector<Operation> operations = dag->operations();
  for (Operation& operation : operations) {
    for (ExprId& body : operation.bodies) {
      body = widener(body);
    }
  }
  return make_shared_of<const ComputeDag>(widener.pool(), std::move(tensors), std::move(operations),
                                          dag->arguments());
}

}  // namespace tensorsmith
