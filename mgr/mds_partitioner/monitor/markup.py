# SPDX-License-Identifier: LGPL-2.1-or-later
"""HTML and SVG as trees: what is put into an element is text, whatever it looks like."""

from __future__ import annotations

from typing import Union
from xml.etree import ElementTree as ET

from ..report.text import printable

Node = Union[ET.Element, str]


def el(tag: str, *children: Node, **attributes: str | float) -> ET.Element:
    """An element. ``class_`` is class, and ``a_b`` is a-b; numbers are written with two decimals at most."""
    node = ET.Element(tag, {_name(k): _value(v) for k, v in attributes.items()})
    for child in children:
        if isinstance(child, ET.Element):
            node.append(child)
        else:
            _add_text(node, printable(child))
    return node


def _name(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _value(value: str | float) -> str:
    return printable(value) if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def _add_text(node: ET.Element, text: str) -> None:
    if len(node):
        node[-1].tail = (node[-1].tail or "") + text
    else:
        node.text = (node.text or "") + text


def style(css: str) -> ET.Element:
    """A style element; the text is ours and goes in as it is."""
    node = ET.Element("style")
    node.text = css
    return node


def document(root: ET.Element) -> str:
    """The whole page."""
    return "<!DOCTYPE html>\n" + ET.tostring(root, encoding="unicode", method="html")
