/**
 * An archive of a built program, as `npm pack` makes one: brought to this machine and held against its checksum before anything
 * is made of it. What was hashed is what is unpacked: a copy of our own.
 */

import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { execa } from "execa";
import { isLoopback } from "../../runtime/config/listen.ts";
import { InfraError } from "../../runtime/contracts/errors.ts";
import { UsageError } from "../output/failure.ts";

export type ArchivePlace =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "url"; readonly url: URL };

export interface Archive {
  readonly file: string;
  /** In hexadecimal. */
  readonly sha256: string;
}

/** Milliseconds that a download may take. */
const DOWNLOAD_MS = 15 * 60_000;
const LARGEST_BYTES = 2 ** 30;
const LARGEST_CHECKSUM = 4_096;
const HEX = /^[0-9a-f]{64}$/;

/** From the command line: a path, or an address. A UsageError for what can be neither. */
export async function placeOf(text: string): Promise<ArchivePlace> {
  const url = URL.parse(text);
  if (url !== null && (url.protocol === "https:" || url.protocol === "http:")) {
    refuseInsecure(url);
    return { kind: "url", url };
  }
  const path = resolve(text);
  if ((await stat(path).catch(() => null))?.isFile()) return { kind: "file", path };
  throw new UsageError(
    `This node runs a program of this machine, and ${text} is no archive of one.`,
    "Pass the file that `npm pack` wrote, or its https address; for a release of the source tree pass --version instead.",
  );
}

/** `checksum` is SHA-256 in hexadecimal; undefined: it is next to the archive, in `<archive>.sha256`. A UsageError for none. */
export async function bringArchive(
  place: ArchivePlace,
  {
    checksum,
    to,
    signal,
  }: { readonly checksum: string | undefined; readonly to: string; readonly signal: AbortSignal },
): Promise<Archive> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(DOWNLOAD_MS)]);
  const wanted =
    checksum === undefined ? await siblingChecksum(place, deadline) : parseChecksum(checksum, "--checksum");
  const hash = createHash("sha256");
  let size = 0;
  const measured = new Transform({
    transform(piece: Buffer, _encoding, done) {
      size += piece.length;
      hash.update(piece);
      if (size > LARGEST_BYTES) done(notBrought(place, `it is larger than ${LARGEST_BYTES} bytes`));
      else done(null, piece);
    },
  });
  try {
    const body = place.kind === "file" ? createReadStream(place.path) : await download(place.url, deadline);
    await pipeline(body, measured, createWriteStream(to, { mode: 0o600, flags: "wx" }), { signal: deadline });
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof InfraError ? error : notBrought(place, reasonOf(error), error);
  }
  const found = hash.digest("hex");
  if (found === wanted) return { file: to, sha256: found };
  throw new InfraError("INFRA_BUILD_FAILED", `${nameOf(place)} does not match its checksum.`, {
    issues: [{ path: "sha256", message: `expected ${wanted}, and it is ${found}` }],
    hint: "Nothing was changed. Download the archive again, and get its checksum from its publisher.",
  });
}

/** Unpacks what is in the archive's one folder. INFRA_BUILD_FAILED for what is no such archive. */
export async function unpack({ file }: Archive, folder: string, signal: AbortSignal): Promise<void> {
  await mkdir(folder, { recursive: true });
  const args = ["-xzf", file, "-C", folder, "--strip-components=1", "--no-same-owner"];
  const result = await execa("tar", args, { reject: false, all: true, stdin: "ignore", cancelSignal: signal });
  signal.throwIfAborted();
  if (!result.failed) return;
  if (result.code === "ENOENT") {
    throw new InfraError("INFRA_TOOL_MISSING", "There is no tar on this machine.", { hint: "Install it." });
  }
  const [words = ""] = (result.all ?? "").trim().split("\n");
  throw new InfraError("INFRA_BUILD_FAILED", `The archive cannot be unpacked: ${words}`, {
    hint: "Nothing was changed. Pass an archive as `npm pack` writes it.",
  });
}

async function siblingChecksum(place: ArchivePlace, signal: AbortSignal): Promise<string> {
  const sibling = siblingsOf(place);
  try {
    const text =
      sibling.kind === "file"
        ? await readFile(sibling.path, "utf8")
        : await readText(await download(sibling.url, signal));
    return parseChecksum(text, nameOf(sibling));
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `There is no checksum of ${nameOf(place)}: ${nameOf(sibling)} cannot be read (${reasonOf(error)}).`,
      "Pass --checksum SHA256, or put the output of `sha256sum` there.",
    );
  }
}

function siblingsOf(place: ArchivePlace): ArchivePlace {
  if (place.kind === "file") return { kind: "file", path: `${place.path}.sha256` };
  const url = new URL(place.url);
  url.pathname += ".sha256";
  return { kind: "url", url };
}

/** The digest alone, or a line of `sha256sum`. */
function parseChecksum(text: string, from: string): string {
  const [word = ""] = text.trim().toLowerCase().split(/\s+/, 1);
  if (HEX.test(word)) return word;
  throw new UsageError(
    `${from} has no SHA-256 checksum.`,
    "It has 64 hexadecimal digits, as `sha256sum FILE` prints them.",
  );
}

async function download(url: URL, signal: AbortSignal): Promise<Readable> {
  const response = await fetch(url, { signal });
  // The server may have redirected.
  if (response.url !== "") refuseInsecure(new URL(response.url));
  if (!response.ok || response.body === null) throw new Error(`the server answers ${response.status}`);
  return Readable.fromWeb(response.body);
}

async function readText(stream: Readable): Promise<string> {
  let text = "";
  for await (const piece of stream.setEncoding("utf8")) {
    text += String(piece);
    if (text.length > LARGEST_CHECKSUM) break;
  }
  return text;
}

function refuseInsecure({ protocol, hostname, host }: URL): void {
  if (protocol === "https:" || isLoopback(hostname)) return;
  throw new UsageError(
    `The archive would be fetched from ${host} without encryption.`,
    "Pass an https address, or bring the file here.",
  );
}

/** Without what may be a secret in an address. */
function nameOf(place: ArchivePlace): string {
  return place.kind === "file" ? place.path : `${place.url.origin}${place.url.pathname}`;
}

function notBrought(place: ArchivePlace, reason: string, cause?: unknown): InfraError {
  return new InfraError("INFRA_BUILD_FAILED", `${nameOf(place)} cannot be fetched: ${reason}.`, {
    ...(cause === undefined ? {} : { cause }),
    hint: "Nothing was changed. Look at the path or the address, and try again.",
  });
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // fetch's own error says only that it failed; its cause says why.
  const { cause } = error;
  return cause instanceof Error && cause.message !== "" ? cause.message : error.message;
}
