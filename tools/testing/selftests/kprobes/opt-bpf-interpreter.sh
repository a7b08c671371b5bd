#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Probes on all instructions of the BPF interpreter, optimised where possible, while it runs a
# program with known results.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

JIT=/proc/sys/net/core/bpf_jit_enable
JIT_WAS=

# shellcheck disable=SC2317 # called by the trap
jit_restore() {
	restored=$?
	[ -z "$JIT_WAS" ] || echo "$JIT_WAS" >$JIT
	return $restored
}

setup_optimized
grep -q ' ___bpf_prog_run$' /proc/kallsyms || skip_topic "no BPF interpreter in this kernel"
trap 'jit_restore; at_exit' EXIT
if [ -w $JIT ]; then
	JIT_WAS=$(cat $JIT)
	echo 0 >$JIT
fi
optimization 1
run_suites 0 kp_bpf -- kprobes_bpf
ktap_finished
