"""An excerpt of a long result for a model: its head, a note about what is left out, and its tail."""


def excerpt(text: str, limit: int, execution_id: str) -> str:
    """Return the text, or at most `limit` characters of it around a note that says how to read the rest."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    cut = len(text) - limit
    note = (
        f"\n[… {cut:,} of {len(text):,} characters left out here. Read on with task_result: "
        f'execution_id "{execution_id}", offset {head} …]\n'
    )
    return f"{text[:head]}{note}{text[-tail:] if tail else ''}"
