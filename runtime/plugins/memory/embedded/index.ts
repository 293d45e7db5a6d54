import type { Database } from "../../../contracts/database.ts";
import { MemoryError } from "../../../contracts/errors.ts";
import type { Logger } from "../../../contracts/ports.ts";
import { WireDatabase } from "../wire/database.ts";
import { toMemoryError } from "../wire/errors.ts";
import { TransactionScope } from "../wire/scope.ts";
import { EmbeddedConnections } from "./connections.ts";
import { databaseFiles } from "./files.ts";
import { EmbeddedListener } from "./listener.ts";
import { lockStore } from "./lock.ts";
import { Upkeep } from "./upkeep.ts";

export interface EmbeddedSettings {
  /** Directory of the store; made when missing. */
  readonly path: string;
  readonly logger: Logger;
  readonly now?: () => Date;
}

/**
 * The store in this process's own files. MEMORY_STORE_LOCKED while another process has it open; MEMORY_SCHEMA_MISMATCH
 * for files that are incomplete or another version's. The lock is held until `close()`, or until the process ends.
 */
export async function openEmbedded({ path, logger, now = () => new Date() }: EmbeddedSettings): Promise<Database> {
  const lock = await lockStore(path, now()).catch((error: unknown) => {
    throw openError(path, error);
  });
  const scope = new TransactionScope();
  const connections = new EmbeddedConnections(logger);
  const listener = new EmbeddedListener(connections, logger);
  try {
    await scope.outside(async () => {
      const directory = await databaseFiles(path);
      await connections.open(directory, {
        onNotification: (notification) => listener.deliver(notification),
        onReopened: () => void listener.renew(),
      });
    });
  } catch (error) {
    await connections.close();
    await lock.release();
    throw openError(path, error);
  }
  const database: WireDatabase = new WireDatabase({
    backend: "embedded",
    connections,
    listener,
    scope,
    onClosing: () => upkeep.stop(),
    onClosed: () => lock.release(),
  });
  const upkeep = new Upkeep({
    database,
    logger,
    uses: () => connections.uses,
    monotonic: () => performance.now(),
  });
  scope.outside(() => upkeep.start());
  return database;
}

/** What the file system refuses, in words: it names the path and the reason. */
function openError(path: string, error: unknown): MemoryError {
  const translated = toMemoryError(error);
  if (translated.code !== "MEMORY_QUERY_FAILED" && translated.code !== "MEMORY_UNAVAILABLE") return translated;
  if (error instanceof MemoryError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new MemoryError("MEMORY_UNAVAILABLE", `The store ${path} cannot be opened: ${reason}`, { cause: error });
}
