/** Another address for a new node where something has the usual port of this machine. */

import type { Environment } from "../../../runtime/config/index.ts";
import { isFreePort } from "../../service/free-port.ts";

export const USUAL_LISTEN = "127.0.0.1:7433";

const HOST = "127.0.0.1";
const FIRST = 7433;
/** Ports that are tried: nobody has so many nodes. */
const TRIED = 20;

/** Undefined where the usual address is free, where SERVICE_LISTEN stands in place of it, and where no port near it is free. */
export async function otherListen(env: Environment): Promise<string | undefined> {
  if (env["SERVICE_LISTEN"]) return undefined;
  for (let port = FIRST; port < FIRST + TRIED; port++) {
    if (await isFreePort({ host: HOST, port })) return port === FIRST ? undefined : `${HOST}:${port}`;
  }
  return undefined;
}
