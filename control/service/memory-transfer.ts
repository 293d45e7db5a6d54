/** The memory as a file, out of the node and into it. */

import type { Client } from "../../runtime/client/index.ts";
import { RuntimeError } from "../../runtime/contracts/errors.ts";
import { UsageError } from "../output/failure.ts";
import { type Progress, startProgress } from "../output/progress.ts";
import type { Terminal } from "../output/terminal.ts";
import { soFar } from "../output/words.ts";
import { counted, openBytes, refuseWrite, STANDARD, writeWhole } from "./byte-files.ts";
import { withNode } from "./connect.ts";
import type { Deployment } from "./deployment.ts";
import { inspectNode } from "./stale-node-file.ts";

export interface Target {
  /** A path, or `-` for standard output. */
  readonly file: string;
  readonly force: boolean;
  readonly json: boolean;
}

export interface Written {
  readonly file: string;
  readonly bytes: number;
}

interface Work {
  readonly deployment: Deployment;
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
  /** See NodeChoice. */
  readonly node?: string | undefined;
}

type Download = (client: Client) => AsyncIterable<Uint8Array>;
type Upload<Result> = (client: Client, bytes: AsyncIterable<Uint8Array>) => Promise<Result>;

/** Writes what the node sends; nothing is left behind when it is not complete. */
export async function saveFromNode(target: Target, work: Work, download: Download): Promise<Written> {
  const { file, force } = target;
  if (file === STANDARD) refuseStandardOutput(target, work.terminal);
  else await refuseWrite(file, force);
  return withProgress(work.terminal, (progress) =>
    withNode(
      work.deployment,
      work.signal,
      async (client) => {
        const onBytes = (total: number): void => progress.update(soFar("Reading", total));
        if (file !== STANDARD) return { file, bytes: await writeWhole(file, download(client), { force, onBytes }) };
        let total = 0;
        for await (const chunk of download(client)) {
          await work.terminal.out(chunk);
          total += chunk.byteLength;
        }
        return { file, bytes: total };
      },
      work,
    ),
  );
}

export async function sendToNode<Result>(file: string, work: Work, upload: Upload<Result>): Promise<Result> {
  const source = await openBytes(file);
  return withProgress(work.terminal, (progress) =>
    withNode(
      work.deployment,
      work.signal,
      (client) =>
        upload(
          client,
          counted(source, (total) => progress.update(soFar("Sending", total))),
        ),
      work,
    ),
  );
}

/** A memory that is in use is not replaced under its agents. */
export async function refuseLiveNode({ home }: Deployment): Promise<void> {
  const state = await inspectNode(home);
  if (state.state !== "running") return;
  throw new RuntimeError("RUNTIME_CONFLICT", `The node is running (process ${state.node.pid}).`, {
    hint: "Stop it with `cairn stop`, restore, and start it again.",
  });
}

function refuseStandardOutput({ json }: Target, terminal: Terminal): void {
  if (json) throw new UsageError("--json and the data cannot both go to standard output.", "Name a file.");
  if (terminal.outIsTerminal) throw new UsageError("Standard output is a terminal.", "Name a file, or pipe it on.");
}

async function withProgress<T>(terminal: Terminal, work: (progress: Progress) => Promise<T>): Promise<T> {
  const progress = startProgress(terminal);
  try {
    return await work(progress);
  } finally {
    await progress.end();
  }
}
