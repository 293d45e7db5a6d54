/**
 * Code of other languages given on the command line. There is no parser for each of them here: inspected are its
 * string literals, as commands where the code starts programs and as paths where it deletes or reads files.
 */

import type { ShellState } from "./inspection.ts";
import { checkPaths, DELETING, readable } from "./paths.ts";
import { isSecretPath } from "./secrets.ts";
import type { Stream } from "./streams.ts";
import { COMPUTED, HOME } from "./values.ts";

const STARTS_PROGRAMS =
  /\b(system|popen|exec\w*|spawn\w*|subprocess|child_process|os\.posix_spawn|qx|shell_exec|passthru|proc_open|Open3|IO\.popen|Deno\.(Command|run)|Bun\.(spawn|\$)|pty)\b|\|\s*getline|`/;
const DELETES =
  /\b(rmtree|remove_tree|rmSync|rmdirSync|unlinkSync|rmdir|unlink|removedirs|rm_rf?|rm_f|remove|deltree|FileUtils|fs(\.promises|p)?\.rm|\.rm\()/;
const DECODES =
  /\b(b64decode|a85decode|atob|fromhex|unhexlify|decode64|decode_base64|base64_decode|unpack1?|fromBase64)\b|["'](base64|hex|rot13)["']/;
const RUNS_TEXT =
  /\b(exec|eval|Function|compile|system|popen|execSync|spawnSync|subprocess|vm\.run\w*|runInThisContext|loadstring|assert)\b/;
/** It runs what a variable, a field or the standard input holds. */
const RUNS_VARIABLE = /\bsystem\s*\(\s*[\w$@]+\s*\)/;
const RUNS_READ = [/\b(exec|eval|system)\b/, /\bstdin\b|<>/i];
const FORKS_FOREVER =
  /\bfork\b[\s()]*(while|until)\b[\s()]*\w*fork|(while|until|loop|for)\b[^\n]{0,40}[\s{:(]+(os\.|Process\.)?fork\b/;
/** Letters that are written by their numbers, to hide what they spell. */
const HIDDEN_LETTERS = /\\(x[2-7][\da-f]|u\{?0*[2-7][\da-f](?![\da-f])|0?[4-7][0-7](?!\d)|1[0-7][0-7]|N\{)/i;
/** Texts in quotes, and the operators of Perl and Ruby that quote by brackets. */
const QUOTED = /(["'`])((?:\\.|(?!\1)[^\\])*)\1/gs;
const QUOTING_OPERATOR = /(?:\bq[qxwr]?|%[qQxwW])\s*[^\w\s]/;
const SUBSTITUTION = /\$\(|`/;
const HOME_DIRECTORY = /expanduser|homedir|Path\.home|Dir\.home|\bHOME\b/;
const MAX_CHARS = 20_000;

export function inspectCode(code: string, state: ShellState): void {
  const { ask, refuse, certain, command } = state.inspector;
  if (code.length > MAX_CHARS) {
    ask("the code on the command line is too long to be judged");
    return;
  }
  if (code.includes(COMPUTED)) ask("a part of the code that it runs is computed while it runs");
  if (FORKS_FOREVER.test(code)) refuse("it starts itself over and over (fork bomb)");
  if (DECODES.test(code) && RUNS_TEXT.test(code)) refuse("it runs text that is decoded while it runs");
  if (RUNS_VARIABLE.test(code) || RUNS_READ.every((part) => part.test(code)))
    ask("the code runs text that it reads or computes");
  const literals = literalsOf(code);
  for (const literal of literals) {
    if (HIDDEN_LETTERS.test(literal)) ask("the code that it runs hides letters by their numbers");
    if (isSecretPath(literal) && !/\s/.test(literal)) refuse(`it reads ${readable(literal)}, which holds secrets`);
  }
  if (DELETES.test(code)) {
    const paths = [...literals, ...(HOME_DIRECTORY.test(code) ? [HOME] : [])];
    const expanded = paths.map((path) => path.replace(/^~(?=\/|$)/, HOME));
    const isPath = (path: string) => path.startsWith("/") || /^\.{1,2}(\/|$)/.test(path);
    checkPaths(expanded.filter(isPath), state, DELETING);
  }
  if (!STARTS_PROGRAMS.test(code)) return;
  // Brackets of Perl and Ruby in one another are not followed.
  if (QUOTING_OPERATOR.test(code) && SUBSTITUTION.test(code))
    ask("a part of the text that it runs is computed while it runs");
  // Commands as text, and as a list of words.
  for (const literal of literals) inspectLiteral(literal, state);
  if (literals.length > 1) certain(() => command(literals, state));
}

/** Text that may be a command. Most is none: only certain danger counts, unless it computes a part of itself. */
export function inspectLiteral(text: string, state: ShellState, input?: Stream): void {
  const inspect = () => state.inspector.script(text, state, input);
  if (SUBSTITUTION.test(text)) inspect();
  else state.inspector.certain(inspect);
}

function literalsOf(code: string): readonly string[] {
  const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };
  const quoted = [...code.matchAll(QUOTED)].map(([, , text = ""]) =>
    text.replace(/\\([ntr"'`\\])/g, (_, letter: string) => escapes[letter] ?? letter),
  );
  const bracketed = QUOTING_OPERATOR.test(code) ? [...code.split(/[{}()[\]<>|!]/), ...code.split("/")] : [];
  return [...quoted, ...bracketed].filter((text) => text !== "");
}
