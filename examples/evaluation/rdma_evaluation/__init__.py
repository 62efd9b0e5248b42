# SPDX-License-Identifier: Apache-2.0
"""An evaluation by a plan. plan reads it, schedule says which runs in which order, places is where commands run, mtu what
must be equal, store keeps what was measured, campaign does it all, command is the command line."""
