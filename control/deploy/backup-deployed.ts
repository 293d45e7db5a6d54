/** A backup of the memory of a deployed stack, through one of its nodes. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { writeWhole } from "../service/byte-files.ts";
import { type Deployment, readToken } from "../service/deployment.ts";
import { clientOf, recordedPin } from "../service/node-client.ts";
import type { TargetDriver } from "./driver.ts";
import { readRecord } from "./operations/record.ts";

export interface DeployedBackup {
  /** Where to; must not be there yet. */
  readonly file: string;
  readonly node: string;
  readonly deployment: Deployment;
  readonly driver: TargetDriver;
  readonly signal: AbortSignal;
}

/** Where backups of a deployment go that name no file: a folder of which git takes nothing, since it has the whole memory. */
export async function backupsFolder(dir: string): Promise<string> {
  const folder = join(dir, "backups");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, ".gitignore"), "*\n", { mode: 0o600 });
  return folder;
}

/** Path of the file, which is complete. Nothing is left behind when it cannot be. */
export async function backupDeployed({ file, node, deployment, driver, signal }: DeployedBackup): Promise<string> {
  const connection = await driver.connect(node, signal);
  try {
    const [token, record] = await Promise.all([readToken(deployment), readRecord(deployment.dir)]);
    const client = clientOf({ url: connection.url, certificate: recordedPin(record, node) }, { token });
    await writeWhole(file, client.backup({ signal }), { force: false });
    return file;
  } finally {
    await connection.close();
  }
}
