/** `infra/stack.json`: what `up` deployed, so that other commands find it without asking the engine. */

import { readFile, rm } from "node:fs/promises";
import type { DeploymentPlan, NodePlan } from "../../../infra/plan/types.ts";
import { urlOf } from "../../../runtime/contracts/urls.ts";
import { writeDurably } from "../../../runtime/files/durable.ts";
import { type InfraFiles, infraFiles } from "../files.ts";
import { type DeployedNode, type RecordedCertificates, type StackRecord, stackRecord } from "../schemas.ts";

/** Null when nothing is deployed from this directory, or the file cannot be understood: `up` writes it anew. */
export async function readRecord(dir: string): Promise<StackRecord | null> {
  const text = await readFile(infraFiles(dir, "").record, "utf8").catch(() => null);
  if (text === null) return null;
  try {
    return stackRecord.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

export async function writeRecord(files: InfraFiles, record: StackRecord): Promise<void> {
  await writeDurably(files.record, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o644 });
}

export async function removeRecord(files: InfraFiles): Promise<void> {
  await rm(files.record, { force: true });
}

/** The stack's outputs with the addresses that the plan publishes and the certificates that the nodes show. */
export function deployedNodes(
  nodes: readonly Omit<DeployedNode, "url" | keyof RecordedCertificates>[],
  plan: DeploymentPlan,
  certificatesOf: (name: string) => RecordedCertificates,
): DeployedNode[] {
  return nodes.map(({ name, workload, place, image }) => {
    const planned = plan.nodes.find((one) => one.name === name);
    const url = planned ? publishedUrl(planned) : null;
    const { certificate_sha256, next_certificate_sha256 } = certificatesOf(name);
    return { name, workload, place, image, url, certificate_sha256, next_certificate_sha256 };
  });
}

/** As it is reached on the node's own host. */
function publishedUrl({ publish, tls }: NodePlan): string | null {
  return publish === null ? null : urlOf(publish.address, publish.port, tls);
}
