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
.PHONY: help demo doctor test test-all $(MORE_TESTS) test-fred test-archs test-bpf test-clients test-outside torture fuzz review \
	attach-times mutants coverage litmus bench shell deb tree kernel modules check patches bisect bisect-sample clean

help:
	@sed -n 's/^#: \{0,1\}//p' Makefile

#: Try
#:   make demo       build the kernel, boot it in QEMU, and show probes in it
#:   make doctor     say what make demo and make test lack on this machine
#: Use
#:   make shell      a prompt in the guest, with our modules; TOOLS=1: and all programs of the host
#:   make kernel     the kernel of a variant, in out/build/VARIANT
#:   make modules    the test modules and samples for it, in out/modules/VARIANT
#:   make deb        packages of a kernel for this machine, in out/deb: image, headers, tests
#:                     CONFIG=/boot/config-...   default: of the running kernel, or of Debian
#:                     LSMOD=file      the modules in this output of lsmod only
#:                     FULL=1          also what tests and users of kprobes need
#: Test
#:   make test       build the variants default and i386, and run all tests in them
#:                     VARIANT=debug   in this one instead
#:                     TESTS="api insn"   these only
#:                     SUITE="api insn"   these suites: api insn context kretprobe opt ftrace clients stress
#:   make test-all   test, and the ones marked with +
#:   make test-debug, test-plain, test-server, test-rt, test-power
#:                   + all tests in this variant
#:   make test-btf   + all orders of what replaces return addresses, with fexit; and gdb
#:   make test-kcfi  + tests of handlers, in a kernel that clang built with kCFI
#:   make test-ibt   + most tests on a processor that enforces IBT, in Bochs: slow
#:   make test-kunit + the KUnit suites that need no module, built into a small kernel
#:   make test-configs   + compile in configurations that no variant has
#:   make cross      + compile for other architectures; ARCHES="arm powerpc": these only
#:   make test-fred  as test-ibt, with FRED, in a newer Bochs
#:   make test-bpf   the kernel's selftests/bpf that use kprobes, on both kernels
#:   make test-clients   tracefs, perf and BPF, compared with the base kernel test by test
#:   make test-outside   compile LTTng's modules and what SystemTap makes
#:   make test-archs  all tests in emulated guests of other architectures
#:                     ARCHES="arm64 s390"   these only
#:                     STOCK=1         on the base kernel, too; REUSE=1: as measured before
#:   make torture    probes change while all CPUs hit them
#:                     VARIANT=debug MINUTES=60 SEED=1 CASE=6
#:                     INTERLEAVE=1    emulated CPUs take turns at any instruction
#:   make fuzz       random instructions and arguments; SEED=1 COUNT=1000000 MINUTES=60
#: Measure
#:   make bench      instructions of a hit, compared with the budget; figures and charts in out/bench
#:                     STOCK=1         and with the base kernel
#:   make attach-times   how long tracefs and bpftrace take to attach probes, on both kernels
#:   make coverage   lines and branches that no test executes, in out/coverage
#: Develop
#:   make tree       out/linux: the base kernel with our files in it
#:   make check      checkpatch, sparse, kernel-doc, Sphinx, shellcheck and more over our files
#:   make litmus     check the barriers with the kernel's memory model: each present, and removed
#:                     TESTS="table-add"   these only
#:   make mutants    break one thing at a time, and see if the tests find it
#:                     MUTANTS="opt-* set-*"   these only
#:                     RANDOM=200 SEED=1   as many, generated at random
#:   make clean      remove out/
#: Send
#:   make patches    the project as series for git am, in out/patches
#:   make review GIT=DIR   a branch and tags in a git tree of Linux, and patches to mail
#:                     REROLL=2        as version 2, with a range-diff to version 1
#:   make bisect     build and test each patch: hours; continues where it stopped
#:                     FROM=18 TO=22   these patches only; or names, as in series/messages
#:                     VARIANTS="default"   default: default i386 arm64 debug
#:                     STAGES="objects"     default: checkpatch objects guest
#:                     TESTS="new api"      default: all; new: the ones that a patch adds
#:   make bisect-sample   two steps of it
#:
#: For all of these
#:   VARIANT=        default i386 plain debug server rt power btf bpf kcfi kcsan; or the base kernel:
#:                     stock-default and so on; or another architecture: arm64 riscv s390 arm powerpc
#:   BASE=7.3        another base kernel than 6.12, in out/7.3; there is one for each series/base-*
#:   KERNEL_SRC=     a directory or tarball of any Linux 6.12.y, or BASE.y, as the base kernel
#:   QEMU=backports  the QEMU of Debian's backports, or of the release that is named
#:   ACCEL= SMP= MEM=   for the guest, see tools/testing/selftests/kprobes/vmtest.sh -h

ifneq ($(word 2,$(VARIANT)),)
ifneq ($(filter-out test bench,$(or $(MAKECMDGOALS),help)),)
$(error VARIANT="$(VARIANT)" has two names, and only `make test` and `make bench` take several: run make once for each)
endif
endif

demo:
	@series/scripts/demo.sh $(if $(filter command line,$(origin VARIANT)),$(VARIANT))

doctor:
	@series/scripts/doctor.sh

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
