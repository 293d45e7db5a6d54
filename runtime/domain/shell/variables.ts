/** Variables that make programs run something: setting one is treated as running its value. */

import type { Inspector } from "./inspection.ts";
import { territoriesOf } from "./paths.ts";
import { assign, type ShellState } from "./state.ts";
import { COMPUTED } from "./values.ts";

/** Their value is a command line, or the same behind a bar (`|command %s`). */
const COMMANDS =
  /^(PAGER|(GIT_|MAN|SYSTEMD_)PAGER|EDITOR|VISUAL|GIT_(SEQUENCE_)?EDITOR|GIT_SSH_COMMAND|GIT_EXTERNAL_DIFF|(GIT|SSH)_ASKPASS|RSYNC_RSH|BROWSER|PROMPT_COMMAND|PS4|ENV|LESSOPEN|LESSCLOSE|TAR_OPTIONS|GIT_SSH|GIT_PROXY_COMMAND|GIT_CONFIG_(VALUE_\d+|PARAMETERS)|BASH_FUNC_.*)$/;
/** Their value is a list of files that every program loads. */
const LIBRARIES = /^(LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES)$/;

/** A command in the index of an array runs wherever the shell counts: `x='a[$(date)]'; echo $((x))`. */
export const COMMAND_IN_INDEX = /\[[^[\]]*(\$\(|`)/;
export const HIDDEN_IN_INDEX = "a command in the index of an array runs where the shell counts";

/** `NAME=value`, `NAME+=value`; the value is undefined where there is none. */
export function splitAssignment(definition: string): [name: string, value: string | undefined] {
  const [, name = definition, value] = /^([^=]*?)\+?=(.*)$/s.exec(definition) ?? [];
  return [name, value];
}

/** `export`, `declare` and their like. */
export function define(definition: string, state: ShellState, inspector: Inspector): void {
  const [name, value] = splitAssignment(definition);
  if (name.includes(COMPUTED)) {
    state.sourced = true;
    inspector.ask("which variable it sets is computed while it runs");
  } else if (value !== undefined) {
    checkVariable(name, value, state, inspector);
    assign(state, name, [value]);
  }
}

export function checkVariable(name: string, value: string, state: ShellState, inspector: Inspector): void {
  if (COMMAND_IN_INDEX.test(value)) inspector.ask(HIDDEN_IN_INDEX);
  if (name === "CDPATH" && value !== "") inspector.ask("with CDPATH it is not known where cd leads");
  if (COMMANDS.test(name)) inspector.script(value.replace(/^\|*-?/, ""), state);
  else if (name === "BASH_ENV" && value !== "") inspector.refuse(`with ${name} every shell would run a file first`);
  else if (LIBRARIES.test(name)) {
    if (value.includes(COMPUTED)) inspector.ask(`what every program would load by ${name} is computed while it runs`);
    // A name without a path is searched among the system's libraries.
    const files = value.split(/[\s:]+/).filter((file) => file.includes("/"));
    const foreign = files.some(
      (file) => !territoriesOf(file, state.directories, inspector.workspace).includes("system"),
    );
    if (foreign) inspector.refuse(`with ${name} every program would load a file that is not of the system`);
  }
}
