/** Codes of the validation's findings. Programs, doctor among them, compare these: words change, a code stays. */

export const FINDING_CODES = [
  /** A value that the schema or another setting does not allow. */
  "invalid-value",
  /** Something that is needed and not written. */
  "missing-value",
  /** Settings that exclude each other. */
  "conflict",
  /** A name that points to nothing: an agent, a provider, a channel, a node, a tool. */
  "unknown-name",
  /** A key that the schema does not have. */
  "unknown-key",
  /** A reference to the environment or the password manager that cannot be followed. */
  "unresolved-reference",
  /** As the one before, in a part that nothing uses: it is dropped. */
  "left-out",
  /** A provider without its key, or with one whose reference cannot be followed. */
  "provider-key-missing",
  /** A channel without its token, or with one whose reference cannot be followed. */
  "channel-token-missing",
  "hardcoded-secret",
  "out-of-range",
  /** The file does not begin with its version. */
  "version-missing",
  /** The setting is right and changes nothing beside the others. */
  "no-effect",
  /** A setting of `deployment` that the chosen target does not read. */
  "other-target",
  /** What this version does not do. */
  "not-implemented",
  /** Several nodes that have no database in common. */
  "database-missing",
  /** No TLS where TLS was promised. */
  "tls-missing",
  /** A node of a mesh that the others cannot reach. */
  "address-missing",
  /** Nothing was promised, and tokens and conversations cross a network readable. */
  "plain-http",
  /** The memory crosses a network readable, on its way between a node and its database. */
  "plain-database",
  /** A model server on loopback, which a node in a container does not reach. */
  "loopback-address",
  /** Others reach files that are not theirs: users of the machine, agents, or those whom agents talk to. */
  "exposed-files",
  /** The deployment has a home of its own now, and an earlier version's memory lies in the common one. */
  "separate-home",
  /** Agents have the tool shell, and their commands would be refused on this machine. */
  "sandbox-missing",
] as const;

export type FindingCode = (typeof FINDING_CODES)[number];
