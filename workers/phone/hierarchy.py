"""The XML that `uiautomator dump` writes."""

import re
from functools import lru_cache
from xml.sax.saxutils import quoteattr

from workers.phone.app.placed import Frame, Placed

_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@lru_cache(maxsize=256)
def hierarchy_xml(frame: Frame) -> str:
    """The tree of a frame, with the attributes and their order as phones write them."""
    parts = ["<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>", '<hierarchy rotation="0">']
    for index, root in enumerate(frame.roots):
        _write(root, index, parts)
    parts.append("</hierarchy>")
    return "".join(parts)


def _write(node: Placed, index: int, parts: list[str]) -> None:
    bounds = node.bounds
    attributes = (
        f'index="{index}" text={_quoted(node.text)} resource-id={_quoted(node.resource_id)} '
        f'class={_quoted(node.android_class)} package="{node.package}" content-desc={_quoted(node.desc)} '
        f'checkable="{_flag(node.is_checkable)}" checked="{_flag(node.is_checked)}" '
        f'clickable="{_flag(node.is_clickable)}" enabled="{_flag(node.is_enabled)}" '
        f'focusable="{_flag(node.is_focusable)}" focused="{_flag(node.is_focused)}" '
        f'scrollable="{_flag(node.is_scrollable)}" long-clickable="{_flag(node.is_long_clickable)}" '
        f'password="{_flag(node.is_password)}" selected="{_flag(node.is_selected)}" '
        f'bounds="[{bounds.left},{bounds.top}][{bounds.right},{bounds.bottom}]" '
        f'drawing-order="{index + 1}" hint={_quoted(node.hint)} display-id="0"'
    )
    if not node.children:
        parts.append(f"<node {attributes} />")
        return
    parts.append(f"<node {attributes}>")
    for number, child in enumerate(node.children):
        _write(child, number, parts)
    parts.append("</node>")


def _flag(value: bool) -> str:  # noqa: FBT001 - it is the value that is written
    return "true" if value else "false"


def _quoted(text: str) -> str:
    """A quoted attribute; letters that XML cannot hold become dots, as uiautomator writes them."""
    clean = _NOT_XML.sub(".", text)
    return quoteattr(clean, {"\n": "&#10;", "\t": "&#9;", '"': "&quot;"})
