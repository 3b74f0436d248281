"""Completion of the command line: verbs and options by click, and here the names that brokerlab knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from runtime.scenario import shipped_scenarios
from runtime.show import say
from runtime.system import load_attribute

Complete = Callable[[Any, Any, str], list[CompletionItem]]


def _beginning(names: list[str], typed: str) -> list[CompletionItem]:
    found = [CompletionItem(name) for name in names if name.startswith(typed)]
    return found or [CompletionItem(typed, type="file")]


def scenarios(ctx: Any, param: Any, typed: str) -> list[CompletionItem]:
    return _beginning(list(shipped_scenarios()), typed)


def protocols(ctx: Any, param: Any, typed: str) -> list[CompletionItem]:
    return _beginning(list(load_attribute("agents:SYSTEMS")), typed)


def sweeps(ctx: Any, param: Any, typed: str) -> list[CompletionItem]:
    return _beginning(list(load_attribute("sweeps:SHIPPED")), typed)


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print what makes SHELL complete brokerlab's verbs, options, and the names of scenarios and protocols.

    \b
    bash: add to ~/.bashrc    eval "$(brokerlab completion bash)"
    zsh:  add to ~/.zshrc     eval "$(brokerlab completion zsh)"
    fish: brokerlab completion fish > ~/.config/fish/completions/brokerlab.fish
    """
    made = get_completion_class(shell)
    assert made is not None
    root = click.get_current_context().find_root().command
    say(made(root, {}, "brokerlab", "_BROKERLAB_COMPLETE").source() + "\n")
    return 0
