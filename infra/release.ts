/** `infra/release.json`: which image each node runs, and the newest one that was built. */

import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { InfraError } from "../runtime/contracts/errors.ts";
import { codeOf } from "../runtime/contracts/system-errors.ts";
import { writeDurably } from "../runtime/files/durable.ts";
import type { Release } from "./plan/types.ts";

export const RELEASE_FILE = join("infra", "release.json");

const image = z.strictObject({
  id: z
    .string()
    .regex(/^sha256:[0-9a-f]{64}$/)
    .nullable(),
  digest: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._:/-]*@sha256:[0-9a-f]{64}$/i)
    .nullable(),
  reference: z.string().regex(/^[a-z0-9][a-z0-9._:/@-]*$/i),
  version: z.string().min(1),
  revision: z.string().min(1).nullable(),
});

const release = z.strictObject({
  schema: z.literal(1),
  built: image.nullable(),
  nodes: z.record(z.string().regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/), image),
  machines: z.record(z.string(), z.number().int().positive()).optional(),
});

const EMPTY: Release = { schema: 1, built: null, nodes: {} };

/**
 * Of a deployment directory; nothing built and nothing deployed where the file is missing. INFRA_STATE_UNREADABLE when it is
 * there and cannot be understood: taken for an empty one, it would make `up` replace every image.
 */
export async function readRelease(dir: string): Promise<Release> {
  const path = join(dir, RELEASE_FILE);
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return null;
    throw unreadable(path, codeOf(error) ?? "unknown error", error);
  });
  if (text === null) return EMPTY;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw unreadable(path, "it is no JSON", error);
  }
  const result = release.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw unreadable(
    path,
    `${issue?.path.join(".") || "the file"}: ${issue?.message ?? "not as expected"}`,
    result.error,
  );
}

/** In one atomic step. The same release is written as the same bytes. */
export async function writeRelease(dir: string, value: Release): Promise<void> {
  const nodes = Object.fromEntries(Object.entries(value.nodes).sort(([a], [b]) => (a < b ? -1 : 1)));
  const text = `${JSON.stringify(release.parse({ ...value, nodes }), null, 2)}\n`;
  const path = join(dir, RELEASE_FILE);
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeDurably(path, text, { mode: 0o644 });
  } catch (cause) {
    const code = codeOf(cause) ?? "unknown error";
    throw new InfraError(
      code === "ENOSPC" ? "INFRA_DISK_FULL" : "INFRA_FAILED",
      `${path} cannot be written (${code}).`,
      {
        cause,
        hint: "Check the permissions of its directory and the space on its disk.",
      },
    );
  }
}

function unreadable(path: string, reason: string, cause: unknown): InfraError {
  return new InfraError("INFRA_STATE_UNREADABLE", `${path} cannot be used: ${reason}.`, {
    cause,
    hint: "Restore it from the repository's history, or remove it and name the images again with `cairn infra up --image`.",
  });
}
