/** `cairn memory restore --check`: reads the archive to its end, and says what a restore would meet. Changes nothing. */

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { loadConfig } from "../../runtime/config/index.ts";
import { verifyPackedArchive } from "../../runtime/files/memory-archive.ts";
import { UsageError } from "../output/failure.ts";
import { soFar } from "../output/words.ts";
import { counted, openBytes, STANDARD } from "../service/byte-files.ts";
import { deployedRecord } from "../service/deployed-stack.ts";
import { type Deployment, inspectWithoutSecrets } from "../service/deployment.ts";
import { type Obstacle, ofMemoryInUse, ofRunningNode, ofSchema } from "./obstacles.ts";

const TOKENS = "api_tokens";

export interface RestoreCheck {
  readonly file: string;
  /** Rows of each section. */
  readonly counts: Readonly<Record<string, number>>;
  readonly tokens: { readonly left_out: number; readonly restored: readonly never[] };
  readonly check: {
    readonly created_at: string;
    /** Of the program that made it. */
    readonly version: string;
    readonly schema_version: number;
    readonly obstacles: readonly Obstacle[];
  };
}

export interface RestoreCheckOptions {
  /** Newest migration of this program; null: unknown. */
  readonly schema: number | null;
  readonly node: string | undefined;
  readonly signal: AbortSignal;
  readonly onStep: (text: string) => void;
}

/** MEMORY_ARCHIVE_INVALID for what is no whole archive; UsageError for standard input, which could be read once only. */
export async function checkMemoryRestore(
  file: string,
  deployment: Deployment,
  { schema, node, signal, onStep }: RestoreCheckOptions,
): Promise<RestoreCheck> {
  if (file === STANDARD) throw new UsageError("--check reads a file.", "Write the archive into one first.");
  await openBytes(file).then((opened) => void opened[Symbol.asyncIterator]().return?.());
  const { size } = await stat(file);
  const bytes = counted(createReadStream(file, { signal }), (total) => onStep(soFar("Reading", total)));
  const { header, sections } = await verifyPackedArchive(bytes, size);
  onStep("Looking at the memory");
  const isDeployed = (await deployedRecord(deployment)) !== null;
  const running = isDeployed ? null : await ofRunningNode(deployment.home);
  const found = [ofSchema(header, schema), running, await ofTarget()];
  const counts = Object.fromEntries(sections.map(({ name, count }) => [name, count]));
  const { [TOKENS]: tokens = 0, ...rows } = counts;
  const { created_at, version, schema_version } = header;
  return {
    file,
    counts: rows,
    tokens: { left_out: tokens, restored: [] },
    check: { created_at, version, schema_version, obstacles: found.filter((one) => one !== null) },
  };

  async function ofTarget(): Promise<Obstacle | null> {
    const { dir, home } = deployment;
    // Where the stack's own nodes have it, the address of its database is not this machine's to know.
    const load = isDeployed ? inspectWithoutSecrets(deployment, signal).then(({ loaded }) => loaded) : null;
    const loaded = load === null ? await loadConfig({ dir, home, signal }) : await load;
    if (loaded === null) return null;
    return ofMemoryInUse(deployment, { config: loaded.config, file: deployment.file }, { signal, node });
  }
}
