"""Drawings of a trace as SVG and as Mermaid text, without dependencies."""
