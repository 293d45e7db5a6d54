/** A call of a web tool: its deadline, its connections, and what became of it when it failed, in words of ours. */

import type { Agent } from "undici";
import { ToolError } from "../../../../contracts/errors.ts";
import { codeOf } from "../../../../contracts/system-errors.ts";
import type { NetworkPolicy } from "../../../../domain/web/network-policy.ts";
import { AddressRefused, openGuardedAgent } from "./guarded-agent.ts";
import type { WebNetwork } from "./network.ts";

export interface WebCall {
  readonly policy: NetworkPolicy;
  readonly network: WebNetwork;
  readonly timeoutMs: number;
  /** Setting by which the owner allows a host. */
  readonly setting: string;
  readonly signal: AbortSignal | undefined;
}

const TIMEOUTS: ReadonlySet<string> = new Set([
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
  "ETIMEDOUT",
]);
const CERTIFICATES = /^(?:CERT_|ERR_TLS_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_SSL_|EPROTO$)/;
const COMPRESSION = /^(?:Z_|ERR_BROTLI|ERR__ERROR_|ERR_ZSTD|ZSTD_)/;
const NO_HTTP = /^(?:HPE_|UND_ERR_(?:HEADERS_OVERFLOW|RES_CONTENT_LENGTH|INFO))/;

/**
 * Runs `use` with connections that end with it, and a signal that carries the caller's and the deadline. Rejects at once when
 * either comes. TOOL_REFUSED, TOOL_TIMEOUT, TOOL_UNAVAILABLE, TOOL_ABORTED, TOOL_FAILED; errors of ours pass unchanged.
 */
export async function webCall<T>(call: WebCall, use: (agent: Agent, signal: AbortSignal) => Promise<T>): Promise<T> {
  const deadline = AbortSignal.timeout(call.timeoutMs);
  const signal = call.signal === undefined ? deadline : AbortSignal.any([call.signal, deadline]);
  const agent = await openGuardedAgent({ ...call, signal });
  try {
    return await orAborted(use(agent, signal), signal);
  } catch (error) {
    throw call.signal?.aborted
      ? new ToolError("TOOL_ABORTED", "The call was stopped before it had ended.")
      : deadline.aborted
        ? new ToolError("TOOL_TIMEOUT", `There was no whole answer within ${call.timeoutMs / 1_000} s.`)
        : asToolError(error, call.setting);
  } finally {
    await agent.destroy();
  }
}

/** Looking up a name cannot be aborted: what waits for it can. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const done = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true, signal: done.signal });
  });
  work.catch(() => undefined);
  try {
    return await Promise.race([work, aborted]);
  } finally {
    done.abort();
  }
}

function asToolError(cause: unknown, setting: string): unknown {
  if (cause instanceof ToolError) return cause;
  if (cause instanceof AddressRefused) {
    return new ToolError("TOOL_REFUSED", `${cause.host} is refused: its address is of ${cause.range}.`, {
      cause,
      hint: `Only the public internet is reached, and what the owner allows by ${setting}.`,
    });
  }
  const code = codeOf(cause) ?? "";
  if (TIMEOUTS.has(code)) return new ToolError("TOOL_TIMEOUT", "The server does not answer.", { cause });
  if (code === "ENOTFOUND") return new ToolError("TOOL_FAILED", "There is no host of this name.", { cause });
  if (CERTIFICATES.test(code))
    return new ToolError("TOOL_FAILED", `The server's certificate is not trusted (${code}).`, { cause });
  if (COMPRESSION.test(code)) return new ToolError("TOOL_FAILED", "The answer's compression is broken.", { cause });
  if (NO_HTTP.test(code)) return new ToolError("TOOL_FAILED", `The answer is no valid HTTP (${code}).`, { cause });
  if (code !== "") return new ToolError("TOOL_UNAVAILABLE", `The server cannot be reached (${code}).`, { cause });
  return cause;
}
