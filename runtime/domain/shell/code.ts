/**
 * Code of other languages given on the command line. There is no parser for each of them here: inspected are its
 * string literals, as commands where the code starts programs and as paths where it deletes or reads files.
 */

import { readable } from "./files.ts";
import type { Inspector } from "./inspection.ts";
import { withoutEscapes } from "./output.ts";
import { deletionReason } from "./paths.ts";
import { isSecretPath } from "./secrets.ts";
import { fork, HOME, type ShellState, UNKNOWN } from "./state.ts";
import { NOTHING } from "./stream.ts";

const STARTS_PROGRAMS =
  /\b(system|popen|exec\w*|spawn\w*|subprocess|child_process|os\.posix_spawn|qx|shell_exec|passthru|proc_open|Open3|IO\.popen|Deno\.(Command|run)|Bun\.(spawn|\$)|pty)\b|\|\s*getline|`/;
const DELETES =
  /\b(rmtree|remove_tree|rmSync|rmdirSync|unlinkSync|rmdir|unlink|removedirs|rm_rf?|rm_f|remove|deltree|FileUtils|fs(\.promises|p)?\.rm|\.rm\()/;
const DECODES =
  /\b(b64decode|a85decode|atob|fromhex|unhexlify|decode64|decode_base64|base64_decode|unpack1?|fromBase64)\b|["'](base64|hex|rot13)["']/;
const RUNS_TEXT =
  /\b(exec|eval|Function|compile|system|popen|execSync|spawnSync|subprocess|vm\.run\w*|runInThisContext|loadstring|assert)\b/;
const FORKS_FOREVER =
  /\bfork\b[\s()]*(while|until)\b[\s()]*\w*fork|(while|until|loop|for)\b[^\n]{0,40}[\s{:(]+(os\.|Process\.)?fork\b/;

const MAX_CHARS = 20_000;

export function inspectCode(code: string, state: ShellState, inspector: Inspector): void {
  if (code.length > MAX_CHARS) {
    inspector.ask("the code on the command line is too long to be judged");
    return;
  }
  const literals = literalsOf(code);
  if (FORKS_FOREVER.test(code)) inspector.refuse("it starts itself over and over (fork bomb)");
  if (DECODES.test(code) && RUNS_TEXT.test(code)) inspector.refuse("it runs text that is decoded while it runs");
  for (const literal of literals) {
    if (isSecretPath(literal) && !/\s/.test(literal))
      inspector.refuse(`it reads ${readable(literal)}, which holds secrets`);
    if (DELETES.test(code)) refuseDeletion(literal, state, inspector);
  }
  if (/expanduser|homedir|Path\.home|Dir\.home|\bHOME\b/.test(code) && DELETES.test(code))
    refuseDeletion(HOME, state, inspector);
  if (!STARTS_PROGRAMS.test(code)) return;
  // Commands as text, and as a list of words. Most literals are no commands: only certain danger counts.
  inspector.certain(() => {
    for (const literal of literals) inspector.script(literal, fork(state), NOTHING);
    if (literals.length > 1) inspector.command(literals, fork(state), NOTHING);
  });
}

function refuseDeletion(path: string, state: ShellState, inspector: Inspector): void {
  const expanded = path === "~" || path.startsWith("~/") ? HOME + path.slice(1) : path;
  if (!expanded.startsWith("/") && !/^\.{1,2}(\/|$)/.test(expanded)) return;
  const reason = deletionReason(expanded, state.directories, inspector.workspace);
  if (reason) inspector.refuse(reason);
}

/** The texts between quotes, also between backticks and after Perl's and Ruby's q operators. */
function literalsOf(code: string): readonly string[] {
  const quoted = [...code.matchAll(/(["'`])((?:\\.|(?!\1)[^\\])*)\1/gs)].map((match) => withoutEscapes(match[2] ?? ""));
  const operators = ["{}", "()", "[]", "<>", "||", "//", "!!"].flatMap((pair) => operatorLiterals(code, pair));
  return [...quoted, ...operators].filter((text) => text !== "" && text !== UNKNOWN);
}

/** `q(...)`, `qq{...}`, `%w[...]` by their brackets. Each character is read a bounded number of times. */
function operatorLiterals(code: string, [open = "", close = ""]: string): readonly string[] {
  const literals: string[] = [];
  const operator = new RegExp(`(?:\\bq[qxwr]?|%[qQxwW])\\s*\\${open}`, "g");
  for (let match = operator.exec(code); match !== null; match = operator.exec(code)) {
    const start = operator.lastIndex;
    let end = code.indexOf(close, start);
    while (end > 0 && code[end - 1] === "\\") end = code.indexOf(close, end + 1);
    if (end === -1) break;
    literals.push(code.slice(start, end));
    operator.lastIndex = end + 1;
  }
  return literals;
}
