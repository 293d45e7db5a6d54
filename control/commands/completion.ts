import { Args } from "@oclif/core";
import { BaseCommand } from "../base-command.ts";
import { bashCompletion } from "../completion/bash.ts";
import { fishCompletion } from "../completion/fish.ts";
import { type CommandDescription, completionPlaces } from "../completion/words.ts";
import { zshCompletion } from "../completion/zsh.ts";

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;
type Shell = keyof typeof SHELLS;

export interface CompletionResult {
  readonly shell: Shell;
  readonly script: string;
}

export default class Completion extends BaseCommand<CompletionResult> {
  static override description =
    "Print the completion script of a shell\n\n" +
    'Add `eval "$(cairn completion bash)"` to ~/.bashrc, or the same with zsh to ~/.zshrc behind compinit. For fish write ' +
    "the script to ~/.config/fish/completions/cairn.fish.";

  static override examples = [
    '$ eval "$(<%= config.bin %> completion bash)"',
    "<%= config.bin %> completion fish > ~/.config/fish/completions/cairn.fish",
  ];

  static override args = {
    shell: Args.string({
      ignoreStdin: true,
      required: true,
      options: Object.keys(SHELLS),
      description: "The shell",
    }),
  };

  protected async work(): Promise<CompletionResult> {
    const { args } = await this.parse(Completion);
    // The framework has checked that it is one of the three.
    const shell = args.shell as Shell;
    const topics = Object.fromEntries(
      this.config.topics.map(({ name, description = "" }) => [name.replaceAll(":", " "), description]),
    );
    // oclif's own type of a loaded command says more than is read here.
    const commands = this.config.commands as readonly CommandDescription[];
    return { shell, script: SHELLS[shell](completionPlaces(commands, topics)) };
  }

  protected render({ script }: CompletionResult): string {
    return script.trimEnd();
  }
}
