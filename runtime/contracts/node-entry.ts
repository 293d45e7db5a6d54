/** What the nodes of a fleet know of each other. */

export const NODE_STATUSES = ["online", "draining", "stopped"] as const;
/** As the node itself said last. */
export type NodeStatus = (typeof NODE_STATUSES)[number];

/** What a node says of itself. It is signed by its key: nobody else can make one for it. */
export interface NodeEntry {
  /** First 16 bytes of the SHA-256 of the public key, hex. */
  readonly id: string;
  readonly name: string;
  /** Ed25519, as SPKI in DER, base64. */
  readonly public_key: string;
  /** Counts the entries that the node has made: the highest is valid. */
  readonly version: number;
  /** Version of Cairn that it runs. */
  readonly release: string;
  /** Number of the latest migration that it knows: it works with a schema that is compatible with this one. */
  readonly schema: number;
  /** URL under which other nodes reach it; null: it has named none. */
  readonly address: string | null;
  /** Fingerprint of its certificate (contracts/certificates.ts); null without TLS. */
  readonly certificate_sha256: string | null;
  /** Of the one that follows it; null where none is known. */
  readonly next_certificate_sha256: string | null;
  /** Agents that it is configured to host. */
  readonly agents: readonly string[];
  readonly status: NodeStatus;
  /** ISO 8601, by its clock. */
  readonly made_at: string;
  /** Ed25519 over the rest (domain/mesh/node-entry.ts), base64. */
  readonly signature: string;
}

export const MEMBER_STATES = ["online", "draining", "suspect", "stopped", "offline"] as const;
/**
 * `offline`: it ended, or lost the database, without saying so; one with a database of its own has not been heard for 90 s.
 * `suspect`: that one has not been heard for 45 s. Work goes to neither.
 */
export type MemberState = (typeof MEMBER_STATES)[number];

/** A node as the fleet sees it. */
export interface Member {
  readonly entry: NodeEntry;
  readonly state: MemberState;
  /** When it is known to have lived last, ISO 8601: now for one that lives. Null where nothing is known. */
  readonly heard_at: string | null;
  /** Agents whose turns it runs now; of a node with a database of its own, those that it is configured to host while it lives. */
  readonly hosts: readonly string[];
  /** Whether it works on the same database as this node. */
  readonly shares_database: boolean;
}
