"""The arguments of modules, as they are shown."""


def shown_callable(value: object) -> str:
    """The name a reader would know a callable by."""
    name = getattr(value, "__qualname__", None)
    return name.rpartition("<locals>.")[2] if isinstance(name, str) else repr(value)


def shown_argument(value: object) -> str:
    """An argument, shortened."""
    return shortened(shown_callable(value) if callable(value) else repr(value), 40)


def shortened(text: str, longest: int = 200) -> str:
    """A text, of which no more is shown than fits."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
