// SPDX-License-Identifier: Apache-2.0
// Memory of GPUs, through the vendor's library: libcuda (CUDA's driver API) or libamdhip64 (ROCm).
// It is loaded where somebody asks for it; nothing of it is needed to build.
#pragma once

#include "perf/verbs/buffer.h"

namespace perf {

Result<Buffers> open_cuda(unsigned number);
Result<Buffers> open_rocm(unsigned number);

}  // namespace perf
