# SPDX-License-Identifier: GPL-2.0
#
# Prints FILE:LINE: WHY for each statement that loses the result of a check. The first arguments are
# functions*.sh, the others topic scripts.
#
# A function asserts if it calls failed, itself or through other functions of functions*.sh or of
# the same script. In a function,
#  - nothing that asserts is a condition: after !, if, while, until, wait_until, comes_true;
#  - a command that asserts nothing ([, grep -q, rmmod...) is followed by || or is the last one;
#  - a function that check calls does not pass by "|| return 0" without skip_case.
# No script may use programs that only busybox has.

# Prints a line without quoted strings and comments; quotes may span lines.
function bare(line,    i, c, out)
{
	out = ""
	for (i = 1; i <= length(line); i++) {
		c = substr(line, i, 1)
		if (quote == "'") {
			if (c == "'")
				quote = ""
		} else if (c == "\\") {
			# A backslash at the end continues the line.
			if (i == length(line))
				return out " \\"
			i++
		} else if (quote == "\"") {
			if (c == "\"")
				quote = ""
		} else if (c == "'" || c == "\"") {
			quote = c
			out = out "Q"
		} else if (c == "#" && out ~ /(^|[ \t;])$/) {
			break
		} else {
			out = out c
		}
	}
	return out
}

function trim(s)
{
	gsub(/^[ \t]+|[ \t]+$/, "", s)
	return s
}

function complain(nr, why)
{
	print name_of[nr] ":" line_of[nr] ": " why
	bad = 1
}

FNR == 1 {
	quote = ""
	heredoc = ""
	joined = ""
	file = FILENAME
	sub(/.*\//, "", file)
	shared = file ~ /^functions/
	function_name = ""
}

# Collect statements: name_of[], line_of[], in_function[], text[].
{
	if (heredoc != "") {
		if (trim($0) == heredoc)
			heredoc = ""
		next
	}
	if (joined == "" && quote == "")
		first_line = FNR
	outside = bare($0)
	joined = joined outside
	gsub(/[ \t]+/, " ", joined)
	if (outside ~ /<</ && match($0, /<<-?'?[A-Z]+'?/)) {
		heredoc = substr($0, RSTART, RLENGTH)
		gsub(/[<'-]/, "", heredoc)
	}
	if (quote != "")
		next
	if (joined ~ /\\$/) {
		sub(/\\$/, "", joined)
		next
	}
	if (joined ~ /(&&|\|\||\|)[ \t]*$/)
		next
	joined = trim(joined)
	if (joined == "")
		next
	n++
	text[n] = joined
	name_of[n] = file
	line_of[n] = first_line
	joined = ""
	if (text[n] ~ /^[a-z_0-9]+\(\) \{$/) {
		function_name = text[n]
		sub(/\(.*/, "", function_name)
	} else if (text[n] == "}" && $0 ~ /^\}/) {
		in_function[n] = function_name
		function_name = ""
	}
	if (function_name != "")
		in_function[n] = function_name
	if (text[n] ~ /^(check|check_if|check_sample|test_case)[ ]/ ||
	    text[n] ~ /(&&|\|\|) check /) {
		words = split(text[n], w, " ")
		for (i = 2; i <= words; i++)
			called_by_check[file ":" w[i]] = 1
	}
}

# Does this word assert, in the file of statement number nr?
function is_one(nr, word)
{
	return word == "failed" || (":" word) in assertion || (name_of[nr] ":" word) in assertion
}

function first_word(part,    w, count, i)
{
	count = split(trim(part), w, /[ \t]+/)
	for (i = 1; i <= count; i++)
		if (w[i] !~ /^[A-Za-z_]+=/ && w[i] != "{" && w[i] != "(")
			return w[i]
	return ""
}

END {
	do {
		more = 0
		for (i = 1; i <= n; i++) {
			if (!(i in in_function) || text[i] ~ /\(\) \{$/)
				continue
			key = (name_of[i] ~ /^functions/ ? "" : name_of[i]) ":" in_function[i]
			if (key in assertion)
				continue
			count = split(text[i], w, /[ \t;()|&]+/)
			for (j = 1; j <= count; j++)
				if (w[j] != in_function[i] && is_one(i, w[j])) {
					assertion[key] = 1
					more = 1
				}
		}
	} while (more)

	for (i = 1; i <= n; i++) {
		if (text[i] ~ /usleep|\/bin\/busybox/)
			complain(i, "only busybox has that")
		count = split(text[i], w, /[ \t;()]+/)
		for (j = 1; j < count; j++) {
			if (w[j] !~ /^(!|if|elif|while|until|wait_until|comes_true)$/)
				continue
			k = w[j] == "comes_true" ? j + 2 : j + 1
			while (k < count && w[k] == "!")
				k++
			if (is_one(i, w[k]) && w[k] != "wait_until")
				complain(i, w[k] " asserts, and is a condition here")
		}
		if (!(i in in_function))
			continue
		if (text[i] ~ /\|\| return 0$/ && text[i] !~ /skip_case / &&
		    (name_of[i] ":" in_function[i]) in called_by_check)
			complain(i, "passes where it should skip_case")
		# The next statement decides whether this is the last one.
		last = i < n && text[i + 1] == "}" && in_function[i + 1] == in_function[i]
		if (last || text[i] ~ /\|\|/ ||
		    text[i] ~ /&& (return|continue|break)$/ ||
		    text[i] ~ /^(if|elif|while|until|for|case|else|do|done|fi|esac|then|\}|;;|return|trap)/ ||
		    text[i] ~ /(^|[^;]);;$|\)$|[^&]&$/ || text[i] ~ /\(\) \{$/ || text[i] ~ /^[^ ]*=\$?\(/)
			continue
		parts = split(text[i], part, / && /)
		for (j = 1; j <= parts; j++) {
			word = first_word(part[j])
			if (word ~ /^(\[|test|!|cmp|rmmod|insmod|modprobe|kill)$/ ||
			    part[j] ~ /^grep .*-q/ || parts > 1 && !is_one(i, word)) {
				complain(i, "the result of '" word "' is lost")
				break
			}
		}
	}
	exit bad
}
