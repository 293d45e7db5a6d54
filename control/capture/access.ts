/** What the hook may do at the node: a token of its own, for nothing but capture. */

import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import {
  capturePaths,
  nodeAddress,
  readCaptureSettings,
  writeCaptureSettings,
} from "../../runtime/client/hook/settings.ts";
import { type CaptureClient, createCaptureClient, type SpoolProblem } from "../../runtime/client/index.ts";
import { makeOwnHome } from "../../runtime/config/home.ts";
import { RuntimeError } from "../../runtime/contracts/errors.ts";
import { isActive } from "../../runtime/contracts/tokens.ts";
import { endpointOf, withNode } from "../service/connect.ts";
import type { Deployment } from "../service/deployment.ts";
import { inspectNode } from "../service/stale-node-file.ts";

export interface GivenAccess {
  /** A node on another machine. */
  readonly url: string;
  readonly token: string;
}

const DEFAULT_URL = "http://127.0.0.1:7433";
/** A person waits and can interrupt: longer than a hook would. */
const TIMEOUT_MS = 60_000;

/**
 * Sees to it that the hook has an address and a token. The stored token is kept while the node still accepts it; otherwise a
 * token is made at the deployment's node, which is started for that when none runs. Answers the address.
 */
export async function ensureAccess(
  deployment: Deployment,
  given: GivenAccess | null,
  signal: AbortSignal,
): Promise<string> {
  // Before its first token: a home that no node has made yet has nothing that keeps it from git.
  makeOwnHome(deployment.home, deployment.dir);
  if (given !== null) {
    const settings = { version: 1, base_url: given.url, local: false, token_id: null } as const;
    await writeCaptureSettings(deployment.home, settings, given.token);
    return given.url;
  }
  const stored = await readCaptureSettings(deployment.home);
  return withNode(deployment, signal, async (client) => {
    const base_url = await localUrl(deployment);
    const valid =
      stored?.token_id != null &&
      (await client.listTokens({ signal })).some((one) => one.id === stored.token_id && isActive(one, new Date()));
    if (stored !== null && valid) {
      await writeCaptureSettings(
        deployment.home,
        { version: 1, base_url, local: true, token_id: stored.token_id },
        stored.token,
      );
      return base_url;
    }
    const name = `capture on ${hostname()} (${randomBytes(3).toString("hex")})`;
    const { id, token } = await client.createToken(name, ["capture"], { signal });
    await writeCaptureSettings(deployment.home, { version: 1, base_url, local: true, token_id: id }, token);
    return base_url;
  });
}

/** Best effort: the files are removed in any case; an unreachable node keeps a token whose only copy is gone. */
export async function revokeAccess(deployment: Deployment, signal: AbortSignal): Promise<boolean> {
  const stored = await readCaptureSettings(deployment.home);
  const id = stored?.token_id;
  if (id == null) return false;
  try {
    await withNode(deployment, signal, (client) => client.revokeToken(id, { signal }));
    return true;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

/** The client of the hook's own spool. RUNTIME_INVALID_REQUEST when nothing is installed. */
export async function hookClient(home: string, onProblem: (problem: SpoolProblem) => void): Promise<CaptureClient> {
  const settings = await readCaptureSettings(home);
  if (settings === null) {
    throw new RuntimeError("RUNTIME_INVALID_REQUEST", "Capture is not installed for this home directory.", {
      hint: "Run `cairn capture install claude-code` (or codex, opencode) first.",
    });
  }
  return createCaptureClient({
    ...(await nodeAddress(home, settings)),
    token: settings.token,
    spoolDirectory: capturePaths(home).spool,
    timeoutMs: TIMEOUT_MS,
    onProblem,
  });
}

/** Where this home's node listens when it runs. */
async function localUrl(deployment: Deployment): Promise<string> {
  const state = await inspectNode(deployment.home);
  return state.state === "running" ? state.node.url : ((await endpointOf(deployment))?.url ?? DEFAULT_URL);
}
