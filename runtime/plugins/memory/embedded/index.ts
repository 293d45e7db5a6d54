import { join } from "node:path";
import type { Database } from "../../../contracts/database.ts";
import type { Logger } from "../../../contracts/ports.ts";
import { WireDatabase } from "../wire/database.ts";
import { TransactionScope } from "../wire/scope.ts";
import { EmbeddedConnections } from "./connections.ts";
import { EmbeddedListener } from "./listener.ts";
import { lockStore } from "./lock.ts";

export interface EmbeddedSettings {
  /** Directory of the store; made when missing. */
  readonly path: string;
  readonly logger: Logger;
  readonly now?: () => Date;
}

const FILES = "data";

/**
 * The store in this process's own files. MEMORY_STORE_LOCKED while another process has it open. The lock is held until
 * `close()`, or until the process ends.
 */
export async function openEmbedded({ path, logger, now = () => new Date() }: EmbeddedSettings): Promise<Database> {
  const lock = await lockStore(path, now());
  const scope = new TransactionScope();
  const connections = new EmbeddedConnections(join(path, FILES), logger);
  const listener = new EmbeddedListener(connections, logger);
  try {
    await scope.outside(() =>
      connections.open({
        onNotification: (notification) => listener.deliver(notification),
        onReopened: () => void listener.renew(),
      }),
    );
  } catch (error) {
    await connections.close();
    await lock.release();
    throw error;
  }
  return new WireDatabase({ backend: "embedded", connections, listener, scope, onClosed: () => lock.release() });
}
