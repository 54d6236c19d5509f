// SPDX-License-Identifier: Apache-2.0
// From a dag to what a measurer needs: arguments, input values, reference outputs, tolerances.
//
// Floor 10; compiled in lib/tune. Own design. The reference is computed in f64 from the program as
// it is written, never from a schedule: by the interpreter where that is quick, else by
// `run_plain`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/kernel.hpp"
#include "tensorsmith/measure/measurer.hpp"
#include "tensorsmith/te/compute_dag.hpp"
#include "tensorsmith/tune/reference_buffer.hpp"

namespace tensorsmith {

/// Arguments in the dag's order, outputs without a reference yet. Tolerances are those of
/// `definition`, if there is one: what the program promises, not what it does.
MeasureTask make_measure_task(const ComputeDag& dag, std::int32_t num_threads,
                              std::uint64_t input_seed, const ComputeDag* definition = nullptr);

/// The same as parameters of a kernel.
std::vector<KernelParameter> kernel_parameters(const ComputeDag& dag);

/// The bytes of a kernel's arguments, in the order of its parameters.
using ArgumentBuffers = std::vector<ReferenceBuffer>;

/// Runs the unscheduled program of a dag on its arguments (outputs are to be written).
using PlainRunner =
    Callback<Result<Done, MeasureFault>(const Shared<const ComputeDag>&, ArgumentBuffers&)>;

/// By the interpreter where that is quick or `run_plain` is empty, else by that one. Arguments in
/// the dag's order.
Result<Done, MeasureFault> run_reference(const Shared<const ComputeDag>& dag,
                                         ArgumentBuffers& arguments, const PlainRunner& run_plain);

/// Fills in the reference of every output, the result of `dag`: the task's own, or another
/// definition of the same. `run_plain` empty: the interpreter, however long it
/// takes. Of a result that takes more than `most_points` points of all loops (0: any) some
/// rows only (sample_rows.hpp); the others need to be written, with whatever. The share of the
/// elements that have a reference.
Result<double, MeasureFault> add_reference(MeasureTask& task, const Shared<const ComputeDag>& dag,
                                           const PlainRunner& run_plain, double most_points = 0);

/// Adds to every output what hard inputs give (measure/hard_fill.hpp), with bounds of the errors
/// (error_twin.hpp), of some rows if all take more than `most_points` points of all loops.
/// `definition`: the same arguments as the task's. Where filters of the program mix what the
/// definition keeps apart (attrs.rounding above 1, Winograd's), the program's own errors count too.
/// Empty, or why there are none: a right program need not give the same (integers made of computed
/// floats, floats of any size that become integers), or they could not be computed.
std::string add_hard_references(MeasureTask& task, const Shared<const ComputeDag>& definition,
                                const Shared<const ComputeDag>& program,
                                const PlainRunner& run_plain, double most_points);

/// Memory that preparing, verifying and measuring takes at its peak, over all processes.
double bytes_to_measure(const ComputeDag& dag);
/// One sentence if there is less than that (memory.hpp); else empty.
std::string memory_problem(const ComputeDag& dag);

/// Programs below this many points and operations are left to the interpreter, which takes as long
/// for these as a compiler for any: some 20 ms.
constexpr double most_interpreted_flop = 2e5;

}  // namespace tensorsmith
