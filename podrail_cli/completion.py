"""`podrail completion`: what a shell, or kubectl, needs to complete podrail's words.

kubectl asks a program kubectl_complete-podrail with the words after `kubectl podrail`, and reads
lines of value and description with a tab between them, then a line with a directive (kubectl 1.26,
cobra's ShellCompDirective).
"""

import sys
from typing import Any, ClassVar, Final

import click
from click.shell_completion import (
    CompletionItem,
    FishComplete,
    ShellComplete,
    add_completion_class,
    get_completion_class,
)

from podrail_cli import library

_NAME: Final = "podrail"
_VARIABLE: Final = "_PODRAIL_COMPLETE"
"""Click's own name for it."""
_FILES: Final = 0
_NO_FILES: Final = 4
_FOLDERS: Final = 16
_EXAMPLES: Final = """\b
Examples:
  source <(podrail completion bash)                # in ~/.bashrc, to keep it
  source <(podrail completion zsh)                 # in ~/.zshrc, after compinit
  podrail completion fish > ~/.config/fish/completions/podrail.fish

\b
For kubectl podrail, where kubectl itself completes:
  podrail completion kubectl > ~/.local/bin/kubectl_complete-podrail
  chmod +x ~/.local/bin/kubectl_complete-podrail"""


@add_completion_class
class KubectlComplete(ShellComplete):
    """Completion as kubectl asks its plugins for it."""

    name: ClassVar[str] = "kubectl"
    source_template: ClassVar[str] = """\
#!/bin/sh
# kubectl runs this for: kubectl podrail <TAB>
exec env %(complete_var)s=kubectl_complete %(prog_name)s "$@"
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one that is begun, and that one."""
        *before, begun = sys.argv[1:] or [""]
        return before, begun

    def format_completion(self, item: CompletionItem) -> str:
        """A line for an item; a path is left to kubectl's directive."""
        told = f"\t{item.help}" if item.help else ""
        return f"{item.value}{told}"

    def complete(self) -> str:
        """The lines, and the directive as the last one."""
        items = self.get_completions(*self.get_completion_args())
        plain = [self.format_completion(item) for item in items if item.type == "plain"]
        kinds = {item.type for item in items}
        directive = _FOLDERS if "dir" in kinds else _FILES if "file" in kinds else _NO_FILES
        return "\n".join([*plain, f":{directive}"])


@add_completion_class
class WordyFishComplete(FishComplete):
    """Completion for fish, with descriptions that have commas (click 8 cuts them at the first)."""

    source_template: ClassVar[str] = FishComplete.source_template.replace(
        'split ","', 'split --max 1 ","'
    )


@click.command("completion", epilog=_EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish", "kubectl"]))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print the script by which a shell completes podrail's commands, options and profiles."""
    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - each choice is one of click's or ours
    root = context.find_root().command
    click.echo(kind(root, {}, _NAME, _VARIABLE).source(), nl=False)


def profiles(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[Any]:
    """The shipped profiles whose names begin so, with what they are for."""
    return [
        CompletionItem(one.name, help=one.description)
        for one in sorted(library.shipped().profiles.values(), key=lambda one: one.name)
        if one.name.startswith(begun)
    ]
