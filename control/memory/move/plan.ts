/** From where to where a memory is moved: the configuration of either side, and what is to become of cairn.yaml. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type Config, loadConfig } from "../../../runtime/config/index.ts";
import { ConfigError } from "../../../runtime/contracts/errors.ts";
import { writeDurably } from "../../../runtime/files/durable.ts";
import { loadedConfig } from "../../configuration/current.ts";
import { planEdit } from "../../configuration/edit.ts";
import type { Deployment } from "../../service/deployment.ts";
import { applyChanges, memorySettings } from "../../wizard/settings.ts";

export const BACKENDS = ["postgres", "embedded"] as const;
export type Backend = (typeof BACKENDS)[number];

export interface Side {
  readonly backend: Backend;
  /** A copy of the configuration that opens this store. */
  readonly file: string;
  readonly config: Config;
}

export interface MovePlan {
  readonly source: Side;
  readonly target: Side;
  /** What cairn.yaml says, and is to say; null where it names the target already. */
  readonly change: { readonly expected: string; readonly text: string } | null;
}

/** In the home: the archive, the two configurations and the note of how far it is. All are private. */
export function moveDirectory({ home }: Pick<Deployment, "home">): string {
  return join(home, "run", "move");
}

export function otherThan(backend: Backend): Backend {
  return backend === "postgres" ? "embedded" : "postgres";
}

function settingsOf(backend: Backend, store: string | null): ReturnType<typeof memorySettings> {
  if (backend === "postgres" || store === null) return memorySettings({ memory: backend });
  return [{ path: ["memory", "embedded"], value: { path: store } }];
}

/** The backend that cairn.yaml names. Errors as `loadedConfig`. */
export async function currentBackend(deployment: Deployment, signal: AbortSignal): Promise<Backend> {
  return (await loadedConfig(deployment, signal)).config.memory.backend;
}

/**
 * `store` is the path of the embedded store that an earlier run has moved, where cairn.yaml does not name it any more. CONFIG_INVALID
 * where the address of the server is not set, or the other backend makes no valid configuration.
 */
export async function planMove(
  deployment: Deployment,
  to: Backend,
  { store, signal }: { readonly store: string | null; readonly signal: AbortSignal },
): Promise<MovePlan> {
  const now = await currentBackend(deployment, signal);
  const other = otherThan(now);
  const edit = await planEdit(
    deployment,
    (document) => applyChanges(document, memorySettings({ memory: now }), settingsOf(other, store)),
    { signal },
  );
  if (edit.missing.includes("SERVICE_PG_URL")) {
    throw new ConfigError("CONFIG_INVALID", "SERVICE_PG_URL, the address of the PostgreSQL database, is not set.", {
      hint: "Write SERVICE_PG_URL=postgres://USER:PASSWORD@HOST/DATABASE into .env, and run this again.",
    });
  }
  const directory = moveDirectory(deployment);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const side = async (backend: Backend): Promise<Side> => {
    const file = join(directory, `${backend}.yaml`);
    await writeDurably(file, backend === now ? edit.before : edit.after, { mode: 0o600 });
    const { config } = await loadConfig({ dir: deployment.dir, home: deployment.home, file, signal });
    return { backend, file, config };
  };
  const [source, target] = [await side(otherThan(to)), await side(to)];
  return { source, target, change: now === to ? null : { expected: edit.before, text: edit.after } };
}
