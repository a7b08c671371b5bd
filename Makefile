# SPDX-License-Identifier: GPL-2.0-only
#
# `make help` lists the targets.

VARIANT ?= default
VARIANTS := default i386
# What `make test-all` runs in addition to `make test`: targets whose last line is "N passed, M failed"
MORE_TESTS := test-plain test-debug test-server test-rt test-power test-btf test-configs test-kcfi test-ibt \
	test-kunit cross
TESTS ?=
SUITE ?=
ARCHES ?=
MUTANTS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test test-all $(MORE_TESTS) test-fred test-archs test-bpf test-clients test-outside torture fuzz review \
	attach-times mutants coverage litmus bench shell deb tree kernel modules check patches bisect bisect-sample clean

help:
	@echo 'make demo     build the kernel, boot it in QEMU, probe a function, show the hits'
	@echo 'make test     build the variants $(VARIANTS) and run all tests in them'
	@echo '                VARIANT=debug          in this one instead'
	@echo '                TESTS="api insn"       these only'
	@echo '                SUITE="api insn"       the tests of these suites only: api, insn, context,'
	@echo '                                       kretprobe, opt, ftrace, clients, stress'
	@echo 'make test-all test, and $(MORE_TESTS)'
	@echo 'make test-plain  all tests in a small kernel without the function tracer'
	@echo 'make test-debug  all tests in the variant with KASAN, UBSAN, lockdep and RCU checks'
	@echo 'make test-server  all tests in the variant that is measured'
	@echo 'make test-rt  all tests in a kernel with PREEMPT_RT, with lockdep, and those of clients'
	@echo 'make test-power  all tests in a kernel with what Debian has and others lack here; it is'
	@echo '                suspended and hibernates, and has 32-bit processes'
	@echo 'make test-btf  all orders of what replaces return addresses, with fexit, which needs BTF; and gdb'
	@echo 'make test-bpf  selftests/bpf of the kernel, as far as they use kprobes, on both kernels'
	@echo '                TESTS="missed kprobe_multi*"   these only'
	@echo 'make test-clients  tests of tracefs, perf and BPF as users of kprobes, on the'
	@echo '                base kernel and on ours, compared test by test'
	@echo '                VARIANT=i386           on 32-bit x86'
	@echo 'make test-outside  compile users of kprobes that are not in the kernel: LTTng, SystemTap'
	@echo 'make test-configs  compile in configurations that no variant has'
	@echo 'make cross    compile for the other architectures that have kprobes'
	@echo '                ARCHES="arm powerpc"   these only'
	@echo 'make test-archs  all tests in emulated guests of the other architectures, in a table'
	@echo '                ARCHES="arm64 s390"    these only'
	@echo '                TESTS="api torture"    these tests only'
	@echo '                STOCK=1                on the base kernel, too; REUSE=1 takes its'
	@echo '                                       results from an earlier run'
	@echo 'make test-kcfi  the tests of handlers in a kernel built by clang with kCFI'
	@echo 'make test-ibt  most tests on a processor that enforces IBT, in Bochs: slow'
	@echo '                TESTS="api insn"       these only'
	@echo 'make test-fred the same with FRED, in a newer Bochs'
	@echo 'make test-kunit  the KUnit suites that need no module, built into a small kernel'
	@echo '                TESTS=kretprobes_errno   this one only; a suite, or a glob'
	@echo 'make torture  the torture test: probes change while all CPUs hit them'
	@echo '                VARIANT=debug MINUTES=60 SEED=1 CASE=6'
	@echo '                INTERLEAVE=1           emulated CPUs take turns at any instruction'
	@echo 'make fuzz     random instructions, executed by kprobes and by the CPU, and compared;'
	@echo '                and random arguments for all interfaces'
	@echo '                SEED=1 COUNT=1000000 MINUTES=60'
	@echo 'make mutants  break one thing after the other, and see whether the tests find it; what was'
	@echo '                found out is kept until sources, tests or the mutant change'
	@echo '                MUTANTS="opt-* set-*"  these only, see series/mutants'
	@echo '                VARIANT=default        in this one instead of the one that each names'
	@echo '                RANDOM=200 SEED=1      so many that are made by rule, all in one kernel'
	@echo 'make coverage lines and branches that no test executes, and tests that execute none alone; what was'
	@echo '                measured is kept, in out/coverage, until sources or the test change'
	@echo '                VARIANT=i386           in this one instead of default'
	@echo '                TESTS="api opt"        measure these only'
	@echo 'make litmus   the barriers, by herd7 and the memory model of the kernel: what must not happen'
	@echo '                does not, and does without the barrier'
	@echo '                TESTS="table-add"      these only, of tools/memory-model/litmus-tests/kprobes'
	@echo 'make attach-times  how long tracefs and bpftrace take to attach probes, on both kernels'
	@echo '                VARIANT=default        of this one instead of server'
	@echo 'make bench    the cost of a probe in instructions, compared with the budget'
	@echo '                STOCK=1                and with the base kernel; out/bench has'
	@echo '                                       the figures, and a chart'
	@echo 'make shell    a prompt in the guest, with our modules'
	@echo '                TOOLS=1                and all programs of the host'
	@echo 'make deb      packages for Debian in out/deb, of a kernel for this machine: image, headers, tests'
	@echo '                CONFIG=/boot/config-...  default: of the running kernel, or of Debian'
	@echo '                LSMOD=file             the modules in this output of lsmod only'
	@echo '                FULL=1                 what tests and users of kprobes need, too'
	@echo 'make tree     out/linux: the base kernel with our files in it'
	@echo 'make kernel   the kernel of a variant, in out/build/VARIANT'
	@echo 'make modules  the test modules and samples, in out/modules/VARIANT'
	@echo 'make check    checkpatch, sparse, kernel-doc, Sphinx and shellcheck over our files,'
	@echo '                litmus, and scripts.sh, which makes sure that the tests can fail;'
	@echo '                builds the kernel of the variant default'
	@echo 'make patches  the project as five series for git am, in out/patches'
	@echo 'make review GIT=DIR  a branch and tags of them in a git tree of Linux, and patches to mail'
	@echo '                REROLL=2               as version 2, with a range-diff to version 1'
	@echo 'make bisect   builds and tests each step of the series: hours; goes on where it stopped'
	@echo '                FROM=18 TO=22          these patches only; or names, as in series/messages'
	@echo '                VARIANTS="default"     default: default i386 arm64 debug'
	@echo '                STAGES="objects"       default: checkpatch objects guest'
	@echo '                TESTS="new api"        default: all; new: those that a patch adds'
	@echo 'make bisect-sample  two steps of it'
	@echo 'make clean    removes out/'
	@echo
	@echo 'VARIANT=      default, i386, plain, debug, server, rt, power, btf, bpf, kcfi,'
	@echo '                kcsan; or'
	@echo '                stock-default, stock-i386, stock-server: the base kernel untouched;'
	@echo '                arm64, riscv, s390, arm, powerpc, and stock-arm64 and so on:'
	@echo '                emulated guests of other architectures'
	@echo 'BASE=7.3      another base kernel than 6.12, and all of the above in out/7.3; there is one'
	@echo '                for each series/base-*'
	@echo 'KERNEL_SRC=   a directory or tarball of any Linux 6.12.y, or BASE.y, as the base kernel'
	@echo 'QEMU=backports     the QEMU of Debian backports, or of the release that is named; unpacked'
	@echo '                in out, and not installed'
	@echo 'ACCEL= SMP= MEM=   for the guest, see tools/testing/selftests/kprobes/vmtest.sh -h'

demo: modules
	@series/scripts/guest.sh $(VARIANT) -c series/scripts/demo-guest.sh

ifeq ($(origin VARIANT),command line)
test: VARIANTS := $(VARIANT)
endif
test:
	@SUITE="$(SUITE)" series/scripts/test.sh "$(VARIANTS)" $(TESTS)

test-all:
	@series/scripts/sum.sh test $(MORE_TESTS)

test-plain:
	@series/scripts/test.sh plain

test-debug:
	@series/scripts/test.sh debug

test-server:
	@series/scripts/test.sh server

test-rt:
	@series/scripts/test.sh rt

test-power:
	@series/scripts/test.sh power

test-btf:
	@APPEND="$$APPEND TOGETHER_ORDERS=all" TIMEOUT=$${TIMEOUT:-9000} \
		series/scripts/test.sh btf clients-together clients-bpf clients-bpf-events clients-gdb

test-bpf: export TESTS := $(TESTS)
test-bpf:
	@set -f && series/scripts/bpf-selftests.sh $$TESTS

test-clients attach-times: COMPARED := server
ifeq ($(origin VARIANT),command line)
test-clients attach-times: COMPARED := $(VARIANT)
endif
test-clients:
	@series/scripts/clients.sh $(COMPARED) $(TESTS)

test-outside: kernel
	@series/scripts/outside.sh $(VARIANT)

test-configs:
	@series/scripts/configs.sh x86

cross:
	@series/scripts/configs.sh cross $(ARCHES)

test-archs:
	@TESTS="$(TESTS)" STOCK=$(STOCK) REUSE=$(REUSE) series/scripts/archs.sh $(ARCHES)

test-kcfi:
	@series/scripts/kcfi.sh $(TESTS)

test-ibt:
	@series/scripts/bochs.sh ibt $(TESTS)

test-fred:
	@series/scripts/bochs.sh fred $(TESTS)

test-kunit:
	@series/scripts/kunit.sh $(TESTS)

attach-times:
	@series/scripts/attach-times.sh $(COMPARED)

torture:
	@series/scripts/torture.sh "$(VARIANT)" "$(or $(MINUTES),5)" $(SEED)

ifeq ($(origin VARIANT),command line)
mutants: export VARIANT := $(VARIANT)
else
mutants: export VARIANT :=
endif
mutants:
	@series/scripts/mutants.sh $(if $(RANDOM),--random $(RANDOM) $(or $(SEED),1),"$(MUTANTS)")

coverage:
	@series/scripts/coverage.sh "$(VARIANT)" $(TESTS)

fuzz:
	@series/scripts/fuzz.sh "$(or $(MINUTES),0)" "$(or $(SEED),$(shell date +%s))" $(COUNT)

litmus: tree
	@series/scripts/litmus.sh $(TESTS)

bench: BENCHED := default,server,btf
ifeq ($(origin VARIANT),command line)
bench: BENCHED := $(VARIANT)
endif
bench:
	@STOCK=$(STOCK) series/scripts/bench.sh "$(BENCHED)"

shell: modules
	@series/scripts/guest.sh $(VARIANT) -s $(if $(TOOLS),-R,-H)

deb: export CONFIG := $(CONFIG)
deb: export LSMOD := $(LSMOD)
deb: export FULL := $(FULL)
deb:
	@series/scripts/deb.sh

tree:
	@series/scripts/prepare.sh

kernel:
	@series/scripts/build.sh $(VARIANT)

modules:
	@series/scripts/modules.sh $(VARIANT)

check:
	@series/scripts/check.sh

patches:
	@REROLL=$(REROLL) series/scripts/export.sh

review: patches
	@REROLL=$(REROLL) series/scripts/review.sh "$(GIT)"

bisect: export FROM := $(FROM)
bisect: export TO := $(TO)
bisect: export STAGES := $(STAGES)
bisect: export TESTS := $(TESTS)
ifneq ($(origin VARIANTS),file)
bisect: export VARIANTS := $(VARIANTS)
else
bisect: export VARIANTS :=
endif
bisect:
	@series/scripts/bisect.sh

# Two steps in which tests can be run, and arrive. The variant plain is
# built fastest.
bisect-sample:
	@FROM=0307-vmtest TO=0310-context-tests VARIANTS=plain TESTS="new api" series/scripts/bisect.sh

clean:
	rm -rf out
