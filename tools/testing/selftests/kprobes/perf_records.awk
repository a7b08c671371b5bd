# SPDX-License-Identifier: GPL-2.0
#
# Follows the sorted output of perf_records as a decoder of processor traces does. It compares the
# old bytes of each record with the records before it, and the text of probes with the result.
# Prints a number for each kind of change, and "wrong: ..." for each difference.

function wrong(what)
{
	number["wrong"]++
	print "wrong: " what ": " $0
}

function page_of(addr)
{
	return addr - (addr % 4096 + 4096) % 4096
}

function int32(bytes,    i, n)
{
	for (i = 4; i >= 1; i--)
		n = 256 * n + 16 * digit[substr(bytes, 2 * i - 1, 1)] + \
			digit[substr(bytes, 2 * i, 1)]
	return n < 2147483648 ? n : n - 4294967296
}

# Returns the index of the first of n bytes from addr that is in known[] (is_known is 1) or is not
# (is_known is 0), or n if there is none.
function first(addr, n, is_known,    i)
{
	for (i = 0; i < n; i++)
		if (((addr + i) in known) == is_known)
			break
	return i
}

# A decoder that follows the jump has to know its target.
function follow_jump(addr, bytes,    to)
{
	to = addr + 5 + int32(substr(bytes, 3))
	if (!(page_of(to) in page))
		wrong("it leads into no page of slots")
	if (first(to, 5, 0) < 5)
		wrong("it leads to unknown bytes")
}

function count(addr, old, new,    how)
{
	how = length(old) "," length(new) "," substr(old, 1, 2) "," substr(new, 1, 2)
	if (how ~ /^2,2,..,cc$/)
		number["breakpoints"]++
	else if (how ~ /^2,2,cc,/)
		number["breakpoints_out"]++
	else if (how == "10,10,cc,e9") {
		number["jumps"]++
		follow_jump(addr, new)
	} else if (how == "10,10,e9,cc")
		number["jumps_out"]++
	else
		number["others"]++
}

function compare(addr, bytes,    i)
{
	for (i = 0; 2 * i < length(bytes); i++)
		if ((addr + i) in known && known[addr + i] != substr(bytes, 2 * i + 1, 2))
			return wrong("byte " i " is known as " known[addr + i])
}

function learn(addr, bytes,    i)
{
	for (i = 0; 2 * i < length(bytes); i++)
		known[addr + i] = substr(bytes, 2 * i + 1, 2)
}

function forget(addr, bytes,    i)
{
	for (i = 0; 2 * i < length(bytes); i++)
		delete known[addr + i]
}

BEGIN {
	for (i = 0; i < 16; i++)
		digit[substr("0123456789abcdef", i + 1, 1)] = i
	names = "breakpoints breakpoints_out jumps jumps_out filled emptied pages pages_out"
	names = names " others lost wrong"
}

# In the first pass over the file, collect all addresses that are ever probed.
FNR == NR {
	if ($3 == "seen")
		probed[$4] = 1
	next
}

{
	old = substr($5, 2)
	new = substr($6, 2)
}

$3 == "lost" { number["lost"]++ }

$3 == "page" {
	if ($1)
		number["pages"]++
	if ($4 in page)
		wrong("the page is known")
	page[$4] = 1
}

$3 == "unpage" {
	number["pages_out"]++
	if (!($4 in page))
		wrong("the page is not known")
	delete page[$4]
	if (first($4, 4096, 1) < 4096)
		wrong("there are slots in it, at " first($4, 4096, 1))
}

# Ignore text that is neither in a slot nor probed: another user of text_poke() has patched it.
$3 == "text" && (page_of($4) in page || $4 in probed) {
	if (page_of($4) in page) {
		number["filled"] += old == ""
		number["emptied"] += new == ""
	} else {
		count($4, old, new)
	}
	compare($4, old)
	if (old == "" && first($4, length(new) / 2, 1) < length(new) / 2)
		wrong("something was there")
	forget($4, old)
	learn($4, new)
}

$3 == "seen" {
	compare($4, new)
	learn($4, new)
}

END {
	n = split(names, name, " ")
	for (i = 1; i <= n; i++)
		print name[i], number[name[i]] + 0
}
