/** Variables that make programs run something, or give words another meaning: setting one is judged as what it does. */

import type { ShellState } from "./inspection.ts";
import { territoryOf } from "./paths.ts";
import { COMPUTED, VALUE } from "./values.ts";

/** Their value is a command line, or the same behind a bar (`|command %s`). */
const COMMANDS =
  /^(PAGER|(GIT_|MAN|SYSTEMD_)PAGER|EDITOR|VISUAL|GIT_(SEQUENCE_)?EDITOR|GIT_SSH_COMMAND|GIT_EXTERNAL_DIFF|(GIT|SSH)_ASKPASS|RSYNC_RSH|BROWSER|PROMPT_COMMAND|PS4|ENV|LESSOPEN|LESSCLOSE|TAR_OPTIONS|GIT_SSH|GIT_PROXY_COMMAND|GIT_CONFIG_(VALUE_\d+|PARAMETERS)|BASH_FUNC_.*)$/;
/** Their value is a list of files that every program loads. */
const LIBRARIES = /^(LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES)$/;

/** A command in the index of an array runs wherever the shell counts: `x='a[$(date)]'; echo $((x))`. */
export const COMMAND_IN_INDEX = /\[[^[\]]*(\$\(|`)/;
export const HIDDEN_IN_INDEX = "a command in the index of an array runs where the shell counts";

/** `NAME=value` as a word of `export`, `declare` and their like. */
export function define(definition: string, state: ShellState): void {
  const [, name = definition, value] = /^([^=]*?\+?)=(.*)$/s.exec(definition) ?? [];
  if (name.includes(COMPUTED)) {
    state.variables.set("*", COMPUTED, definition);
    state.inspector.ask("which variable it sets is computed while it runs");
  } else if (value !== undefined) {
    const isAppended = name.endsWith("+");
    const variable = name.replace(/\+$/, "");
    checkVariable(variable, value, state);
    state.variables.set(variable, isAppended ? COMPUTED : value, definition.replaceAll(VALUE, ""));
  }
}

export function checkVariable(name: string, value: string, state: ShellState): void {
  if (COMMAND_IN_INDEX.test(value)) state.inspector.ask(HIDDEN_IN_INDEX);
  if (name === "CDPATH" && value !== "") state.inspector.ask("with CDPATH it is not known where cd leads");
  // Line ends and tabs alone split no word that blanks would not split, too.
  if (name === "IFS" && !/^[ \t\n]+$/.test(value)) state.inspector.ask("with IFS it is not known where words end");
  if (COMMANDS.test(name)) state.inspector.script(value.replace(/^\|*-?/, ""), state);
  else if (name === "BASH_ENV" && value !== "")
    state.inspector.refuse(`with ${name} every shell would run a file first`);
  else if (LIBRARIES.test(name)) {
    if (value.includes(COMPUTED))
      state.inspector.ask(`what every program would load by ${name} is computed while it runs`);
    // A name without a path is searched among the system's libraries.
    const files = value.split(/[\s:]+/).filter((file) => file.includes("/"));
    if (files.some((file) => territoryOf(file, state) !== "system"))
      state.inspector.refuse(`with ${name} every program would load a file that is not of the system`);
  }
}
