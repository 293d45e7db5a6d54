/** A backup of the memory of a deployed stack, through one of its nodes. */

import { createClient } from "../../runtime/client/index.ts";
import { writeWhole } from "../service/byte-files.ts";
import { type Deployment, readToken } from "../service/deployment.ts";
import type { TargetDriver } from "./driver.ts";

export interface DeployedBackup {
  /** Where to; must not be there yet. */
  readonly file: string;
  readonly node: string;
  readonly deployment: Deployment;
  readonly driver: TargetDriver;
  readonly signal: AbortSignal;
}

/** Path of the file, which is complete. Nothing is left behind when it cannot be. */
export async function backupDeployed({ file, node, deployment, driver, signal }: DeployedBackup): Promise<string> {
  const connection = await driver.connect(node, signal);
  try {
    const token = await readToken(deployment);
    const client = createClient({ baseUrl: connection.url, ...(token === undefined ? {} : { token }) });
    await writeWhole(file, client.backup({ signal }), { force: false });
    return file;
  } finally {
    await connection.close();
  }
}
