/** What `cairn capture install` leaves for the hook, in the directory `capture` of the home: private, and no harness's settings hold it. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type CertificatePin, pinOf } from "../../contracts/certificates.ts";
import { RuntimeError } from "../../contracts/errors.ts";
import { isRecord } from "../../contracts/values.ts";
import { preparePrivateDirectory, writePrivateFile } from "../capture/private-files.ts";
import { isForeignListener } from "../foreign-listener.ts";

export interface CapturePaths {
  readonly directory: string;
  readonly settings: string;
  readonly token: string;
  /** What the harnesses start. */
  readonly launcher: string;
  readonly cursors: string;
  readonly log: string;
  readonly spool: string;
  /** `run/node.json` of a running node of this home. */
  readonly nodeFile: string;
}

export interface CaptureSettings {
  readonly version: 1;
  /** Where the node was when the hook was installed. */
  readonly base_url: string;
  /** Whether the node runs on this machine, with this home: then `run/node.json` has its current address. */
  readonly local: boolean;
  /** Of the token, for its revocation; null for one that was given. */
  readonly token_id: string | null;
}

export function capturePaths(home: string): CapturePaths {
  const directory = join(home, "capture");
  return {
    directory,
    settings: join(directory, "settings.json"),
    token: join(directory, "token"),
    launcher: join(directory, "hook"),
    cursors: join(directory, "cursors"),
    log: join(directory, "hook.log"),
    spool: join(home, "spool"),
    nodeFile: join(home, "run", "node.json"),
  };
}

/** Null when there are none, or none that can be read. */
export async function readCaptureSettings(
  home: string,
): Promise<(CaptureSettings & { readonly token: string }) | null> {
  const paths = capturePaths(home);
  try {
    const [text, token] = await Promise.all([readFile(paths.settings, "utf8"), readFile(paths.token, "utf8")]);
    const value: unknown = JSON.parse(text);
    if (!isSettings(value) || token.trim() === "") return null;
    return { ...value, token: token.trim() };
  } catch {
    return null;
  }
}

export async function writeCaptureSettings(home: string, settings: CaptureSettings, token: string): Promise<void> {
  const paths = capturePaths(home);
  await preparePrivateDirectory(paths.directory);
  await writePrivateFile(paths.token, `${token}\n`);
  await writePrivateFile(paths.settings, `${JSON.stringify(settings, null, 2)}\n`);
}

/** Where a node is, and the certificates that it may show there; undefined where authorities decide, or there is no TLS. */
export interface NodeAddress {
  readonly baseUrl: string;
  readonly certificate: CertificatePin | undefined;
}

/** Where the node is now. RUNTIME_NOT_RUNNING when another user has taken its port: the token and the sessions are not for them. */
export async function nodeAddress(home: string, settings: CaptureSettings): Promise<NodeAddress> {
  const installed = { baseUrl: settings.base_url, certificate: undefined };
  if (!settings.local) return installed;
  const address = (await runningNode(home)) ?? installed;
  const { baseUrl } = address;
  if (await isForeignListener(baseUrl)) {
    throw new RuntimeError(
      "RUNTIME_NOT_RUNNING",
      `Another user's process listens at ${baseUrl}: nothing is sent there.`,
    );
  }
  return address;
}

async function runningNode(home: string): Promise<NodeAddress | null> {
  try {
    const node: unknown = JSON.parse(await readFile(capturePaths(home).nodeFile, "utf8"));
    if (!isRecord(node) || typeof node["url"] !== "string") return null;
    // A short-lived node serves one command, and is gone.
    if (node["maintenance"] === true) return null;
    const [shown, next] = [node["certificate_sha256"], node["next_certificate_sha256"]].map((value) =>
      typeof value === "string" ? value : null,
    );
    const certificate = pinOf({ certificate_sha256: shown ?? null, next_certificate_sha256: next ?? null });
    return { baseUrl: node["url"], certificate: certificate ?? undefined };
  } catch {
    // None runs: what is sent will wait in the spool.
    return null;
  }
}

function isSettings(value: unknown): value is CaptureSettings {
  return isRecord(value) && value["version"] === 1 && typeof value["base_url"] === "string";
}
