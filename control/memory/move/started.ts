/** The note of a move that has begun to restore: what is in the target then may be its own, and it may only want its last step. */

import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { writeDurably } from "../../../runtime/files/durable.ts";
import { type Manifest, sections } from "./manifest.ts";
import { BACKENDS, type Backend } from "./plan.ts";

/** Its name in the directory of the move. */
export const STARTED = "started";

export interface Started {
  readonly to: Backend;
  /** Of the source, when its archive was taken. */
  readonly manifest: Manifest;
  /** Path of the embedded store that is moved; null where the source is a server. */
  readonly store: string | null;
  /** The target holds what the source does: what is left are the configuration and the name of the store. */
  readonly compared: boolean;
}

const shape = z.object({
  to: z.enum(BACKENDS),
  manifest: sections,
  store: z.string().nullable(),
  compared: z.boolean(),
});

/** Null where there is none, or one of a move the other way. */
export async function readStarted(directory: string, to: Backend): Promise<Started | null> {
  const text = await readFile(join(directory, STARTED), "utf8").catch(() => null);
  if (text === null) return null;
  const started = shape.parse(JSON.parse(text));
  return started.to === to ? started : null;
}

export async function writeStarted(directory: string, started: Started): Promise<void> {
  await writeDurably(join(directory, STARTED), `${JSON.stringify(started)}\n`, { mode: 0o600 });
}

export async function forgetStarted(directory: string): Promise<void> {
  await rm(join(directory, STARTED), { force: true });
}
