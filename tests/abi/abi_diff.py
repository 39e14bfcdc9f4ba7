#!/usr/bin/env python3
# A tool that stands alone and is run by hand too: one file on purpose, long functions and os.path included.
# ruff: noqa: C901, E501, PLW1510, PLW2901, PTH110, PTH118, PTH123, TRY300
"""abi_diff.py - compare the C++ (Itanium, g++) ABI of named classes, enums and functions
as two sets of headers declare them.

    abi_diff.py A_INCLUDE_DIR B_INCLUDE_DIR NAME... [--contract FILE] [options]
    abi_diff.py A_INCLUDE_DIR --dump NAME...          # print one side only

A is the reference, B is what is checked. NAME (or a line of the contract file) is

    nvinfer1::IPluginV3          a class, struct, enum or an alias of one
    func:getPluginRegistry       a namespace-scope function (its type and its linker symbol)
    const:nvinfer1::kFOO         a namespace-scope constant
    macro:NV_TENSORRT_MAJOR      an integer macro

Only the names given are the contract: B may declare nothing else. Lines of the contract file may end
in a comment (#); a name may be followed by flags:
    subset      (enum) B may leave enumerators out; those it has must have A's values
    superset    (enum) B may have enumerators that A has not (B follows a newer version than A)
    optional    B may leave the whole thing out
    opaque      only size, alignment, by-value convention and vtable shape are compared, not names of fields

What is compared
  ABI  sizeof, alignof, base classes and their offsets, non-static data members (offset, type), by-value
       calling convention (registers or hidden pointer), vtable: number of slots and, per slot, method name,
       parameter types, return type, const; the strings and numbers the versioned-interface methods return;
       enum underlying type and enumerator values; function type and symbol; constant values
  SRC  pure or defaulted per slot, what a defaulted method returns, noexcept, names of data members,
       static constexpr members
  NAME only the qualified name of a type differs by a v_N_M:: namespace

Not compared: access (public/protected), whether a destructor is pure, default arguments, inline non-virtual
members, secondary vtables (a NOTE says so if a class has one), the Microsoft ABI (which groups overloads).

Exit status: 0 no ABI or SRC difference, 1 some, 2 the tool could not do its work.
Needs g++ (>= 8) and binutils' readelf and nm; no Python package.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

CXXFLAGS = [
    "-x",
    "c++",
    "-w",
    "-O0",
    "-g",
    "-gdwarf-5",
    "-fno-eliminate-unused-debug-types",
    "-fno-eliminate-unused-debug-symbols",
    "-femit-class-debug-always",
    "-fno-access-control",
]


class ToolError(Exception):
    pass


def run(cmd, **kw):
    return subprocess.run(cmd, capture_output=True, text=True, errors="replace", **kw)


# ---------------------------------------------------------------- DWARF (readelf text) reader
class Die:
    __slots__ = ("at", "kids", "off", "tag", "up")

    def __init__(self, off, tag, up):
        self.off, self.tag, self.up, self.at, self.kids = off, tag, up, {}, []


RE_DIE = re.compile(r"^\s*<([0-9a-f]+)><([0-9a-f]+)>: Abbrev Number: \d+ \((DW_TAG_\w+)\)")
RE_AT = re.compile(r"^\s*<[0-9a-f]+>\s+(DW_AT_\w+)\s*:\s?(.*)$")
RE_FORM = re.compile(
    r"^\((?:strp\w*|strx\w*|line_strp|string|alt\w*|data\d*|ref\w*|sec_offset|exprloc|implicit_const|"
    r"flag\w*|addr\w*|sdata|udata)\)\s*"
)
RE_STR = re.compile(r"^\((?:(?:alt )?(?:indirect|indexed)[^)]*|offset: 0x[0-9a-f]+)\):? ?(.*)$")


def read_dwarf(obj):
    p = run(["readelf", "-wi", obj])
    if p.returncode:
        raise ToolError("readelf failed: " + p.stderr[:400])
    dies, stack, cur = {}, [], None
    for line in p.stdout.splitlines():
        m = RE_DIE.match(line)
        if m:
            depth, off, tag = int(m[1], 16), int(m[2], 16), m[3]
            del stack[depth:]
            up = stack[-1] if stack else None
            cur = Die(off, tag, up)
            if up is not None:
                up.kids.append(cur)
            stack.append(cur)
            dies[off] = cur
            continue
        m = RE_AT.match(line)
        if m and cur is not None:
            v = RE_FORM.sub("", m[2].strip())  # some readelf versions print the form first
            s = RE_STR.match(v)
            cur.at[m[1]] = s[1].strip() if s else v
    return dies


def num(s):
    if s is None:
        return None
    m = re.match(r"^\s*(-?0x[0-9a-f]+|-?\d+)", s)
    if m:
        return int(m[1], 0)
    m = re.search(r"DW_OP_(?:plus_uconst|constu|const\du|lit)\D*(\d+)", s)
    return int(m[1]) if m else None


class Side:
    """everything read from one include directory"""

    def __init__(self, label, incdir, headers, names, opts):
        self.label, self.inc, self.headers, self.opts = label, incdir, headers, opts
        self.tmp = tempfile.mkdtemp(prefix="abi_diff_")
        self.flags = [*CXXFLAGS, "-std=" + opts.std]
        for d in [incdir, *opts.include]:
            self.flags += ["-I", d]
        for d in opts.define:
            self.flags += ["-D" + d]
        self.names = names
        self.build()

    def close(self):
        shutil.rmtree(self.tmp, ignore_errors=True)

    def prologue(self):
        return "".join(f"#include <{h}>\n" for h in self.headers)

    def compile_lines(self, stem, head, lines, tail, args):
        """compile head + lines + tail, dropping every line a compiler or linker error names;
        returns (ok, set of dropped keys); lines is a list of (key, text)"""
        src, dropped, first = os.path.join(self.tmp, stem + ".cpp"), set(), None
        n0 = head.count("\n") + 1
        for _ in range(60):
            live = [(k, t) for k, t in lines if k not in dropped]
            with open(src, "w") as f:
                f.write(head + "".join(t + "\n" for _, t in live) + tail)
            p = run([self.opts.cxx, *self.flags, "-fmax-errors=0", src, *args])
            if p.returncode == 0:
                return dropped
            first = first or p.stderr
            bad = set()
            for m in re.finditer(re.escape(src) + r":(\d+):", p.stderr):
                i = int(m[1]) - n0
                if 0 <= i < len(live):
                    bad.add(live[i][0])
            if not bad:
                raise ToolError(f"{self.label}: does not compile ({stem}):\n" + p.stderr[:3000])
            dropped |= bad
        raise ToolError(f"{self.label}: too many errors ({stem}):\n" + (first or "")[:3000])

    def build(self):
        cls, obj = os.path.join(self.tmp, "tu.class"), os.path.join(self.tmp, "tu.o")
        lines = []
        for i, (n, _) in enumerate(self.names):
            kind, _, rest = n.partition(":")
            if kind == "func" and not rest.startswith(":"):
                lines.append((n, f"auto abi_al_{i} = &::{rest};"))
            elif kind in ("const", "macro") and not rest.startswith(":"):
                continue
            else:
                lines.append((n, f"::{n}* abi_al_{i};"))
        self.absent = self.compile_lines(
            "tu", self.prologue(), lines, "", ["-fdump-lang-class=" + cls, "-c", "-o", obj]
        )
        self.dies = read_dwarf(obj)
        self.undef = run(["nm", "--undefined-only", obj]).stdout.split()
        self.read_class_dump(cls)
        self.index()
        self.asked = {}
        for i, (n, _) in enumerate(self.names):
            v = self.vars.get(f"abi_al_{i}")
            if v:
                self.asked[n] = self.ref(v[0])

    # ---- g++ -fdump-lang-class: vtable entries (pure or not), align
    def read_class_dump(self, path):
        self.cd_align, self.cd_size, self.cd_vt = {}, {}, {}
        cur = vt = None
        with open(path) as f:
            for line in f:
                line = line.rstrip("\n")
                m = re.match(r"^Vtable for (.*)$", line)
                if m:
                    vt = self.cd_vt.setdefault(m[1], {"n": None, "e": []})
                    vt["e"].clear()
                    continue
                m = re.match(r"^Class (.*)$", line)
                if m:
                    cur, vt = m[1], None
                    continue
                if vt is not None:
                    m = re.search(r": (\d+) entries$", line)
                    if m:
                        vt["n"] = int(m[1])
                        continue
                    m = re.match(r"^\d+\s+(.*)$", line)
                    if m:
                        vt["e"].append(re.sub(r"^\(int \(\*\)\(\.\.\.\)\)", "", m[1]))
                        continue
                    if not line:
                        vt = None
                if cur is not None:
                    m = re.match(r"^\s+size=(\d+) align=(\d+)", line)
                    if m:
                        self.cd_size[cur], self.cd_align[cur] = int(m[1]), int(m[2])
                        cur = None

    # ---- names
    def qname(self, d):
        parts = []
        while d is not None and d.tag != "DW_TAG_compile_unit":
            n = d.at.get("DW_AT_name")
            if d.tag == "DW_TAG_namespace":
                parts.append(n or "(anonymous)")
            elif n:
                parts.append(n)
            elif d.tag in (
                "DW_TAG_structure_type",
                "DW_TAG_class_type",
                "DW_TAG_union_type",
                "DW_TAG_enumeration_type",
            ):
                parts.append("(unnamed)")
            d = d.up
        return "::".join(reversed(parts))

    def index(self):
        self.types, self.vars, self.alias, self.funcs = {}, {}, {}, {}
        for d in self.dies.values():
            if d.tag in ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type", "DW_TAG_enumeration_type"):
                q = self.qname(d)
                old = self.types.get(q)
                if old is None or ("DW_AT_declaration" in old.at and "DW_AT_declaration" not in d.at):
                    self.types[q] = d
            elif d.tag == "DW_TAG_typedef":
                self.alias.setdefault(self.qname(d), d)
            elif d.tag in ("DW_TAG_variable", "DW_TAG_member", "DW_TAG_constant"):
                self.vars.setdefault(self.qname(d), []).append(d)

    def ref(self, d, at="DW_AT_type"):
        v = d.at.get(at)
        if v is None:
            return None
        m = re.search(r"<(?:0x)?([0-9a-f]+)>", v)
        return self.dies.get(int(m[1], 16)) if m else None

    def resolve(self, name):
        """definition Die of a class or enum, following aliases; None when absent"""
        d = self.asked.get(name)
        if d is None:
            return None
        d = self.ref(d)  # the pointed-to type of abi_al_N
        while d is not None and d.tag in ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type"):
            d = self.ref(d)
        if d is not None and "DW_AT_declaration" in d.at:
            d = self.types.get(self.qname(d), d)
        return d

    # ---- types
    def tstr(self, d, spell=False):
        """canonical spelling of a type; builtin integers by kind and width so that long/long long compare equal.
        spell=True gives C++ that compiles."""
        if d is None:
            return "void"
        t = d.tag
        if t == "DW_TAG_base_type":
            n, sz, enc = d.at.get("DW_AT_name", "?"), num(d.at.get("DW_AT_byte_size")), d.at.get("DW_AT_encoding", "")
            if spell or n in ("char", "bool", "wchar_t", "char16_t", "char32_t"):
                return n
            if "float" in enc:
                return f"float{8 * sz}"
            if "unsigned" in enc:
                return f"uint{8 * sz}"
            if "signed" in enc:
                return f"int{8 * sz}"
            return n
        if t == "DW_TAG_unspecified_type":
            return d.at.get("DW_AT_name", "?").replace("decltype(nullptr)", "std::nullptr_t")
        if t == "DW_TAG_typedef":
            return self.tstr(self.ref(d), spell)
        if t == "DW_TAG_const_type":
            return self.tstr(self.ref(d), spell) + " const"
        if t == "DW_TAG_volatile_type":
            return self.tstr(self.ref(d), spell) + " volatile"
        if t in ("DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type"):
            sym = {"p": "*", "r": "&"}[t[7]] if "rvalue" not in t else "&&"
            x = self.ref(d)
            if x is not None and x.tag == "DW_TAG_subroutine_type":
                return self.fstr(x, spell, "(" + sym + ")")
            return self.tstr(x, spell) + sym
        if t == "DW_TAG_array_type":
            dims = ""
            for k in d.kids:
                if k.tag == "DW_TAG_subrange_type":
                    u, c = num(k.at.get("DW_AT_upper_bound")), num(k.at.get("DW_AT_count"))
                    dims += f"[{c if c is not None else (u + 1 if u is not None else '')}]"
            return self.tstr(self.ref(d), spell) + dims
        if t == "DW_TAG_subroutine_type":
            return self.fstr(d, spell, "")
        if t in ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type", "DW_TAG_enumeration_type"):
            return self.qname(d)
        return t

    def fstr(self, d, spell=False, mid=""):
        ps = [
            self.tstr(self.ref(k), spell)
            for k in d.kids
            if k.tag == "DW_TAG_formal_parameter" and "DW_AT_artificial" not in k.at
        ]
        return f"{self.tstr(self.ref(d), spell)} {mid}({', '.join(ps)})"

    # ---- one entity
    def enum(self, d):
        ut = self.ref(d)
        vals = {k.at["DW_AT_name"]: num(k.at.get("DW_AT_const_value")) for k in d.kids if k.tag == "DW_TAG_enumerator"}
        return {
            "kind": "enum",
            "name": self.qname(d),
            "underlying": self.tstr(ut) if ut else None,
            "size": num(d.at.get("DW_AT_byte_size")),
            "scoped": "DW_AT_enum_class" in d.at,
            "values": vals,
        }

    def vslots(self, d):
        """slot index -> dict, of the primary vtable"""
        slots = {}
        for k in d.kids:
            if k.tag == "DW_TAG_inheritance" and num(k.at.get("DW_AT_data_member_location", "0")) == 0:
                b = self.ref(k)
                if b is not None:
                    b = self.types.get(self.qname(b), b)
                    slots.update(self.vslots(b))
        for k in d.kids:
            if k.tag != "DW_TAG_subprogram" or "DW_AT_vtable_elem_location" not in k.at:
                continue
            i = num(
                re.sub(r"^\d+ byte block:[0-9a-f ]*", "", k.at["DW_AT_vtable_elem_location"])
                if "DW_OP" not in k.at["DW_AT_vtable_elem_location"]
                else re.search(r"\((.*)\)", k.at["DW_AT_vtable_elem_location"])[1]
            )
            ps, const = [], False
            for p in k.kids:
                if p.tag != "DW_TAG_formal_parameter":
                    continue
                if "DW_AT_artificial" in p.at:
                    t = self.ref(p)
                    while t is not None and t.tag == "DW_TAG_const_type":  # this is T* const
                        t = self.ref(t)
                    x = self.ref(t) if t is not None else None
                    const = const or (x is not None and x.tag == "DW_TAG_const_type")
                else:
                    ps.append(self.ref(p))
            name = k.at.get("DW_AT_name", "?")
            cls = self.qname(d)
            if name.startswith("~"):
                continue
            slots[i] = {
                "name": name,
                "sig": "(" + ", ".join(self.top(self.tstr(p)) for p in ps) + ")",
                "ret": self.tstr(self.ref(k)),
                "const": const,
                "cls": cls,
                "params": [self.top(self.tstr(p, True)) for p in ps],
                "rspell": self.tstr(self.ref(k), True),
                "die": k.off,
                "sym": k.at.get("DW_AT_linkage_name", ""),
            }
        return slots

    @staticmethod
    def top(t):
        return re.sub(r" const$", "", t)

    def klass(self, d):
        q = self.qname(d)
        r = {
            "kind": "class",
            "name": q,
            "defined": "DW_AT_declaration" not in d.at,
            "size": num(d.at.get("DW_AT_byte_size")),
            "align": self.cd_align.get(q),
            "byvalue": None,
            "bases": [],
            "fields": [],
            "statics": {},
            "slots": {},
            "vt_entries": None,
        }
        for k in d.kids:
            if k.tag == "DW_TAG_inheritance":
                r["bases"].append(
                    (
                        num(k.at.get("DW_AT_data_member_location", "0")),
                        self.qname(self.ref(k)),
                        "virtual" if "DW_AT_virtuality" in k.at else "",
                    )
                )
            elif k.tag == "DW_TAG_member" and "DW_AT_external" not in k.at and "DW_AT_data_member_location" in k.at:
                n = k.at.get("DW_AT_name", "")
                if n.startswith("_vptr"):
                    continue
                r["fields"].append((num(k.at["DW_AT_data_member_location"]), n, self.tstr(self.ref(k))))
            elif k.tag in ("DW_TAG_variable", "DW_TAG_member") and "DW_AT_const_value" in k.at:
                r["statics"][k.at.get("DW_AT_name")] = (
                    self.top(self.tstr(self.ref(k))),
                    num(k.at["DW_AT_const_value"]),
                )
        r["slots"] = self.vslots(d)
        vt = self.cd_vt.get(q)
        if vt:
            r["vt_entries"] = vt["n"] if vt["n"] is not None else len(vt["e"])
            body = vt["e"][2:]
            # g++ gives virtual destructors no slot number in the debug info: they are the pair that is left
            gap = [i for i in range(len(body)) if i not in r["slots"]]
            if len(gap) == 2 and gap[1] == gap[0] + 1:
                for i, nm in zip(gap, ("~ (complete object)", "~ (deleting)"), strict=False):
                    r["slots"][i] = {"name": nm, "sig": "", "ret": "", "const": False, "cls": q, "params": None}
            for i, s in r["slots"].items():
                e = body[i] if i < len(body) else "?"
                s["pure"] = "__cxa_pure_virtual" in e
                if not s["name"].startswith("~") and not s["pure"] and e.split("::")[-1].strip("& ") != s["name"]:
                    s["warn"] = f"class dump has {e} in this slot"
            if len(body) != len(r["slots"]):
                r["warn"] = f"class dump has {len(body)} slots, debug info {len(r['slots'])} (secondary vtables?)"
        return r

    # ---- run-time probe: results of defaulted methods, noexcept of all, triviality, constants
    PRE = r"""
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>
#include <unistd.h>
#include <sys/wait.h>
namespace abi_probe {
static void show(bool v){printf("%s",v?"true":"false");}
static void show(char const*v){if(v)printf("\"%s\"",v);else printf("null");}
template<class T> static std::enable_if_t<std::is_integral<T>::value> show(T v){printf("%lld",(long long)v);}
template<class T> static std::enable_if_t<std::is_floating_point<T>::value> show(T v){printf("%g",(double)v);}
template<class T> static std::enable_if_t<std::is_enum<T>::value> show(T v){printf("%lld",(long long)v);}
template<class T> static void show(T*v){printf(v?"nonnull":"null");}
template<class T> static auto show(T const&v) -> decltype(v.kind,void()){printf("{");show(v.kind);printf(",%d,%d}",v.major,v.minor);}
template<class T> static auto show(T const&v) -> decltype(v.nbDims,void()){printf("{nbDims=%d}",(int)v.nbDims);}
template<class T> static void byvalue(){
  // Itanium: a class whose copy and move constructors and destructor are all trivial or deleted travels in registers
  printf("%s destructor, %s copy, %s move\n", std::is_trivially_destructible<T>::value?"trivial":"non-trivial",
    std::is_trivially_copy_constructible<T>::value?"trivial":"no or non-trivial",
    std::is_trivially_move_constructible<T>::value?"trivial":"no or non-trivial"); }
template<class F> static void guard(char const* q, int slot, F f){
  printf("D %s\t%d ",q,slot); fflush(stdout);
  pid_t p=fork(); if(!p){ alarm(5); f(); printf("\n"); fflush(stdout); _exit(0);} int st=0; waitpid(p,&st,0);
  if(st) printf("<crash: needs a live object>\n"); fflush(stdout);
}
}
"""

    def probe(self, ents):
        """one program for all; fills e["default"], e["noexcept"], e["byvalue"]; returns constants by name"""
        lines, seen = [], set()
        for name, _ in self.names:
            kind, _, rest = name.partition(":")
            if kind in ("const", "macro") and not rest.startswith(":"):
                lines.append((("C", name), f'{{ printf("C {name}\\t%lld\\n",(long long)({rest})); }}'))
        for e in ents.values():
            if e is None or e["kind"] != "class" or not e["defined"] or e["name"] in seen:
                continue
            q = e["name"]
            seen.add(q)
            if not e["slots"]:
                lines.append((("V", q), f'{{ printf("V {q}\\t"); abi_probe::byvalue<{q}>(); }}'))
            for i, s in sorted(e["slots"].items()):
                if s["name"].startswith("~") or s["params"] is None:
                    continue
                if any("(unnamed)" in p or "(*)" in p for p in s["params"]):
                    continue
                cv, owner = "const " if s["const"] else "", s["cls"]
                au = ", ".join(f"std::declval<{p}>()" for p in s["params"])
                lines.append(
                    (
                        ("N", q, i),
                        (
                            f'{{ printf("N {q}\\t{i} %d\\n",(int)noexcept('
                            f"std::declval<{cv}{q}&>().{owner}::{s['name']}({au}))); }}"
                        ),
                    )
                )
                if s.get("pure") or any(p.endswith("&") for p in s["params"]):
                    continue
                args = ", ".join(f"static_cast<{p}>({'nullptr' if p.endswith('*') else '0'})" for p in s["params"])
                call = f"reinterpret_cast<{cv}{q}*>(buf)->{owner}::{s['name']}({args})"
                act = f'{call}; printf("void");' if s["rspell"] == "void" else f"abi_probe::show({call});"
                lines.append((("D", q, i), f'abi_probe::guard("{q}",{i},[&]{{ {act} }});'))
        exe = os.path.join(self.tmp, "probe")
        head = self.prologue() + self.PRE + "alignas(64) static char buf[4096];\nint main(){\n"
        self.unprobed = self.compile_lines("probe", head, lines, "return 0;}\n", ["-o", exe])
        res, consts = collections.defaultdict(lambda: {"default": {}, "noexcept": {}, "byvalue": None}), {}
        for line in run([exe]).stdout.splitlines():
            m = re.match(r"^([DNVC]) (.*?)\t(.*)$", line)
            if not m:
                continue
            if m[1] == "C":
                consts[m[2]] = int(m[3])
            elif m[1] == "V":
                res[m[2]]["byvalue"] = m[3]
            else:
                i, _, v = m[3].partition(" ")
                res[m[2]]["default" if m[1] == "D" else "noexcept"][int(i)] = v
        for e in ents.values():
            if e is not None and e["kind"] == "class":
                e.update(res[e["name"]])
                e["unprobed"] = sorted(f"{k[0]}{k[2]}" for k in self.unprobed if len(k) == 3 and k[1] == e["name"])
        return consts

    def function(self, name):
        t = self.asked.get("func:" + name)
        if t is None:
            return None
        last = name.split("::")[-1]
        return {
            "kind": "func",
            "name": name,
            "type": self.tstr(t),
            "symbol": " ".join(x for x in self.undef if x != "U" and last in x and "abi_al_" not in x),
        }

    def entity(self, name):
        kind, _, rest = name.partition(":")
        if kind == "func" and not rest.startswith(":"):
            return self.function(rest)
        if kind in ("const", "macro") and not rest.startswith(":"):
            return {"kind": kind, "name": rest, "value": None}
        d = self.resolve(name)
        if d is None:
            return None
        if d.tag == "DW_TAG_enumeration_type":
            return self.enum(d)
        if d.tag in ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type"):
            return self.klass(d)
        return {"kind": "type", "name": name, "type": self.tstr(d)}

    def all(self):
        ents = {n: self.entity(n) for n, _ in self.names}
        for e in ents.values():
            if e is not None and e["kind"] == "class":
                e.setdefault("default", {}), e.setdefault("noexcept", {}), e.setdefault("unprobed", [])
        consts = {} if self.opts.no_probe else self.probe(ents)
        for n, e in ents.items():
            if e is not None and e["kind"] in ("const", "macro"):
                if n in consts:
                    e["value"] = consts[n]
                else:
                    ents[n] = None
        return ents


# ---------------------------------------------------------------- comparison
def unver(s):
    return re.sub(r"\bv_\d+_\d+::", "", s) if isinstance(s, str) else s


class Report:
    def __init__(self):
        self.rows, self.n = [], collections.Counter()

    def add(self, sev, what, msg):
        self.rows.append((sev, what, msg))
        self.n[sev] += 1

    def cmp(self, sev, what, label, a, b):
        if a == b:
            return True
        if unver(a) == unver(b):
            self.add("NAME", what, f"{label}: {a}  ->  {b}")
            return True
        self.add(sev, what, f"{label}: {a}  ->  {b}")
        return False


def slot_str(s):
    if s is None:
        return "(no slot)"
    if s["name"].startswith("~"):
        return s["name"]
    return f"{s['ret']} {s['name']}{s['sig']}{' const' if s['const'] else ''}"


def sloc(s):
    return unver(slot_str(s))


def compare(name, a, b, fl, rep):
    if a is None:
        rep.add("NOTE", name, "not declared by A; nothing to compare")
        return
    if b is None:
        rep.add("NOTE" if "optional" in fl else "ABI", name, "missing in B")
        return
    if a["kind"] != b["kind"]:
        rep.add("ABI", name, f"kind: {a['kind']}  ->  {b['kind']}")
        return
    k = a["kind"]
    if k == "type":
        rep.cmp("ABI", name, "type", a["type"], b["type"])
        return
    if k == "func":
        rep.cmp("ABI", name, "type", a["type"], b["type"])
        rep.cmp("ABI", name, "symbol", a["symbol"], b["symbol"])
        return
    if k in ("const", "macro"):
        rep.cmp("ABI", name, "value", a["value"], b["value"])
        return
    rep.cmp("ABI", name, "qualified name", a["name"], b["name"])
    if k == "enum":
        rep.cmp("ABI", name, "underlying type", a["underlying"], b["underlying"])
        rep.cmp("SRC", name, "scoped (enum class)", a["scoped"], b["scoped"])
        for n in list(a["values"]) + [n for n in b["values"] if n not in a["values"]]:
            x, y = a["values"].get(n), b["values"].get(n)
            if x == y:
                continue
            if y is None:
                rep.add("NOTE" if "subset" in fl else "ABI", name, f"enumerator {n} = {x}: missing in B")
            elif x is None:
                rep.add("NOTE" if "superset" in fl else "ABI", name, f"enumerator {n} = {y}: only in B")
            else:
                rep.add("ABI", name, f"enumerator {n}: {x}  ->  {y}")
        return
    # class
    if not b["defined"]:
        if a["defined"]:
            rep.add("ABI", name, "only forward-declared in B")
        return
    if not a["defined"]:
        rep.add("NOTE", name, "only forward-declared in A")
        return
    for w, s in (("A", a), ("B", b)):
        if s.get("warn"):
            rep.add("NOTE", name, f"{w}: {s['warn']}")
    rep.cmp("ABI", name, "sizeof", a["size"], b["size"])
    rep.cmp("ABI", name, "alignof", a["align"], b["align"])
    rep.cmp("ABI", name, "passed and returned by value", a["byvalue"], b["byvalue"])
    if "opaque" not in fl:
        rep.cmp(
            "ABI",
            name,
            "bases",
            " ".join(f"{o}:{v}{n}" for o, n, v in a["bases"]),
            " ".join(f"{o}:{v}{n}" for o, n, v in b["bases"]),
        )
        fa, fb = a["fields"], b["fields"]
        for i in range(max(len(fa), len(fb))):
            x = fa[i] if i < len(fa) else None
            y = fb[i] if i < len(fb) else None
            if x is None or y is None:
                rep.add("ABI", name, f"data member #{i}: {x or '(none)'}  ->  {y or '(none)'}")
                continue
            rep.cmp("ABI", name, f"data member #{i} {x[1]}", f"offset {x[0]} {x[2]}", f"offset {y[0]} {y[2]}")
            rep.cmp("SRC", name, f"data member #{i} name", x[1], y[1])
        for n, v in a["statics"].items():
            if n in b["statics"]:
                rep.cmp("SRC", name, f"static constexpr {n}", f"{v[0]} {v[1]}", "{} {}".format(*b["statics"][n]))
            else:
                rep.add("SRC", name, f"static constexpr {n} = {v[1]}: missing in B")
    rep.cmp("ABI", name, "vtable entries", a["vt_entries"], b["vt_entries"])
    sa, sb = a["slots"], b["slots"]
    na, nb = max(sa, default=-1) + 1, max(sb, default=-1) + 1
    rep.cmp("ABI", name, "virtual slots", na, nb)
    # which slot holds each method in the other side: to say "moved"
    where_b = {}
    for i, s in sb.items():
        where_b.setdefault(sloc(s), i)
    for i in range(max(na, nb)):
        x, y = sa.get(i), sb.get(i)
        if x and y and slot_str(x) == slot_str(y):
            pass
        elif x and y and sloc(x) == sloc(y):
            rep.add("NAME", name, f"slot {i:2}: {slot_str(x)}  ->  {slot_str(y)}")
        else:
            j = where_b.get(sloc(x)) if x else None
            mv = f"   [A's is in slot {j} of B]" if j is not None else ("   [A's is not in B]" if x else "")
            rep.add("ABI", name, f"slot {i:2}: {slot_str(x)}  ->  {slot_str(y)}{mv}")
            continue
        if "pure" in x and "pure" in y and not x["name"].startswith("~"):
            rep.cmp(
                "SRC",
                name,
                f"slot {i:2} {x['name']}",
                "pure" if x["pure"] else "defaulted",
                "pure" if y["pure"] else "defaulted",
            )
        for w, s in (("A", x), ("B", y)):
            if s.get("warn"):
                rep.add("NOTE", name, f"{w} slot {i}: {s['warn']}")
        da, db = a["default"].get(i), b["default"].get(i)
        if da is not None and db is not None and da != db:
            if x["name"] == "getTensorRTVersion":
                ia, ib = int(da), int(db)
                if (ia >> 24) == (ib >> 24):
                    rep.add(
                        "NOTE",
                        name,
                        f"slot {i:2} getTensorRTVersion: {ia >> 24}<<24|{ia & 0xFFFFFF}  ->  "
                        f"{ib >> 24}<<24|{ib & 0xFFFFFF} (the header version)",
                    )
                    da = db = None
            if da is not None:
                rep.add(
                    "ABI" if x["name"] in ("getInterfaceInfo", "getAPILanguage", "getTensorRTVersion") else "SRC",
                    name,
                    f"slot {i:2} {x['name']} returns {da}  ->  {db}",
                )
        if a["noexcept"].get(i) is not None and b["noexcept"].get(i) is not None:
            rep.cmp("SRC", name, f"slot {i:2} {x['name']} noexcept", a["noexcept"][i], b["noexcept"][i])
    for w, e in (("A", a), ("B", b)):
        if e["unprobed"]:
            rep.add("NOTE", name, f"probe of {w} left out (D default, N noexcept, slot): " + " ".join(e["unprobed"]))


def dump(name, e, out=sys.stdout):
    w = out.write
    if e is None:
        w(f"{name}: not declared\n\n")
        return
    k = e["kind"]
    if k == "enum":
        w(f"enum {e['name']} : {e['underlying']}  " + ", ".join(f"{n}={v}" for n, v in e["values"].items()) + "\n\n")
        return
    if k == "type":
        w(f"{name} = {e['type']}\n\n")
        return
    if k == "func":
        w(f"function {e['name']}: {e['type']}  symbol {e['symbol']}\n\n")
        return
    if k in ("const", "macro"):
        w(f"{k} {e['name']} = {e['value']}\n\n")
        return
    w(
        f"class {e['name']}"
        + (f"   (asked for as {name})" if name != e["name"] else "")
        + f": size {e['size']} align {e['align']}"
        + (f", {e['byvalue']}" if e["byvalue"] else "")
        + ("" if e["defined"] else "  FORWARD DECLARED ONLY")
        + "\n"
    )
    for o, n, v in e["bases"]:
        w(f"    base +{o} {v}{n}\n")
    for o, n, t in e["fields"]:
        w(f"    +{o:<3} {t} {n}\n")
    for n, v in e["statics"].items():
        w(f"    static {v[0]} {n} = {v[1]}\n")
    for i, s in sorted(e["slots"].items()):
        ex = ""
        if not s["name"].startswith("~"):
            ex = "  pure" if s.get("pure") else "  default"
            if i in e["default"]:
                d = e["default"][i]
                if s["name"] == "getTensorRTVersion":
                    d = f"{int(d) >> 24}<<24|{int(d) & 0xFFFFFF}"
                ex += f" returns {d}"
            if e["noexcept"].get(i) == "0":
                ex += "  (may throw)"
        w(f"    slot {i:2} {slot_str(s)}{ex}   [{s['cls'].replace('nvinfer1::', '')}]\n")
    if e.get("warn"):
        w(f"    WARNING {e['warn']}\n")
    w("\n")


def read_contract(path):
    out = []
    with open(path) as f:
        for line in f:
            w = line.split("#")[0].split()
            if w:
                out.append((w[0], set(w[1:])))
    return out


def main(argv=None):
    ap = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        epilog=__doc__.split("\n\n", 1)[1],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    ap.add_argument("a")
    ap.add_argument("rest", nargs="*", help="B_INCLUDE_DIR (unless --dump) and NAMEs")
    ap.add_argument("--contract", action="append", default=[], help="file of names, one a line")
    ap.add_argument(
        "--header", action="append", default=[], help="header to include on both sides (default NvInferRuntime.h)"
    )
    ap.add_argument("--header-a", action="append", default=[])
    ap.add_argument("--header-b", action="append", default=[])
    ap.add_argument("-I", dest="include", action="append", default=[], help="further include directory, both sides")
    ap.add_argument("-D", dest="define", action="append", default=[])
    ap.add_argument("--std", default="c++17")
    ap.add_argument("--cxx", default=os.environ.get("CXX", "g++"))
    ap.add_argument("--no-probe", action="store_true", help="do not compile and run the default-method probe")
    ap.add_argument("--abi-only", action="store_true", help="SRC differences do not count")
    ap.add_argument("--strict-names", action="store_true", help="NAME differences count")
    ap.add_argument("--quiet", action="store_true", help="only the differences that count, no notes")
    ap.add_argument("--dump", action="store_true", help="print A's side only")
    ap.add_argument("--json", action="store_true", help="with --dump")
    o = ap.parse_intermixed_args(argv)
    if not any(os.path.exists(os.path.join(d, "cuda_runtime_api.h")) for d in o.include):
        for d in ("/usr/local/cuda/include", "/usr/local/cuda-13.0/include"):
            if os.path.exists(os.path.join(d, "cuda_runtime_api.h")):
                o.include.append(d)
                break
    rest = list(o.rest)
    bdir = None
    if not o.dump:
        if not rest:
            ap.error("B_INCLUDE_DIR wanted")
        bdir = rest.pop(0)
    names = [(n, set()) for n in rest]
    for c in o.contract:
        names += read_contract(c)
    if not names:
        ap.error("no names: give some or --contract")
    sides = []
    try:
        base = o.header or ["NvInferRuntime.h"]
        A = Side("A", o.a, o.header_a or base, names, o)
        sides.append(A)
        ea = A.all()
        if o.dump:
            if o.json:
                json.dump(ea, sys.stdout, indent=1, default=str)
            else:
                for n, _ in names:
                    dump(n, ea[n])
            return 0
        B = Side("B", bdir, o.header_b or base, names, o)
        sides.append(B)
        eb = B.all()
        rep = Report()
        for n, fl in names:
            compare(n, ea[n], eb[n], fl, rep)
        bad = {"ABI"} | (set() if o.abi_only else {"SRC"}) | ({"NAME"} if o.strict_names else set())
        last = None
        for sev, what, msg in rep.rows:
            if o.quiet and sev not in bad:
                continue
            if what != last:
                print(what)
                last = what
            print(f"  {sev:4} {msg}")
        n = sum(rep.n[s] for s in bad)
        print(
            f"{len(names)} names compared: "
            + ", ".join(f"{rep.n[s]} {s}" for s in ("ABI", "SRC", "NAME", "NOTE"))
            + ("" if n else "  - same")
        )
        return 1 if n else 0
    except ToolError as e:
        print(e, file=sys.stderr)
        return 2
    finally:
        for s in sides:
            s.close()


if __name__ == "__main__":
    sys.exit(main())
