/** `cairn backup`: the whole deployment in one sealed file, read back before it has its name. docs/decisions/059-whole-backups.md */

import { randomUUID } from "node:crypto";
import { join, resolve } from "node:path";
import { InfraError } from "../../runtime/contracts/errors.ts";
import { loadedConfig } from "../configuration/current.ts";
import { backupsFolder } from "../deploy/backup-deployed.ts";
import { infraFiles } from "../deploy/files.ts";
import { inspectLock, ownIdentity } from "../deploy/state/operator-lock.ts";
import { UsageError } from "../output/failure.ts";
import { soFar } from "../output/words.ts";
import { refuseWrite, removeUnfinished, STANDARD, writeWhole } from "../service/byte-files.ts";
import { openStack } from "../service/deployed-stack.ts";
import type { Deployment } from "../service/deployment.ts";
import { contentsOf } from "./contents.ts";
import { FORMAT, type LeftOut, type Manifest, type Part } from "./manifest.ts";
import { bringAll } from "./memories.ts";
import { pack } from "./pack.ts";
import { openBackup, verifyOnly } from "./read.ts";
import { seal } from "./seal.ts";
import { withWorkDirectory } from "./work.ts";

export interface BackupResult {
  readonly outcome: "written" | "verified";
  readonly file: string;
  /** Of the sealed file. */
  readonly bytes: number;
  readonly created_at: string;
  /** Of the program that made it. */
  readonly version: string;
  readonly schema_version: number;
  readonly target: string;
  readonly backend: "embedded" | "postgres";
  /** Of the deployed stack; null where the node is one of the machine itself. */
  readonly nodes: readonly string[] | null;
  readonly parts: readonly Part[];
  readonly left_out: readonly LeftOut[];
}

export interface BackupOptions {
  /** Undefined: `backups/cairn-<time>.tar.age` of the deployment directory. */
  readonly file: string | undefined;
  readonly force: boolean;
  readonly passphrase: string;
  /** Of this program. */
  readonly version: string;
  readonly signal: AbortSignal;
  readonly onStep: (text: string) => void;
}

const SUFFIX = ".tar.age";
const IS_READ_BACK = "Name a file: it is read back before the command ends.";

/**
 * UsageError where the file cannot be written; RUNTIME_CONFLICT while another backup is made; errors of `bringAll`, of the configuration and
 * of the file system. Nothing is left behind where it fails.
 */
export async function createBackup(deployment: Deployment, options: BackupOptions): Promise<BackupResult> {
  const { passphrase, version, signal, onStep, force } = options;
  if (options.file === STANDARD) throw new UsageError("A backup is not written to standard output.", IS_READ_BACK);
  const { config } = await loadedConfig(deployment, signal);
  const file = resolve(options.file ?? (await defaultFile(deployment)));
  await refuseWrite(file, force);
  const stack = await openStack(deployment, signal);
  if (stack !== null) await refuseOperation(deployment, stack.record.stack);
  return withWorkDirectory(deployment, async (directory) => {
    // In a directory that is named, such as a disk of the network, others may be another machine's, being written.
    await removeUnfinished(file, (name) => options.file === undefined && name.endsWith(SUFFIX));
    const { memories, staged, schemaVersion } = await bringAll({ deployment, stack, directory, onStep, signal });
    const { dir, home } = deployment;
    const contents = await contentsOf({ dir, home, config, file });
    const manifest: Manifest = {
      cairn_backup: FORMAT,
      id: randomUUID(),
      version,
      schema_version: schemaVersion,
      created_at: new Date().toISOString(),
      deployment: {
        target: config.deployment.target,
        backend: config.memory.backend,
        nodes: stack === null ? null : [...stack.nodes],
        directory: dir,
        home,
      },
      memories: [...memories],
    };
    const packed = pack({ ...contents, manifest, staged, leftOut: [...contents.leftOut], signal });
    let result: BackupResult | undefined;
    await writeWhole(file, seal(packed, passphrase), {
      force,
      onBytes: (total) => onStep(soFar("Writing", total)),
      check: async (path) => {
        result = { ...(await verifyBackup(path, options)), outcome: "written", file };
      },
    });
    if (result === undefined) throw new Error("the backup was not read back");
    return result;
  });
}

/** Reads all of it, and touches nothing. MEMORY_ARCHIVE_INVALID as of `openBackup`. */
export async function verifyBackup(
  file: string,
  { passphrase, signal, onStep }: Pick<BackupOptions, "passphrase" | "signal" | "onStep">,
): Promise<BackupResult> {
  let bytes = 0;
  const onBytes = (total: number): void => {
    bytes = total;
    onStep(soFar("Reading back", total));
  };
  const opened = await openBackup(file, { passphrase, signal, onBytes });
  try {
    const { parts, left_out } = await opened.read(verifyOnly);
    return { outcome: "verified", file, bytes, ...aboutBackup(opened.manifest), parts, left_out };
  } finally {
    await opened.close();
  }
}

export function aboutBackup({
  created_at,
  version,
  schema_version,
  deployment: { target, backend, nodes },
}: Manifest): Pick<BackupResult, "created_at" | "version" | "schema_version" | "target" | "backend" | "nodes"> {
  return { created_at, version, schema_version, target, backend, nodes };
}

async function defaultFile({ dir }: Deployment): Promise<string> {
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, "");
  return join(await backupsFolder(dir), `cairn-${time}${SUFFIX}`);
}

/** INFRA_LOCKED while a command changes the stack: its state would be half of before and half of after. */
async function refuseOperation({ dir }: Deployment, stack: string): Promise<void> {
  const lock = await inspectLock(infraFiles(dir, stack).lock, await ownIdentity());
  if (lock.state !== "held") return;
  throw new InfraError("INFRA_LOCKED", `\`cairn ${lock.holder?.command ?? "infra"}\` is changing the stack.`, {
    hint: "Make the backup when it is done.",
  });
}
