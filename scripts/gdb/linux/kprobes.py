# SPDX-License-Identifier: GPL-2.0-only
#
# gdb helper commands and functions for Linux kernel debugging
#
#  kernel probes

import os
import re

import gdb

from linux import lists
from linux import rbtree
from linux import utils

kprobe_type = utils.CachedType("struct kprobe")
kretprobe_type = utils.CachedType("struct kretprobe")
probepoint_type = utils.CachedType("struct probepoint")

# The handlers that a user sets, by the kind of probe that kind_of() returns
USER_HANDLERS = {
    "k": ("pre_handler", "post_handler", "fault_handler"),
    "r": ("entry_handler", "handler"),
    "j": ("entry",),
}

FLAGS = ("GONE", "WAITING", "DISABLED", "OPTIMIZED", "FTRACE")


def address_of(name):
    """Returns the address of a function, or None if the kernel does not have it."""
    value = utils.gdb_eval_or_none("(unsigned long)&" + name)
    return None if value is None else int(value)


def symbol_at(addr):
    """Returns SYMBOL+OFFSET and the name of the module, each None if it is not known.

    Symbols of modules are known after lx-symbols."""
    text = gdb.execute("info symbol {:#x}".format(addr), to_string=True)
    match = re.match(r"(\S+)(?: \+ (\d+))? in section \S+(?: of (.*))?", text)
    if not match:
        return None, None
    file = os.path.basename(match.group(3) or "")
    module = file[:-3].replace("-", "_") if file.endswith(".ko") else None
    return "{}+{:#x}".format(match.group(1), int(match.group(2) or 0)), module


def probepoints():
    """Yields kprobe_waiting, which has the probes that wait for a module, then the probepoints
    by address."""
    waiting = utils.gdb_eval_or_none("&kprobe_waiting")
    if waiting is not None:
        yield waiting
    for pp in rbtree.rb_inorder_for_each_entry(gdb.parse_and_eval("probepoints"),
                                               probepoint_type.get_type().pointer(), "node"):
        yield pp


def probes(pp):
    """Yields the probes that are attached to a probepoint, including disabled ones."""
    for p in lists.list_for_each_entry(pp['probes'], kprobe_type.get_type().pointer(), "list"):
        yield p


def user_handler(p, name, saved):
    """Returns the handler that the user has set, even if kprobe_disable_self() has replaced it."""
    handler = int(p[name])
    if handler and handler == address_of("kprobe_self_disabled_" + saved):
        handler = int(p["saved_" + saved])
    return handler


def kind_of(p):
    """Returns r for the probe of a return probe, j for that of a jprobe, else k."""
    pre = user_handler(p, 'pre_handler', "pre")
    if pre and pre in (address_of("kretprobe_entry"), address_of("kretprobe_entry_data")):
        return "r"
    if pre and pre == address_of("jprobe_call_handler"):
        return "j"
    return "k"


def handlers_of(p, kind):
    """Yields the name and the address of each handler that the user has set."""
    # A struct kretprobe and a struct jprobe begin with their struct kprobe.
    if kind == "r":
        p = p.cast(kretprobe_type.get_type().pointer())
    elif kind == "j":
        p = p.cast(gdb.lookup_type("struct jprobe").pointer())
    for name in USER_HANDLERS[kind]:
        if name == 'pre_handler':
            handler = user_handler(p, name, "pre")
        elif name == 'post_handler':
            handler = user_handler(p, name, "post")
        else:
            handler = int(p[name])
        if handler:
            yield name, handler


def show_probe(pp, p):
    """Writes a probe as kprobes/list of debugfs does, and its handlers."""
    width = 2 * utils.get_long_type().sizeof
    addr = int(p['addr'])
    flags = {flag for flag in FLAGS if flag != "WAITING" and
             int(p['flags']) & int(gdb.parse_and_eval("KPROBE_FLAG_" + flag))}
    waits = int(pp) == address_of("kprobe_waiting")
    if waits:
        flags.add("WAITING")
    symbol, module = None, None
    if waits or "GONE" in flags:
        if p['symbol_name']:
            symbol = "{}+{:#x}".format(p['symbol_name'].string(), int(p['offset']))
    else:
        symbol, module = symbol_at(addr)

    kind = kind_of(p)
    line = "{:0{}x}  {}  {}".format(0 if waits else addr, width, kind,
                                    symbol or "{:0{}x}".format(addr, width))
    if module:
        line += "  " + module
    for flag in FLAGS:
        if flag in flags:
            line += " [{}]".format(flag)
    for name, handler in handlers_of(p, kind):
        line += "  {}={}".format(name, symbol_at(handler)[0] or "{:#x}".format(handler))
    gdb.write(line + "\n")


class LxKprobes(gdb.Command):
    """List the registered probes, with their handlers.

lx-kprobes: Write the lines of /sys/kernel/debug/kprobes/list. Each has the
handlers at its end, as NAME=SYMBOL+OFFSET. Run lx-symbols first, to see the
symbols of modules."""

    def __init__(self):
        super(LxKprobes, self).__init__("lx-kprobes", gdb.COMMAND_DATA)

    def invoke(self, arg, from_tty):
        for pp in probepoints():
            for p in probes(pp):
                show_probe(pp, p)


LxKprobes()
