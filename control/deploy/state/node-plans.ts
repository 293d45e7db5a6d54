/**
 * `infra/deployed/<node>.json`: what each node was given when it was last seen healthy. A change that fails goes back to it,
 * whatever cairn.yaml says by then. The values of its `.env` are in it, so it is sealed with the stack's passphrase, as the state is.
 */

import { createCipheriv, createDecipheriv, randomBytes, scrypt } from "node:crypto";
import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { z } from "zod";
import type { DeploymentPlan } from "../../../infra/plan/types.ts";
import { writeDurably } from "../../../runtime/files/durable.ts";
import type { InfraFiles } from "../files.ts";

/** A plan with this node alone, and the values of its variables. */
export interface NodePlanCopy {
  readonly plan: DeploymentPlan;
  readonly variables: Readonly<Record<string, string>>;
  /** SHA-256 fingerprint of the certificate that it was given; null without TLS, and where it makes its own. */
  readonly certificate: string | null;
}

interface Deployed {
  readonly plan: DeploymentPlan;
  readonly secrets: { readonly variables: Readonly<Record<string, string>> };
  readonly certificate: string | null;
}

const KEY_BYTES = 32;
const CIPHER = "aes-256-gcm";

/** Base64; `kept_at` is for people who look for what a node had. */
const sealed = z.strictObject({
  schema: z.literal(1),
  kept_at: z.string(),
  salt: z.string(),
  iv: z.string(),
  tag: z.string(),
  data: z.string(),
});

const fileOf = (files: InfraFiles, node: string): string => join(files.deployed, `${node}.json`);

/** Of these nodes of the plan. */
export async function keepNodePlans(
  files: InfraFiles,
  { plan, secrets, certificate }: Deployed,
  nodes: readonly string[],
  now: Date,
): Promise<void> {
  if (nodes.length === 0) return;
  await mkdir(files.deployed, { recursive: true, mode: 0o700 });
  for (const node of plan.nodes.filter(({ name }) => nodes.includes(name))) {
    const variables = Object.fromEntries(
      Object.entries(secrets.variables).filter(([name]) => node.secretVariables.includes(name)),
    );
    // The spread loses which of the three plans it is.
    const copy: NodePlanCopy = { plan: { ...plan, nodes: [node] } as DeploymentPlan, variables, certificate };
    const text = await seal(files, JSON.stringify(copy), now);
    await writeDurably(fileOf(files, node.name), text, { mode: 0o600 });
  }
}

/** Null where the node was never seen healthy, or where the copy cannot be opened: then there is nothing to go back to. */
export async function readNodePlan(files: InfraFiles, node: string): Promise<NodePlanCopy | null> {
  const text = await readFile(fileOf(files, node), "utf8").catch(() => null);
  if (text === null) return null;
  try {
    // `keepNodePlans` wrote it, and the seal says that nothing was changed since.
    return JSON.parse(await open(files, text)) as NodePlanCopy;
  } catch {
    return null;
  }
}

export async function forgetNodePlan(files: InfraFiles, node: string): Promise<void> {
  await rm(fileOf(files, node), { force: true });
}

export async function renameNodePlan(files: InfraFiles, from: string, to: string): Promise<void> {
  await rename(fileOf(files, from), fileOf(files, to)).catch(() => undefined);
}

async function seal(files: InfraFiles, text: string, now: Date): Promise<string> {
  const salt = randomBytes(16);
  const iv = randomBytes(12);
  const cipher = createCipheriv(CIPHER, await keyOf(files, salt), iv);
  const packed = await promisify(gzip)(text);
  const data = Buffer.concat([cipher.update(packed), cipher.final()]);
  const content = { salt, iv, tag: cipher.getAuthTag(), data };
  const texts = Object.entries(content).map(([name, bytes]) => [name, bytes.toString("base64")]);
  return `${JSON.stringify({ schema: 1, kept_at: now.toISOString(), ...Object.fromEntries(texts) })}\n`;
}

async function open(files: InfraFiles, text: string): Promise<string> {
  const parts = sealed.parse(JSON.parse(text));
  const bytes = (name: "salt" | "iv" | "tag" | "data"): Buffer => Buffer.from(parts[name], "base64");
  const decipher = createDecipheriv(CIPHER, await keyOf(files, bytes("salt")), bytes("iv"));
  decipher.setAuthTag(bytes("tag"));
  const packed = Buffer.concat([decipher.update(bytes("data")), decipher.final()]);
  return (await promisify(gunzip)(packed)).toString("utf8");
}

async function keyOf(files: InfraFiles, salt: Buffer): Promise<Buffer> {
  const passphrase = (await readFile(files.passphrase, "utf8")).trim();
  // The type of the promisified function is that of its buffer.
  return (await promisify(scrypt)(passphrase, salt, KEY_BYTES)) as Buffer;
}
