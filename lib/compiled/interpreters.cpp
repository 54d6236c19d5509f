#include "tensorsmith/ir/eval_body.hpp"
#include "tensorsmith/te/eval_dag_body.hpp"
