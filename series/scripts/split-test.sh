#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests split.pl with a series of two small steps: checks that the steps have the right contents,
# and that split.pl finds each mistake in the data. Prints only failures.

set -euo pipefail
split=$(cd "$(dirname "$0")" && pwd)/split.pl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# make_all: makes a base kernel, the tree after the last step, and a series of two steps that
# changes the one to the other
make_all()
{
	rm -rf "${work:?}"/*
	mkdir -p "$work"/{stock,tree}/dir "$work"/top/series/{messages/1-first,messages/2-second,edits,steps} "$work/out"
	printf 'config A\n\tdepends on B\n\tbool\n' >"$work/stock/Kconfig"
	printf 'config A\n\tdepends on B\n\tbool\n\thelp\n' >"$work/tree/Kconfig"
	printf 'old\n' >"$work/stock/dir/file.c"
	printf '/*\n * Head.\n */\n\nint one(void)\n{\n\n\treturn 1;\n}\n\nint two(void)\n{\n\treturn 2;\n}\n' \
		>"$work/tree/dir/file.c"
	printf 'a.o\nb.o\n' >"$work/tree/dir/Makefile"
	printf '#ifdef A\n/* two.c */\n\n/* Both. */\nint two;\nint too;\n#else\nint one;\n#endif\n' >"$work/tree/dir/file.h"
	printf 'gone\n' >"$work/stock/dir/gone.c"
	printf '%s\n' Kconfig dir/file.c dir/file.h dir/Makefile dir/gone.c >"$work/files"
	printf 'Why: a help\n--- a/Kconfig\n+++ b/Kconfig\n@@ -3 +3,2 @@\n \tbool\n+\thelp\n' \
		>"$work/top/series/edits/help.diff"
	printf 'Why: not yet\n--- a/Kconfig\n+++ b/Kconfig\n@@ -2 +2 @@\n-\tdepends on B\n+\tdepends on BROKEN\n' \
		>"$work/top/series/steps/A.diff"
	printf 'one: First\n\nText.\n\n%s\n' 'Removes: dir/file.c dir/gone.c
Files: dir/
Copies: dir/gone.c dir/kept.c
Holds: A' >"$work/top/series/messages/1-first/0010-one"
	printf 'two: Second\n\nText.\n\n%s\n' 'Edits: help
Lines: dir/Makefile ^b\.o$
Lines: dir/file.c ^int one ... ^}$ @-0+1
Lines: dir/file.h ^int t(wo|oo);$
Removes: dir/kept.c
Lifts: A' >"$work/top/series/messages/2-second/0020-two"
}

# make_rule: makes a header and a makefile with lines that split.pl must add in different steps,
# each with the first code that needs it
make_rule()
{
	local top=$work/top/series/messages

	rm -rf "${work:?}"/*
	mkdir -p "$work"/{stock,tree,out} "$work"/tree/{include/linux,dir/tests} "$top"/{1-first,2-second} \
		"$work"/top/series/{edits,steps}
	# As in a diff, the second step adds the lines with +.
	cat >"$work/header" <<'END'
 #ifndef _THING_H
 #define _THING_H

+struct late;
+
 /* For both */
 #define EARLY	1
+#define LATE	2

 enum kind {
 	FIRST,
+	SECOND,
 };

 /**
  * struct thing - a thing
  * @one: for one
+ * @two: for two,
+ *	and more
  * @none: for nobody
  */
 struct thing {
 	int one;
+	struct late *two;
 	int none;
 };

 int one(struct thing *t);

+#ifdef CONFIG_TWO
+/* Asks two. */
+int two(struct thing *t,
+	int more);
+#else
+static inline int two(struct thing *t, int more) { return 0; }
+#endif
+
 /* Nobody asks. */
 static inline int nobody(void)
 {
 	return needed();
 }

 int needed(void);

 #endif
END
	sed 's/^[+ ]//' "$work/header" >"$work/tree/include/linux/thing.h"
	printf 'int one(struct thing *t)\n{\n\treturn t->one + EARLY + FIRST; /* LATE SECOND t->two */\n}\n' \
		>"$work/tree/dir/one.c"
	printf 'int two(struct thing *t, int more)\n{\n\treturn t->two + LATE + SECOND;\n}\n' \
		>"$work/tree/dir/two.c"
	printf '# All\nobj-y += one.o\n# The second\nobj-y += two.o\n' >"$work/tree/dir/Makefile"
	(cd "$work/tree" && find . -type f -printf '%P\n') >"$work/files"
	printf 'one: First\n\nText.\n\nFiles: dir/ include/linux/thing.h\n' >"$top/1-first/0010-one"
	printf 'two: Second\n\nText.\n\nFiles: dir/two.c\n' >"$top/2-second/0020-two"
}

# split_all: runs split.pl; its tree after each step N is kept in $work/steps/N
split_all()
{
	cat >"$work/keep" <<-'END'
		#!/bin/bash
		mkdir -p "$1/$2" && cp -a . "$1/$2"
	END
	chmod +x "$work/keep"
	(cd "$work/out" && "$split" "$work/top" "$work/stock" "$work/tree" "$work/files" \
		"$work/out" "$work/keep" "$work/steps") 2>&1
}

not_ok()
{
	printf 'split.pl: %s\n' "$*"
	failed=1
}

# has STEP FILE TEXT: reports a failure unless FILE, after this step, consists of TEXT
has()
{
	[ "$(cat "$work/steps/$1/$2" 2>/dev/null)" = "$(printf '%b' "$3")" ] ||
		not_ok "step $1 has another $2: $(cat "$work/steps/$1/$2" 2>&1)"
}

# refused TEXT COMMAND: COMMAND puts a mistake into the data; reports a failure unless split.pl then
# fails with an error that contains TEXT
refused()
{
	local said

	make_all
	(cd "$work/top/series" && bash -c "$2")
	if said=$(split_all); then
		not_ok "nothing was found after: $2"
	elif [[ $said != *"$1"* ]]; then
		not_ok "after: $2: expected '$1', got: $said"
	fi
}

make_all
split_all || not_ok "a series without mistakes is refused"
has 0 dir/file.c 'old'
has 1 dir/file.c '/*\n * Head.\n */\n\nint two(void)\n{\n\treturn 2;\n}'
has 1 dir/Makefile 'a.o'
# A comment, and #if and #endif, must not arrive before a line that they are about.
has 1 dir/file.h '#ifdef A\n#else\nint one;\n#endif'
has 2 dir/file.h '#ifdef A\n/* two.c */\n\n/* Both. */\nint two;\nint too;\n#else\nint one;\n#endif'
has 1 Kconfig 'config A\n\tdepends on BROKEN\n\tbool'
has 2 Kconfig 'config A\n\tdepends on B\n\tbool\n\thelp'
[ ! -e "$work/steps/1/dir/gone.c" ] || not_ok "dir/gone.c was not removed"
has 1 dir/kept.c 'gone'
[ ! -e "$work/steps/2/dir/kept.c" ] || not_ok "dir/kept.c was not removed"
cmp -s "$work/steps/2/dir/file.c" "$work/tree/dir/file.c" || not_ok "the last step is not the tree"

make_rule
split_all || not_ok "the rule does not fit"
has 1 dir/Makefile '# All\nobj-y += one.o'
has 1 include/linux/thing.h "$(sed '/^+/d; s/^ //' "$work/header")"

refused "nothing matches" "sed -i 's/b\\\\.o/c\\\\.o/' messages/2-second/0020-two"
refused "matches 2 lines" "sed -i 's/int one/int/' messages/2-second/0020-two"
refused "nothing matches the end" "sed -i 's/\.\.\. ^}/... ^]/' messages/2-second/0020-two"
refused "no such file of ours" "sed -i 's,^Lines: dir/file.c,Lines: dir/x,' messages/2-second/0020-two"
refused "at most 40 are wanted" "yes 'Lines: dir/file.c ^int one' | head -n 40 >>messages/2-second/0020-two"
refused "edits change it" "echo 'Lines: Kconfig bool' >>messages/2-second/0020-two"
refused "does not arrive before" "echo 'Lines: dir/Makefile ^a' >>messages/1-first/0010-one"
refused "no step has the edit help" "sed -i '/^Edits/d' messages/2-second/0020-two"
refused "is named by 2-second/0020-two, too" "echo 'Edits: help' >>messages/2-second/0020-two"
refused "there is no " "echo 'Edits: nothing' >>messages/2-second/0020-two"
refused "no step has dir/Makefile" "sed -i 's,^Files:.*,Files: dir/file.c,' messages/1-first/0010-one"
refused "there is no such file" "echo 'Files: dir/x' >>messages/2-second/0020-two"
refused "named by 1-first/0010-one and by 2-second/0020-two" "echo 'Files: dir/' >>messages/2-second/0020-two"
refused "no step removes dir/gone.c" "sed -i 's, dir/gone.c,,' messages/1-first/0010-one"
refused "arrives before it is removed" "echo 'Removes: dir/file.c' >>messages/2-second/0020-two; sed -i 's,dir/file.c ,,' messages/1-first/0010-one"
refused "no step removes dir/kept.c" "sed -i '/^Removes/d' messages/2-second/0020-two"
refused "removed before it is copied" "sed -i '/^Removes/d' messages/2-second/0020-two; sed -i 's,^Removes:,& dir/kept.c,' messages/1-first/0010-one"
refused "there is a dir/gone.c" "sed -i 's, dir/kept.c, dir/gone.c,' messages/1-first/0010-one"
refused "no name for dir/gone.c" "sed -i 's, dir/kept.c,,' messages/1-first/0010-one"
refused "has no dir/none.c that changes" "sed -i 's,dir/gone.c dir/kept.c,dir/none.c dir/kept.c,' messages/1-first/0010-one"
refused "no step lifts A" "sed -i '/^Lifts/d' messages/2-second/0020-two"
refused "is not held" "sed -i '/^Holds/d' messages/1-first/0010-one"
refused "no step holds B" "cp steps/A.diff steps/B.diff"
refused "does not begin with 'Why: ...'" "sed -i 1d steps/A.diff"
refused "does not apply" "sed -i 's/on B\$/on C/' steps/A.diff"
refused "has 2 places like" "sed -i '1s/\$/\\n\\tdepends on B/' ../../stock/Kconfig ../../tree/Kconfig"
refused "is not data" "echo 'Something: else' >>messages/2-second/0020-two"
refused "the subject has" "sed -i '1s/\$/$(printf '%0100d' 0)/' messages/2-second/0020-two"
refused "the second line is not empty" "sed -i 2d messages/2-second/0020-two"
refused "more than 75 characters" "sed -i '3s/\$/$(printf '%0100d' 0)/' messages/2-second/0020-two"
refused "is not what it is in" "sed -i 's/+\\thelp/+\\tmore/' edits/help.diff"
exit $failed
