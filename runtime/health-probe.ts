/**
 * `node runtime/health-probe.js [MILLISECONDS]`: exits 0 when the node of SERVICE_HOME is ready, else 1 with the reason. For
 * engines that run a command inside the container; it loads next to nothing, because they run it every few seconds.
 */

import { readFileSync } from "node:fs";
import { request as plain } from "node:http";
import { request as encrypted } from "node:https";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { TLSSocket } from "node:tls";

/** How long the answer may take, where nothing else is said. */
const DEADLINE_MS = 4_000;

try {
  await ask(readNode());
} catch (error) {
  process.stderr.write(`not ready: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

/** Where the node listens and which certificate it shows, as it says itself: scheme and port are its own to choose. */
function readNode(): { readonly url: URL; readonly pin: string | null } {
  const home = process.env["SERVICE_HOME"] || join(homedir(), ".cairn");
  const { url, certificate_sha256: pin }: { url?: unknown; certificate_sha256?: unknown } = JSON.parse(
    readFileSync(join(home, "run", "node.json"), "utf8"),
  );
  if (typeof url !== "string") throw new Error("the node does not say where it listens");
  return { url: new URL("/health/ready", url), pin: typeof pin === "string" ? pin : null };
}

function ask({ url, pin }: ReturnType<typeof readNode>): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { agent: false as const, signal: AbortSignal.timeout(Number(process.argv[2]) || DEADLINE_MS) };
    const answer = (response: { statusCode?: number | undefined; resume(): unknown }): void => {
      response.resume();
      if (response.statusCode === 200) resolve();
      else reject(new Error(`${url.pathname} answers ${response.statusCode}`));
    };
    // It is this machine's own loopback; the certificate carries other names. The pin says whether it is the node's. Its
    // time does not count: a restart, which is what engines do with a node that is not ready, renews no certificate.
    const sent =
      url.protocol === "https:"
        ? encrypted(url, { ...options, rejectUnauthorized: false }, answer)
        : plain(url, options, answer);
    sent.on("error", reject).on("socket", (socket) => {
      if (pin === null || !(socket instanceof TLSSocket)) return;
      socket.once("secureConnect", () => {
        if (socket.getPeerX509Certificate()?.fingerprint256 === pin) return;
        socket.destroy(new Error(`another certificate than the node's is shown at ${url.origin}`));
      });
    });
    sent.end();
  });
}
