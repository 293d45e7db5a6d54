/**
 * What nodes show that make their certificate themselves (`runtime.tls: auto`): read from `run/node.json` in their containers, by the
 * target's own way, and never taken from the network. Written into `infra/stack.json`.
 */

import { execa } from "execa";
import { z } from "zod";
import { CONTAINER } from "../../../infra/plan/types.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import type { TargetDriver } from "../driver.ts";
import type { ObservedNode } from "../inspection.ts";
import { refuseLost } from "../part-commands.ts";
import { readRecord, writeRecord } from "./record.ts";
import type { ReadProject } from "./services.ts";
import type { Session } from "./session.ts";

/** Milliseconds for a target to hand over a file of a few lines. */
const TIMEOUT_MS = 30_000;

const fingerprint = z.string().regex(/^[0-9A-F]{2}(:[0-9A-F]{2}){31}$/);
const announced = z.object({
  certificate_sha256: fingerprint,
  next_certificate_sha256: fingerprint.nullable().default(null),
});

export type ShownCertificate = z.infer<typeof announced>;

/** Whether the node is given none, and serves TLS. */
export function makesOwnCertificate({ plan, certificate }: Pick<ReadProject, "plan" | "certificate">, name: string) {
  return certificate === null && plan.nodes.some((node) => node.name === name && node.tls);
}

/** Of those of `nodes` that are healthy. INFRA_FAILED, INFRA_HOST_UNREACHABLE where one cannot be asked: no command would reach it. */
export async function recordOwnCertificates(
  { run, files, driver }: Pick<Session, "run" | "files" | "driver">,
  project: ReadProject,
  nodes: readonly string[],
  observed: readonly ObservedNode[],
): Promise<void> {
  const healthy = observed.filter(({ name, health }) => nodes.includes(name) && health === "healthy");
  const asked = healthy.map(({ name }) => name).filter((name) => makesOwnCertificate(project, name));
  if (asked.length === 0) return;
  const shown = new Map(
    await Promise.all(asked.map(async (name) => [name, await ask(driver, name, run.signal)] as const)),
  );
  const record = await readRecord(run.dir);
  if (record === null) return;
  await writeRecord(files, { ...record, nodes: record.nodes.map((node) => ({ ...node, ...shown.get(node.name) })) });
}

async function ask(driver: TargetDriver, node: string, signal: AbortSignal): Promise<ShownCertificate> {
  const argv = ["cat", `${CONTAINER.home}/run/node.json`];
  const command = await driver.enter({ kind: "node", name: node }, { kind: "exec", argv, terminal: false }, signal);
  try {
    const { program, args } = command;
    const result = await execa(program, [...args], {
      reject: false,
      stdin: "ignore",
      timeout: TIMEOUT_MS,
      cancelSignal: signal,
    });
    signal.throwIfAborted();
    if (result.failed) {
      await refuseLost(command, signal);
      throw unknown(node, result.timedOut ? "its host does not answer in time" : lastLine(result.stderr));
    }
    const { data } = announced.safeParse(parsed(result.stdout));
    if (data === undefined) throw unknown(node, "it says of none");
    return data;
  } finally {
    await command.close();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function unknown(node: string, why: string): InfraError {
  return new InfraError("INFRA_FAILED", `It cannot be learned which certificate ${node} shows: ${why}.`, {
    hint: "The node runs. Run the same command again: commands refuse a certificate that is not recorded.",
  });
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1)?.replace(/[.]$/, "") || "the target says nothing";
}
