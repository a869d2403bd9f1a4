"""Formats of extension modules: each tells from the first bytes for what system they are."""

import struct
from collections.abc import Callable


def elf(machine: int) -> Callable[[bytes], bool]:
    """A check of modules for Linux on a processor of 64 bits, by its number in ELF."""
    return lambda head: head[:5] == b"\x7fELF\x02" and _number(head, 18, "<H") == machine


def macho(processor: int) -> Callable[[bytes], bool]:
    """A check of modules for macOS on a processor, by its number in Mach-O."""
    return lambda head: head[:4] == b"\xcf\xfa\xed\xfe" and _number(head, 4, "<I") == processor


def pe(machine: int) -> Callable[[bytes], bool]:
    """A check of modules for Windows on a processor, by its number in PE."""

    def fits(head: bytes) -> bool:
        start = _number(head, 60, "<I")
        return head[start : start + 4] == b"PE\0\0" and _number(head, start + 4, "<H") == machine

    return fits


def wasm(head: bytes) -> bool:
    """Whether it is a side module of WebAssembly, whose first section says how it is loaded."""
    return head[:9] == b"\0asm\x01\0\0\0\0" and b"dylink.0" in head[:32]


def _number(head: bytes, place: int, form: str) -> int:
    if place < 0 or place + struct.calcsize(form) > len(head):
        return -1
    (found,) = struct.unpack_from(form, head, place)
    return int(found)
