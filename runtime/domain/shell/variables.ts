/** Variables that make programs run something: setting one is treated as running its value. */

import { absolutePath } from "./files.ts";
import type { Inspector } from "./inspection.ts";
import { territoriesOf } from "./paths.ts";
import { fork, type ShellState } from "./state.ts";
import { NOTHING } from "./stream.ts";

/** Their value is a command line. */
const COMMANDS = new Set(
  "PAGER GIT_PAGER MANPAGER SYSTEMD_PAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_ASKPASS SSH_ASKPASS RSYNC_RSH BROWSER PROMPT_COMMAND ENV".split(
    " ",
  ),
);
/** The same behind a bar: `|command %s`. */
const FILTERS = new Set(["LESSOPEN", "LESSCLOSE"]);
/** Their value is a file that every shell runs first. */
const SCRIPTS = new Set(["BASH_ENV"]);
/** Their value is a list of files that every program loads. */
const LIBRARIES = new Set(["LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES"]);

export function checkVariable(name: string, value: string, state: ShellState, inspector: Inspector): void {
  if (COMMANDS.has(name)) inspector.script(value, fork(state), NOTHING);
  else if (FILTERS.has(name)) inspector.script(value.replace(/^\|*-?/, ""), fork(state), NOTHING);
  else if (SCRIPTS.has(name) && value !== "") {
    const written = state.files.get(absolutePath(value, state));
    if (written?.kind === "text") for (const text of written.texts) inspector.script(text, fork(state), NOTHING);
    else inspector.refuse(`with ${name} every shell would run a file first`);
  } else if (LIBRARIES.has(name)) {
    // A name without a path is looked up among the system's libraries.
    const files = value.split(/[\s:]+/).filter((file) => file.includes("/"));
    const foreign = files.some(
      (file) => !territoriesOf(file, state.directories, inspector.workspace).includes("system"),
    );
    if (foreign) inspector.refuse(`with ${name} every program would load a file that is not of the system`);
  }
}
