#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Probes on all instructions of the BPF interpreter, optimised where possible, while it runs a
# program with known results.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

JIT=/proc/sys/net/core/bpf_jit_enable

setup_optimized
grep -q ' ___bpf_prog_run$' /proc/kallsyms || skip_topic "no BPF interpreter in this kernel"
[ ! -w $JIT ] || change $JIT 0
optimization 1
run_suites 0 kp_bpf -- kprobes_bpf
ktap_finished
