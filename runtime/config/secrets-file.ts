/**
 * The secrets file `.env` of a deployment directory: read only when it is closed to other users, written atomically.
 * It must be a regular file (or a link to one) that belongs to the user of the process; permissions beyond 0600 are
 * removed with a warning. A file of root that others cannot read is accepted too: a mounted secret is one.
 */

import { constants } from "node:fs";
import { type FileHandle, lstat, open } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parse } from "dotenv";
import { ConfigError } from "../contracts/errors.ts";
import { shellWord } from "../contracts/shell-quote.ts";
import { codeOf, systemWords } from "../contracts/system-errors.ts";
import { createDurably, writeDurably } from "../files/durable.ts";
import type { ConfigIssue } from "./report.ts";

export const SECRETS_FILE = ".env";
export const API_TOKEN_VARIABLE = "SERVICE_API_TOKEN";
const MODE_MASK = 0o7777;
const FOREIGN_BITS = 0o077;
/** Group may read a mounted secret of root (it is how a volume is shared with one user), not write it. */
const FOREIGN_BITS_OF_ROOT = 0o037;
const LARGEST_BYTES = 1024 * 1024;

export interface SecretsFile {
  readonly path: string;
  readonly exists: boolean;
  readonly values: Readonly<Record<string, string>>;
  /** The file's text, for commands that add to it. */
  readonly text: string;
  readonly warnings: readonly ConfigIssue[];
}

/**
 * `uid` is the user of the process (default: the process's own). CONFIG_SECRETS_FILE_UNSAFE when the file may not
 * be trusted, CONFIG_UNREADABLE when it cannot be read.
 */
export async function readSecretsFile(dir: string, uid = process.getuid?.()): Promise<SecretsFile> {
  const path = join(dir, SECRETS_FILE);
  const link = await lstat(path).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return null;
    throw unreadable(path, error);
  });
  if (link === null) return { path, exists: false, values: {}, text: "", warnings: [] };
  if (uid !== undefined) refuseForeignOwner(path, link.uid, uid, link.isSymbolicLink() ? "the link" : "the file");

  // Not blocking: a pipe in its place must not hold the start up. What is opened is what is checked and read.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    throw unreadable(path, error);
  });
  try {
    const warnings = await checkHandle(handle, path, uid);
    const text = (await handle.readFile("utf8")).replace(/^\uFEFF/, "");
    return { path, exists: true, values: parse(text), text, warnings };
  } finally {
    await handle.close();
  }
}

export interface Secret {
  readonly name: string;
  readonly value: string;
  /** One line above it, for the reader of the file. */
  readonly comment: string;
}

/**
 * Adds the variables that the file does not have yet, in one atomic step; lines that are there stay as they are. A new
 * file begins with `head`. Returns the names that were added. CONFIG_UNWRITABLE, or an error of `readSecretsFile`.
 */
export async function addSecrets(dir: string, secrets: readonly Secret[], head = ""): Promise<string[]> {
  const file = await readSecretsFile(dir);
  const missing = secrets.filter(({ name }) => !file.values[name]);
  if (missing.length === 0 && file.exists) return [];
  try {
    if (file.exists) await writeDurably(file.path, missing.reduce(withSecret, file.text), { mode: 0o600 });
    else if (!(await createDurably(file.path, missing.reduce(withSecret, head), 0o600)))
      return await addSecrets(dir, secrets, head);
  } catch (error) {
    throw error instanceof ConfigError ? error : unwritable(file.path, error);
  }
  return missing.map(({ name }) => name);
}

/**
 * Gives a variable another value where the file sets it, or adds it, in one atomic step; all else stays as it is. The value must
 * need no quotes. CONFIG_UNWRITABLE, also where the line cannot be changed by itself, or an error of `readSecretsFile`.
 */
export async function setSecret(dir: string, secret: Secret): Promise<void> {
  const { name, value } = secret;
  const file = await readSecretsFile(dir);
  if (!file.values[name]) {
    await addSecrets(dir, [secret]);
    return;
  }
  const line = new RegExp(`^([ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=).*$`, "gm");
  const text = file.text.replace(line, (_, head: string) => `${head}${value}`);
  if (!isDeepStrictEqual(parse(text), { ...file.values, [name]: value })) {
    throw new ConfigError(
      "CONFIG_UNWRITABLE",
      `${name} cannot be changed in ${file.path}: it is not a line of its own.`,
      {
        hint: `Write it as one line ${name}=VALUE, and run the command again. Nothing was changed.`,
      },
    );
  }
  await writeDurably(file.path, text, { mode: 0o600 }).catch((error: unknown) => {
    throw unwritable(file.path, error);
  });
}

/** The text with the secret at its end, after its comment. A line that sets the variable to nothing is overruled. */
function withSecret(text: string, { name, value, comment }: Secret): string {
  const head = text === "" || text.endsWith("\n") ? text : `${text}\n`;
  return `${head}${head === "" ? "" : "\n"}# ${comment}\n${name}=${value}\n`;
}

async function checkHandle(handle: FileHandle, path: string, uid: number | undefined): Promise<ConfigIssue[]> {
  const stats = await handle.stat();
  if (!stats.isFile())
    throw unsafe(path, "it is not a regular file", "Put a plain file with lines NAME=value in its place.");
  if (stats.size > LARGEST_BYTES)
    throw unsafe(path, "it is larger than 1 MiB", "Keep lines NAME=value in it, and nothing else.");
  if (uid === undefined) return [];
  refuseForeignOwner(path, stats.uid, uid, "the file");

  const mode = stats.mode & MODE_MASK;
  if (stats.uid !== uid) {
    if ((mode & FOREIGN_BITS_OF_ROOT) === 0) return [];
    throw unsafe(path, `it belongs to root and its mode is ${octal(mode)}`, "Remove the access of other users.");
  }
  if ((mode & FOREIGN_BITS) === 0) return [];
  const repaired = mode & 0o700;
  try {
    await handle.chmod(repaired);
  } catch (error) {
    throw unsafe(
      path,
      `its mode is ${octal(mode)} and cannot be changed to ${octal(repaired)}`,
      `Run \`chmod 600 ${shellWord(path)}\`.`,
      error,
    );
  }
  return [
    {
      path: SECRETS_FILE,
      code: "exposed-files",
      message: `others could read it: its mode was ${octal(mode)} and is now ${octal(repaired)}; change secrets that others may have seen`,
    },
  ];
}

function refuseForeignOwner(path: string, owner: number, uid: number, what: string): void {
  if (owner === uid || owner === 0) return;
  throw unsafe(
    path,
    `${what} belongs to another user (id ${owner}, this process runs as ${uid})`,
    "Only your own secrets file is read.",
  );
}

function unsafe(path: string, reason: string, hint?: string, cause?: unknown): ConfigError {
  return new ConfigError("CONFIG_SECRETS_FILE_UNSAFE", `The secrets file ${path} is not used: ${reason}.`, {
    ...(hint ? { hint } : {}),
    ...(cause === undefined ? {} : { cause }),
  });
}

function unwritable(path: string, cause: unknown): ConfigError {
  const { reason, hint = "Check the permissions of its directory and the space on its disk." } = systemWords(cause);
  return new ConfigError("CONFIG_UNWRITABLE", `The secrets file ${path} cannot be written (${reason}).`, {
    cause,
    hint,
  });
}

function unreadable(path: string, cause: unknown): ConfigError {
  const { reason, hint = "Check its permissions and those of its directory." } = systemWords(cause);
  return new ConfigError("CONFIG_UNREADABLE", `The secrets file ${path} cannot be read (${reason}).`, { cause, hint });
}

function octal(mode: number): string {
  return `0${mode.toString(8)}`;
}
