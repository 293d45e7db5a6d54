/**
 * Tries what a start would fail at, beside a node that runs and without touching what that one has: certificate, port, database
 * and its schema. The configuration itself, with its secrets, has been read by then.
 */

import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { checkSchema } from "../app/migrate.ts";
import type { LoadedConfig } from "../config/index.ts";
import { RuntimeError } from "../contracts/errors.ts";
import type { Logger } from "../contracts/ports.ts";
import { codeOf } from "../contracts/system-errors.ts";
import { MIGRATIONS, openDatabase } from "./database.ts";
import { homePaths } from "./home.ts";
import { loadIdentity } from "./identity.ts";
import { checkOwnCertificate } from "./own-certificate.ts";
import { givenCertificate, listenAddress } from "./settings.ts";

/** What the trial meets is in its error, and the log is the running node's. */
const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };

export interface RehearsalOptions {
  /** Port of the node that runs: it will be free. */
  readonly ownPort: number | null;
  /** Version of Cairn. */
  readonly release: string;
}

/** Rejects with the error that the start would report. The embedded store has one opener, and is left alone. */
export async function rehearse(loaded: LoadedConfig, { ownPort, release }: RehearsalOptions): Promise<void> {
  if (loaded.config.runtime.tls === "auto") await checkOwnCertificate(homePaths(loaded.home));
  else await givenCertificate(loaded);
  const listen = listenAddress(loaded);
  if (listen.port !== 0 && listen.port !== ownPort) await tryPort(listen);
  if (!loaded.config.memory.postgres) return;
  const { nodeKey } = homePaths(loaded.home);
  // The node that runs is the one that this will be.
  const node = existsSync(nodeKey) ? (await loadIdentity(nodeKey, "")).id : "";
  const database = await openDatabase(loaded.config, quiet);
  try {
    await checkSchema(database, { directory: MIGRATIONS, node, release });
  } finally {
    await database.close();
  }
}

async function tryPort({ host, port }: { readonly host: string; readonly port: number }): Promise<void> {
  const server = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen({ host, port, exclusive: true }, resolve);
    });
  } catch (error) {
    throw new RuntimeError("RUNTIME_START_FAILED", `${host}:${port} cannot be listened on (${codeOf(error)}).`, {
      cause: error,
      hint: "Set runtime.listen in cairn.yaml (or SERVICE_LISTEN) to another HOST:PORT, or end what listens there.",
    });
  }
  await new Promise((resolve) => server.close(resolve));
}
