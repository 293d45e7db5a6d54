/**
 * Which files of a directory hold a text, by ripgrep where it is installed: it reads many files faster than we do. What it names
 * is opened and searched again by our own walk, so that its answer decides nothing but what need not be opened.
 */

import { spawn } from "node:child_process";
import { delimiter, isAbsolute, join } from "node:path";

export interface TextSearch {
  /** The workspace, resolved. */
  readonly root: string;
  readonly components: readonly string[];
  readonly all: boolean;
  readonly literal: string;
  readonly ignoreCase: boolean;
}

/** More are not worth the memory: then the walk does without. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
const DEADLINE_MS = 10_000;

/**
 * Paths below the root; null where ripgrep is not there, fails, takes too long or finds too much. `path`: the directories that it
 * may be in. Rejects with the signal's reason as soon as it aborts.
 */
export async function filesWithText(
  query: TextSearch,
  path: string | undefined,
  signal?: AbortSignal,
): Promise<readonly string[] | null> {
  signal?.throwIfAborted();
  const trusted = trustedPath(path ?? "", query.root);
  if (trusted === "") return null;
  const ended = new AbortController();
  const child = spawn("rg", argumentsOf(query), {
    cwd: join(query.root, ...query.components),
    env: { PATH: trusted },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const chunks: Buffer[] = [];
  let size = 0;
  const outcome = new Promise<boolean>((resolve, reject) => {
    const fail = (): void => resolve(false);
    const timer = setTimeout(fail, DEADLINE_MS);
    ended.signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true, signal: ended.signal });
    child.once("error", fail);
    child.stdout.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_OUTPUT_BYTES) fail();
    });
    // 1: no file holds it. Anything else may have missed some.
    child.once("close", (code) => resolve(code === 0 || code === 1));
  });
  try {
    if (!(await outcome)) return null;
  } finally {
    ended.abort();
    child.kill("SIGKILL");
    child.stdout.destroy();
  }
  const names = Buffer.concat(chunks).toString("utf8").split("\0");
  return names.flatMap((name) => (name === "" ? [] : [[...query.components, name.replace(/^\.\//, "")].join("/")]));
}

/** The program runs outside of the sandbox: nothing that an agent could have put into its workspace is taken for it. */
function trustedPath(path: string, root: string): string {
  const entries = path.split(delimiter).filter((entry) => isAbsolute(entry));
  return entries.filter((entry) => !`${join(entry, "/")}`.startsWith(join(root, "/"))).join(delimiter);
}

/** Everything that our walk would search: the rules of directories above it, which only that knows, leave out more. */
function argumentsOf({ all, literal, ignoreCase }: TextSearch): readonly string[] {
  return [
    "--no-config",
    "--files-with-matches",
    "--null",
    "--no-messages",
    "--color=never",
    "--no-mmap",
    "--text",
    "--no-ignore-parent",
    "--no-ignore-dot",
    "--no-ignore-exclude",
    "--no-ignore-global",
    ...(all ? ["--no-ignore", "--hidden", "--glob=!.git"] : []),
    ignoreCase ? "--ignore-case" : "--case-sensitive",
    "--fixed-strings",
    "-e",
    literal,
    "--",
    ".",
  ];
}
