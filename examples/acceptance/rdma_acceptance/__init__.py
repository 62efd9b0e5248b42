# SPDX-License-Identifier: Apache-2.0
"""The acceptance kit: checks of rdma-hook on an adapter, and the archive that tells of them. Python 3.9 and its library alone."""
