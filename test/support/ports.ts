import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ports that Linux, macOS and Windows hand out by themselves, above those of well-known services. */
const FROM = 20_000;
const TO = 32_000;

/**
 * A port of the loopback on which nobody listens. Something else hardly takes it before it is used, or between two uses:
 * connections and servers that ask for any port get higher ones, and whoever asks here gets one of 12,000 by chance.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FROM, TO);
    if (await canListen(port)) return port;
  }
}

/** A port at which connections are refused. */
export const closedPort = freePort;

async function canListen(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return true;
  } catch {
    return false;
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}
