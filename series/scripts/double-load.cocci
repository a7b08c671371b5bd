// SPDX-License-Identifier: GPL-2.0-only
//
// A user or the core may set or clear a pointer to a handler during a hit. So code has to load it
// only once, into a variable, with READ_ONCE(). This finds code that tests a pointer, then loads it
// again to call the handler: the pointer may have become NULL in between.

virtual report

@again@
expression E;
identifier f = {pre_handler, post_handler, fault_handler, handler, entry_handler};
position p;
@@
(
  E->f && <+... E->f@p(...) ...+>
|
  E->f ? <+... E->f@p(...) ...+> : ...
|
  !E->f || <+... E->f@p(...) ...+>
)

@branch@
expression E;
identifier f = {pre_handler, post_handler, fault_handler, handler, entry_handler};
position p;
statement S;
@@
(
  if (<+... E->f ...+>) { ... when any
    E->f@p(...)
    ... when any
  }
|
  if (!E->f) S
  ... when any
  E->f@p(...)
)

@script:python@
p << again.p;
f << again.f;
@@
print("%s:%s: %s is loaded again after a test" % (p[0].file, p[0].line, f))

@script:python@
p << branch.p;
f << branch.f;
@@
print("%s:%s: %s is loaded again after a test" % (p[0].file, p[0].line, f))
