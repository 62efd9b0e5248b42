# SPDX-License-Identifier: Apache-2.0
"""One page of what rdma-perf measured. strict reads JSON, documents what it means, series groups it, estimate has the
statistics, findings what to distrust, published what others measured; figures and page show it."""
