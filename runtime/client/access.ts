/** The routes over who may use a node as functions: tokens of clients, people on chat platforms, and tools of MCP servers. */

import type { ApprovalPage, DecidedApproval, PendingApproval, StandingApproval } from "../contracts/approvals.ts";
import type { PairingRecord } from "../contracts/pairing.ts";
import { type Connection, call } from "./http.ts";
import type { CallOptions, TokenRecord } from "./types.ts";

/** RUNTIME_NOT_FOUND where there is no such token, code or person. */
export interface AccessCalls {
  createToken(
    name: string,
    scopes: readonly string[],
    options?: ExpiryOptions,
  ): Promise<{ readonly id: string; readonly token: string }>;
  listTokens(options?: CallOptions): Promise<readonly TokenRecord[]>;
  /** By id or name; without `expiresAt` it ends when it did before. The former value ends. */
  rotateToken(idOrName: string, options?: ExpiryOptions): Promise<RotatedToken>;
  /** By id or name. */
  revokeToken(idOrName: string, options?: CallOptions): Promise<{ readonly id: string; readonly name: string }>;
  pairings(options?: CallOptions): Promise<readonly PairingRecord[]>;
  approvePairing(code: string, options?: CallOptions): Promise<PairingRecord>;
  revokePairing(channel: string, user: string, options?: CallOptions): Promise<PairingRecord>;
  /** Calls that wait for the owner's word; at most `limit`, after the id `after`. */
  approvals(query: ApprovalQuery, options?: CallOptions): Promise<ApprovalPage<PendingApproval>>;
  standingApprovals(query: ApprovalQuery, options?: CallOptions): Promise<ApprovalPage<StandingApproval>>;
  /** By id, or its last eight digits. RUNTIME_CONFLICT where it does not wait any more. */
  decide(id: string, decision: ApprovalDecision, options?: CallOptions): Promise<DecidedApproval>;
  revokeApproval(id: string, options?: CallOptions): Promise<StandingApproval>;
  /** Tools of an MCP server that are withheld because they have changed. */
  changedMcpTools(server: string, options?: CallOptions): Promise<ChangedMcpTools>;
  /** They are offered as they were seen: `digest` is that of the changes. */
  approveMcpTools(server: string, digest: string, options?: CallOptions): Promise<ApprovedMcpTools>;
}

export interface ApprovalQuery {
  readonly limit: number;
  readonly after?: string | undefined;
}

export type ApprovalDecision =
  | { readonly decision: "approve"; readonly always: boolean }
  | { readonly decision: "deny" };

export interface ChangedMcpTools {
  readonly server: string;
  /** Null where none has changed. */
  readonly digest: string | null;
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    readonly parameters: Readonly<Record<string, unknown>>;
  }[];
}

export interface ApprovedMcpTools {
  readonly server: string;
  /** Tools that had changed. */
  readonly approved: number;
}

export interface ExpiryOptions extends CallOptions {
  readonly expiresAt?: Date | undefined;
}

export interface RotatedToken {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expires_at: string | null;
  readonly token: string;
}

export function accessCalls(connection: Connection): AccessCalls {
  const tokens = "/api/admin/tokens";
  const pairings = "/api/admin/pairings";
  const approvals = "/api/approvals";
  const pageOf = ({ limit, after }: ApprovalQuery) =>
    `?${new URLSearchParams({ limit: `${limit}`, ...(after === undefined ? {} : { after }) })}`;
  const expiry = (expiresAt: Date | undefined) => (expiresAt ? { expires_at: expiresAt.toISOString() } : {});
  return {
    createToken: (name, scopes, { expiresAt, ...given } = {}) =>
      call(connection, tokens, { method: "POST", json: { name, scopes, ...expiry(expiresAt) }, ...given }),
    listTokens: async (given) => (await call<{ tokens: readonly TokenRecord[] }>(connection, tokens, given)).tokens,
    rotateToken: (idOrName, { expiresAt, ...given } = {}) =>
      call(connection, `${tokens}/${encodeURIComponent(idOrName)}/rotate`, {
        method: "POST",
        json: expiry(expiresAt),
        ...given,
      }),
    revokeToken: (idOrName, given) =>
      call(connection, `${tokens}/${encodeURIComponent(idOrName)}`, { method: "DELETE", ...given }),
    pairings: async (given) =>
      (await call<{ pairings: readonly PairingRecord[] }>(connection, pairings, given)).pairings,
    approvePairing: (code, given) => call(connection, pairings, { method: "POST", json: { code }, ...given }),
    revokePairing: (channel, user, given) =>
      call(connection, `${pairings}/${encodeURIComponent(channel)}/${encodeURIComponent(user)}`, {
        method: "DELETE",
        ...given,
      }),
    approvals: (query, given) => call(connection, `${approvals}${pageOf(query)}`, given),
    standingApprovals: (query, given) => call(connection, `${approvals}/standing${pageOf(query)}`, given),
    decide: (id, decision, given) =>
      call(connection, `${approvals}/${encodeURIComponent(id)}`, { method: "POST", json: decision, ...given }),
    revokeApproval: (id, given) =>
      call(connection, `${approvals}/standing/${encodeURIComponent(id)}`, { method: "DELETE", ...given }),
    changedMcpTools: (server, given) =>
      call(connection, `/api/admin/mcp-servers/${encodeURIComponent(server)}/changes`, given),
    approveMcpTools: (server, digest, given) =>
      call(connection, `/api/admin/mcp-servers/${encodeURIComponent(server)}/approve`, {
        method: "POST",
        json: { digest },
        ...given,
      }),
  };
}
