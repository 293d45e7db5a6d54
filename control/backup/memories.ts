/** Brings what is not a file of this machine's deployment directory: the archives of memories, and the homes of deployed nodes. */

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { CONTAINER } from "../../infra/plan/types.ts";
import type { Client } from "../../runtime/client/index.ts";
import { InfraError } from "../../runtime/contracts/errors.ts";
import { readPackedArchive } from "../../runtime/files/memory-archive.ts";
import { isWholeGzip } from "../deploy/archive-file.ts";
import { isFull } from "../deploy/operations/full-disk.ts";
import { refuseLost } from "../deploy/part-commands.ts";
import { soFar } from "../output/words.ts";
import { writeWhole } from "../service/byte-files.ts";
import { withNode } from "../service/connect.ts";
import type { DeployedStack } from "../service/deployed-stack.ts";
import type { Deployment } from "../service/deployment.ts";
import { toolMissing } from "../service/stack-parts.ts";
import { HOME_OMITTED } from "./contents.ts";
import { invalid, MEMORY, type MemoryPart, NODE_FILES, NODES } from "./manifest.ts";
import type { StagedFile } from "./pack.ts";

export interface Brought {
  readonly memories: readonly MemoryPart[];
  readonly staged: readonly StagedFile[];
  /** Of the newest memory. */
  readonly schemaVersion: number;
}

export interface BringInput {
  readonly deployment: Deployment;
  /** Null: the node is one of this machine. */
  readonly stack: DeployedStack | null;
  /** Private, and empty. */
  readonly directory: string;
  readonly onStep: (text: string) => void;
  readonly signal: AbortSignal;
}

/** Errors as of `withNode`, of the driver, and INFRA_FAILED where a node's files cannot be read. */
export async function bringAll(input: BringInput): Promise<Brought> {
  const { stack, deployment, signal } = input;
  const memories: MemoryPart[] = [];
  const staged: StagedFile[] = [];
  let schemaVersion = 0;
  const add = async (entry: string, node: string | null, choice: { readonly node?: string }): Promise<void> => {
    const path = await placeOf(input, entry);
    await withNode(deployment, signal, (client) => saveMemory(client, path, input), choice);
    const { size } = await stat(path);
    memories.push({ entry, node, bytes: size, sha256: await hashOfFile(path) });
    staged.push({ entry, path, bytes: size });
    schemaVersion = Math.max(schemaVersion, await schemaOf(path, size));
  };
  if (stack === null || stack.sharesMemory) await add(MEMORY, null, {});
  else for (const node of stack.nodes) await add(`${NODES}/${node}/${MEMORY}`, node, { node });
  for (const { name } of stack?.members ?? []) {
    if (stack === null) continue;
    const entry = `${NODES}/${name}/${NODE_FILES}`;
    const path = await placeOf(input, entry);
    input.onStep(`Reading the files of ${name}`);
    await saveNodeFiles(stack, name, path, signal);
    staged.push({ entry, path, bytes: (await stat(path)).size });
  }
  return { memories, staged, schemaVersion };
}

async function placeOf({ directory }: BringInput, entry: string): Promise<string> {
  const path = join(directory, entry);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  return path;
}

async function saveMemory(client: Client, path: string, { signal, onStep }: BringInput): Promise<void> {
  const onBytes = (total: number): void => onStep(soFar("Reading the memory", total));
  await writeWhole(path, client.backup({ signal }), { force: true, onBytes });
}

async function hashOfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
}

/** Of its header alone; all of it is verified when the backup is read back. */
async function schemaOf(path: string, size: number): Promise<number> {
  for await (const part of readPackedArchive(createReadStream(path), size)) {
    if (part.part === "header") return part.header.schema_version;
  }
  throw invalid("the archive of the memory is empty");
}

/**
 * Of `tar` where a file was written meanwhile: it has what was there then. docker and kubectl have the same code for a node that they
 * cannot enter: `tar` says why itself.
 */
const CHANGED_MEANWHILE = 1;
const SAID_BY_TAR = /^tar: /m;

/** Milliseconds without a byte: Docker's own SSH connection and kubectl wait for a host that fell silent without an end. */
const QUIET_MS = 5 * 60_000;

/** Home and workspaces as the node, or one of its pods, has them, by a command in its container. INFRA_HOST_UNREACHABLE where that falls silent. */
export async function saveNodeFiles(
  stack: { readonly driver: Pick<DeployedStack["driver"], "enter"> },
  node: string,
  path: string,
  signal: AbortSignal,
  quietMs: number = QUIET_MS,
): Promise<void> {
  const home = CONTAINER.home.slice(1);
  const excluded = HOME_OMITTED.map((name) => `--exclude=${home}/${name}`);
  const argv = ["tar", "-C", "/", ...excluded, "-czf", "-", home, CONTAINER.workspaces.slice(1)];
  const command = await stack.driver.enter(
    { kind: "node", name: node },
    { kind: "exec", argv, terminal: false },
    signal,
  );
  const stalled = new AbortController();
  const timer = setTimeout(() => stalled.abort(), quietMs);
  try {
    const { program, args } = command;
    const running = execa(program, [...args], {
      reject: false,
      stdin: "ignore",
      stdout: ["pipe", { file: path }],
      buffer: { stdout: false },
      cancelSignal: AbortSignal.any([signal, stalled.signal]),
    });
    running.stdout.on("data", () => timer.refresh());
    const result = await running;
    signal.throwIfAborted();
    if (stalled.signal.aborted) {
      throw new InfraError(
        "INFRA_HOST_UNREACHABLE",
        `The files of ${node} cannot be read: its host has fallen silent.`,
        {
          hint: "See whether the host can be reached, and run the command again. No backup was written.",
        },
      );
    }
    if (result.code === "ENOENT") throw toolMissing(program);
    // Also where the program has ended well before its last bytes found no room.
    if (isFull(result)) throw result.cause;
    const isChanged = result.exitCode === CHANGED_MEANWHILE && SAID_BY_TAR.test(result.stderr);
    const isTaken = result.exitCode === 0 || isChanged;
    // With this status docker and kubectl also end where they lose the node in the middle.
    if (isTaken && (await isWholeGzip(path, signal))) return;
    await refuseLost(command, signal);
    const why = isTaken ? "they ended before they were whole" : lastLine(result.stderr);
    throw new InfraError("INFRA_FAILED", `The files of ${node} cannot be read: ${why}.`, {
      hint: "No backup was written. `cairn infra up` brings back a node that does not run; `cairn memory backup` takes the memory alone.",
    });
  } finally {
    clearTimeout(timer);
    await command.close();
  }
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1)?.replace(/[.]$/, "") || "it says nothing";
}
