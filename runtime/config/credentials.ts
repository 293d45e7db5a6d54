/**
 * The tokens of a login, `credentials/<id>.json` in the home directory: 0600 in a directory of 0700,
 * written in one atomic step, and changed by one process at a time, because a refresh token counts once.
 */

import { chmod, lstat, mkdir, open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { tryLock } from "fs-native-extensions";
import { z } from "zod";
import { ConfigError, RuntimeError } from "../contracts/errors.ts";
import { codeOf } from "../contracts/system-errors.ts";
import { writeDurably } from "../files/durable.ts";

const endpointSchema = z.strictObject({
  /** Address of the MCP server that the login is for. */
  server_url: z.url(),
  issuer: z.string().min(1),
  token_url: z.url(),
  client_id: z.string().min(1),
  /** Null: a public client. */
  client_secret: z.string().min(1).nullable(),
  client_auth: z.enum(["client_secret_basic", "client_secret_post"]).nullable(),
  /** What the tokens are for; null: the server does not say. */
  resource: z.string().min(1).nullable(),
});

const schema = z.strictObject({
  schema: z.literal(1),
  /** Of the login: a provider's id, or `mcp.<id>`. */
  provider: z.string().min(1),
  access_token: z.string().min(1),
  /** Null: the login ends with the access token. */
  refresh_token: z.string().min(1).nullable(),
  /** Null: the provider did not send it. */
  expires_at: z.iso.datetime().nullable(),
  scopes: z.array(z.string()),
  obtained_at: z.iso.datetime(),
  /** Why the login server refused the last refresh; absent after one that it granted. */
  refresh_refused: z.string().min(1).optional(),
  /** Of an MCP server, which says itself where its logins are; those of providers are in the configuration. */
  endpoint: endpointSchema.optional(),
});

export type LoginEndpointRecord = z.infer<typeof endpointSchema>;
export type Credentials = z.infer<typeof schema>;

const LOCK_PAUSE_MS = 50;
/** Milliseconds that another process may take for its refresh, its network included. */
const LOCK_DEADLINE_MS = 60_000;

export function credentialsPath(home: string, provider: string): string {
  return join(home, "credentials", `${provider}.json`);
}

/** Whether a call could be made with them, maybe after a refresh. Pure. */
export function isUsable({ refresh_token, expires_at: end, refresh_refused }: Credentials, now: Date): boolean {
  if (refresh_refused !== undefined) return false;
  return refresh_token !== null || end === null || Date.parse(end) > now.getTime();
}

/** Why they cannot be used, besides that their time is over. Pure. */
export function problemOf({ refresh_refused: reason }: Credentials): string | null {
  return reason === undefined ? null : `The login could not be refreshed: ${reason}.`;
}

/** Null without a login. CONFIG_UNREADABLE when the file is there and cannot be used. */
export async function readCredentials(home: string, provider: string): Promise<Credentials | null> {
  const path = credentialsPath(home, provider);
  let value: unknown;
  try {
    const found = await lstat(path);
    if (!found.isFile()) throw new Error("it is no regular file");
    // A file whose mode was loosened by hand is made private again before it is used.
    if ((found.mode & 0o077) !== 0) await chmod(path, 0o600);
    value = JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    // The parser's own message quotes the file.
    throw unusable(path, error instanceof SyntaxError ? "it is no JSON" : reasonOf(error));
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw unusable(path, `${result.error.issues[0]?.path.join(".") || "the file"} is not as expected`);
}

/** Only within `withCredentialsLock`. CONFIG_UNWRITABLE. */
export async function writeCredentials(home: string, credentials: Credentials): Promise<string> {
  const path = credentialsPath(home, credentials.provider);
  try {
    await ensureFolder(home);
    await writeDurably(path, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
    return path;
  } catch (error) {
    throw unwritable(path, error);
  }
}

/** Whether there were any. */
export async function removeCredentials(home: string, provider: string): Promise<boolean> {
  const path = credentialsPath(home, provider);
  const there = (await lstat(path).catch(() => null)) !== null;
  await rm(path, { force: true }).catch((error: unknown) => {
    throw unwritable(path, error);
  });
  return there;
}

/**
 * Does `work` while no other process refreshes, replaces or removes this login. RUNTIME_CONFLICT after a minute, or
 * CONFIG_UNWRITABLE.
 */
export async function withCredentialsLock<T>(
  home: string,
  provider: string,
  work: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const path = join(home, "credentials", `${provider}.lock`);
  await ensureFolder(home).catch((error: unknown) => {
    throw unwritable(path, error);
  });
  const lock = await open(path, "a+", 0o600).catch((error: unknown) => {
    throw unwritable(path, error);
  });
  try {
    const end = performance.now() + LOCK_DEADLINE_MS;
    while (!tryLock(lock.fd)) {
      if (performance.now() > end) {
        throw new RuntimeError("RUNTIME_CONFLICT", `Another process has held the login of ${provider} for a minute.`, {
          hint: "Try again; `cairn status` shows whether a node runs.",
        });
      }
      await sleep(LOCK_PAUSE_MS, undefined, { signal });
    }
    return await work();
  } finally {
    await lock.close();
  }
}

async function ensureFolder(home: string): Promise<void> {
  const folder = join(home, "credentials");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
}

function unusable(path: string, reason: string): ConfigError {
  return new ConfigError("CONFIG_UNREADABLE", `${path} cannot be used: ${reason}.`, {
    hint: "Log in again with `cairn login`.",
  });
}

function unwritable(path: string, cause: unknown): ConfigError {
  return new ConfigError("CONFIG_UNWRITABLE", `${path} cannot be written (${codeOf(cause) ?? "unknown error"}).`, {
    cause,
    hint: "Check the permissions of the home directory and the space on its disk.",
  });
}

function reasonOf(error: unknown): string {
  return codeOf(error) ?? (error instanceof Error ? error.message : "unknown error");
}
