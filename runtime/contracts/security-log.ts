/** Security events: failed authentication, exports of the memory, changes of tokens and of the node's state. */

export type SecurityEventName =
  | "token.wrong"
  /** Refused without a check of the token, because the address is locked out. */
  | "token.locked_out"
  | "token.expired"
  /** The lockout of an address begins. */
  | "token.lockout"
  /** A token of another node, or in the name of one. */
  | "peer.refused"
  | "token.created"
  | "token.rotated"
  | "token.revoked"
  /** Somebody is admitted to a channel, or no more. */
  | "pairing.approved"
  | "pairing.revoked"
  /** A call of a tool that the owner is asked about; a standing approval that holds no longer. */
  | "approval.asked"
  | "approval.approved"
  | "approval.denied"
  | "approval.expired"
  | "approval.revoked"
  /** A node was given a subscription login, or forgot it. */
  | "login.stored"
  | "login.removed"
  /** Tools of an MCP server that had changed. */
  | "mcp.approved"
  | "schedule.run"
  | "schedule.paused"
  | "schedule.resumed"
  /** 403: the token lacks the scope, or the request came from another web page or under another name. */
  | "access.refused"
  | "memory.export"
  | "memory.backup"
  | "memory.restore"
  | "memory.import"
  | "memory.forget"
  | "node.drain"
  | "rollout.lease"
  | "node.resume"
  | "mesh.token_created"
  /** A node came with a token to join. */
  | "mesh.joined"
  /** This node was to join a mesh. */
  | "mesh.join"
  | "mesh.left"
  | "mesh.revoked"
  | "configuration.changed";

export interface SecurityEvent {
  readonly event: SecurityEventName;
  /** `cut`: the client disconnected before the end of the answer; its request may be carried out all the same. */
  readonly outcome: "begun" | "done" | "refused" | "failed" | "cut";
  /** Of the socket: behind a proxy, the proxy's. */
  readonly address?: string;
  /** Name of the token. */
  readonly by?: string;
  readonly requestId?: string;
  /** Never a secret, never what the memory holds. */
  readonly details?: Readonly<Record<string, unknown>>;
}

export interface SecurityLog {
  /** Never throws and never waits; refusals that repeat themselves are counted. */
  record(event: SecurityEvent): void;
}
