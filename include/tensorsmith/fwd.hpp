// SPDX-License-Identifier: Apache-2.0
// Forward declarations of what user code names in its own headers.
//
// Floor 0. Own design. Includes no other header of the library.
#pragma once

#include <cstdint>

namespace tensorsmith {

enum class DType : std::uint8_t;
enum class MeasureStatus : std::uint8_t;
enum class TargetKind : std::uint8_t;

class Backend;
class ComputeDag;
class CostModel;
class Error;
class ExprPool;
class Journal;
class Kernel;
class Measurer;
class SearchPolicy;
class Template;
class TuneResult;
class WorkerMeasurer;

struct LoopProgram;
struct MeasureResult;
struct MeasureTask;
struct Record;
struct SearchContext;
struct SketchOptions;
struct SpaceContext;
struct SpaceParts;
struct Target;
struct TuneOptions;
struct TuneProgress;
struct TuneSummary;
struct TuneTask;

template <class Extent>
class BasicState;
using State = BasicState<std::int64_t>;

namespace te {
class Program;
}  // namespace te

namespace ops {
struct Workload;
}  // namespace ops

}  // namespace tensorsmith
