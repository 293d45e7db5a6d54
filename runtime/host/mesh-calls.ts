/** Requests of this node to others about the mesh itself: with the token of a peer, or before there is one. */

import { connect } from "node:tls";
import type { MeshCalls } from "../app/mesh/gossip.ts";
import { call, connectionTo } from "../client/http.ts";
import type { PeerClients } from "../client/peer.ts";
import { CairnError, RuntimeError } from "../contracts/errors.ts";

const JOIN_MS = 30_000;
/** Bytes: all members of a full mesh, each with a hundred agents and a long chain. */
const LONGEST_JOIN = 64 * 1024 * 1024;

export function createMeshCalls(peers: PeerClients): MeshCalls {
  return {
    // Rejects, also where the entry names no address that may be called: one such member must not keep others from being told.
    gossip: async (to, url, body, signal) =>
      peers.to({ ...to, address: url }).call("/api/mesh/gossip", { method: "POST", json: body, signal }),
    revocation: async (to, url, node, signal) => {
      const { revocation } = await peers
        .to({ ...to, address: url })
        .call<{ revocation: unknown }>(`/api/mesh/revocations/${node}`, { signal });
      return revocation;
    },
    async join(url, pins, body, signal) {
      const unreachableHint = "Look whether the node runs (`cairn status` there), and at the address and the port.";
      const connection = connectionTo({
        baseUrl: url,
        certificate: pins,
        timeoutMs: JOIN_MS,
        longestAnswer: LONGEST_JOIN,
        unreachableHint,
      });
      try {
        return await call(connection, "/api/mesh/join", { method: "POST", json: body, signal });
      } catch (error) {
        if (!(error instanceof CairnError) || error.code !== "RUNTIME_CERTIFICATE_REFUSED") throw error;
        throw (await isAnother(url, pins, signal)) ? otherNode(url, error) : error;
      }
    },
    certificateAt,
  };
}

/** Whether somebody else answers than the node of the certificates; false where it is that one, and its certificate has expired. */
async function isAnother(url: string, pins: readonly string[], signal: AbortSignal): Promise<boolean> {
  const shown = await certificateAt(url, signal).catch(() => null);
  signal.throwIfAborted();
  return shown !== null && !pins.includes(shown);
}

function otherNode(url: string, cause: Error): RuntimeError {
  return new RuntimeError(
    "RUNTIME_CERTIFICATE_REFUSED",
    `Not the node that made the token answers at ${url}: its certificate is none of those that the token names.`,
    { hint: "Give the address of that node, or a token of the one that answers: `cairn mesh token` there.", cause },
  );
}

/** The caller compares it with those of members before anything is sent. */
function certificateAt(url: string, signal: AbortSignal): Promise<string> {
  const { hostname, port, protocol } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  return new Promise((resolve, reject) => {
    if (protocol !== "https:") {
      reject(new RuntimeError("RUNTIME_CERTIFICATE_REFUSED", `${url} is an address without TLS.`));
      return;
    }
    signal.throwIfAborted();
    const socket = connect({ host, port: port === "" ? 443 : Number(port), rejectUnauthorized: false });
    const end = (finish: () => void): void => {
      signal.removeEventListener("abort", onAbort);
      socket.destroy();
      finish();
    };
    const onAbort = (): void => end(() => reject(signal.reason));
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("secureConnect", () => {
      const shown = socket.getPeerX509Certificate();
      end(() => (shown === undefined ? reject(new Error("no certificate is shown")) : resolve(shown.fingerprint256)));
    });
    socket.once("error", (error) => end(() => reject(error)));
  });
}
