/**
 * The shapes of everything that `infra` prints with `--json` and keeps in files of its own. docs/schemas/ is generated from
 * them; a change that breaks a reader raises `schema`.
 */

import { z } from "zod";
import { buildResult } from "./build/schema.ts";
import { DRIFT_KINDS, PART_KINDS } from "./inspection.ts";

const CHANGE_OPS = ["create", "update", "replace", "delete", "import", "same"] as const;
export type ChangeOp = (typeof CHANGE_OPS)[number];

const count = z.number().int().nonnegative();

const property = z.strictObject({
  path: z.string().describe("Place of the property in the resource, such as `uploads[0].content`"),
  kind: z.enum(["add", "update", "delete"]),
  before: z.unknown().describe("Null where there was none; secrets are `[redacted]`"),
  after: z.unknown().describe("Null where there will be none; `[computed]` where it is known only afterwards"),
});

const change = z.strictObject({
  op: z.enum(CHANGE_OPS),
  type: z.string().describe("Pulumi type of the resource"),
  name: z.string().describe("The resource's own name on the target"),
  urn: z.string(),
  properties: z.array(property),
});

const summary = z.strictObject({
  create: count,
  update: count,
  replace: count,
  delete: count,
  import: count,
  same: count,
});

const diff = z.strictObject({
  schema: z.literal(1),
  stack: z.string(),
  target: z.string(),
  summary,
  changes: z.array(change).describe("Without what stays the same, sorted by URN"),
});

const finding = z.strictObject({
  severity: z.enum(["error", "warning"]),
  code: z.string(),
  message: z.string(),
  hint: z.string().optional(),
});

const setting = z.strictObject({
  nodes: z.array(z.string()).describe("That get it"),
  setting: z
    .string()
    .describe("Key of cairn.yaml such as `agents.main.model`, variable as `.env: NAME`, or a file of the workspace"),
  before: z.string().nullable().describe("Null where there was none; variables are masked"),
  after: z.string().nullable().describe("Null where there will be none; variables are masked"),
});

const data = z.strictObject({ name: z.string(), place: z.string() });

const deployedNode = z.strictObject({
  name: z.string(),
  workload: z.string().describe("Container, CT or StatefulSet, as the target's own tools name it"),
  place: z.string(),
  image: z.string(),
  url: z.string().nullable().describe("On the node's own host; null where nothing is published"),
  certificate_sha256: z
    .string()
    .nullable()
    .describe("Fingerprint of the certificate that the node shows, which our own clients pin; null without TLS"),
  next_certificate_sha256: z
    .string()
    .nullable()
    .describe("Of the one that it will show after that, which they accept, too; null unless `runtime.tls` is `auto`"),
});

const nodeState = z.enum(["running", "stopped", "paused", "missing", "unknown"]);
const nodeHealth = z.enum(["healthy", "starting", "unhealthy", "unknown"]);

/** As the target sees a node now. */
const observed = {
  state: nodeState,
  health: nodeHealth,
  reason: z.string().nullable().describe("Why it is not healthy, in words, where the target knows"),
};

/** What the target says of something that runs. */
const running = {
  version: z.string().nullable().describe("Of the program in it, where the target knows"),
  since: z.string().nullable().describe("Since when it runs, or does not run any more: ISO 8601"),
  restarts: count.nullable().describe("How often the target started it again by itself"),
};

const part = z.strictObject({
  kind: z.enum(PART_KINDS),
  name: z.string().describe("As the target's own tools name it"),
  place: z.string(),
  node: z.string().nullable().describe("Node that it belongs to; null for what all share"),
  state: z.enum([...nodeState.options, "present"]).describe("present: there, and nothing that runs"),
  health: nodeHealth.nullable().describe("Null for what does not run"),
  image: z.string().nullable(),
  ...running,
  reason: z.string().nullable().describe("Why it is not as it should be, in words"),
});

const foundDrift = z.strictObject({
  kind: z.enum(DRIFT_KINDS),
  name: z.string().describe("As the target's own tools name it"),
  place: z.string(),
  node: z.string().nullable().describe("Node that it belongs to; null for what all share"),
  message: z.string().describe("What was found"),
  remedy: z.string().describe("What `up` does about it"),
  data_lost: z.boolean().describe("Whether data were in it and are gone"),
});
const settings = z
  .array(setting)
  .describe("Settings that nodes would get, against what they had when they were last healthy");
const drift = z.array(foundDrift).describe("What was changed on the target behind the stack's back");

const holder = z.strictObject({
  user: z.string(),
  host: z.string(),
  pid: z.number().int(),
  command: z.string(),
  started_at: z.string(),
});

const pendingOperation = z.strictObject({
  urn: z.string(),
  type: z.string(),
  name: z.string(),
  operation: z.string().describe("What the engine was doing: creating, updating, deleting, ..."),
  outcome: z
    .enum(["taken-over", "cleared", "left"])
    .describe("taken-over: it exists and is recorded now; cleared: it does not exist; left: the target did not answer"),
});

const rollReport = z.strictObject({
  outcome: z
    .enum(["rolled", "unchanged", "rolled_back", "paused", "operator"])
    .describe(
      "rolled_back: all have what they had; paused: the node that failed has what it had, those of `done` the new; operator: a " +
        "node neither passed nor came back",
    ),
  done: z.array(z.string()).describe("Nodes that have what was planned, in the order in which they got it"),
  failed: z.string().nullable(),
  reason: z.string().nullable().describe("Why it failed, and why it did not come back"),
  last_words: z.array(z.string()).describe("Last lines of the program that failed, oldest first"),
  log: z.string().nullable().describe("File on this machine with everything that was said; null where there is none"),
});

const upResult = diff.extend({
  drift,
  warnings: z.array(finding),
  nodes: z.array(deployedNode.extend(observed)),
  data: z.array(data),
  healthy: z.boolean().describe("Whether every node of this run answered as healthy in time"),
  adopted: z.array(z.string()),
  next: z.string().describe("The command to go on with"),
  roll: rollReport.optional().describe("With --roll"),
});

const databaseServer = z.strictObject({ major: count, image: z.string(), volume: z.string() });

export const SCHEMAS = {
  build: buildResult,
  "infra-preview": diff.extend({ drift, settings, warnings: z.array(finding) }),
  "infra-up": upResult,
  "infra-destroy": diff.extend({
    kept: z.array(data).describe("What was left on the target"),
    deleted: z.array(data).describe("Data that was removed for good, with --delete-data"),
    backup: z.string().nullable(),
  }),
  "infra-node-remove": z.strictObject({
    schema: z.literal(1),
    stack: z.string(),
    node: z.string(),
    removed: count.describe("Resources that were removed; 0 where an earlier run had done it"),
    kept: z.array(data).describe("What was left on the target"),
    deleted: z.array(data),
    archive: z.string().nullable().describe("File with the data, with --data archive"),
    waiting: z
      .array(z.string())
      .describe("Nodes whose memory limit is another one now; the next `infra up` applies it"),
  }),
  "infra-node-rename": z.strictObject({
    schema: z.literal(1),
    stack: z.string(),
    from: z.string(),
    to: z.string(),
    outcome: z.enum(["renamed", "rolled_back", "operator"]),
    reason: z.string().nullable().describe("Why it went back, or could not"),
    kept: z.array(data).describe("Data under the former name, which stay on the target"),
  }),
  "infra-postgres-upgrade": z.strictObject({
    schema: z.literal(1),
    stack: z.string(),
    outcome: z.enum(["upgraded", "unchanged"]),
    from: databaseServer,
    to: databaseServer,
    backup: z.string().nullable().describe("File with the memory as it was before"),
    tables: count.describe("Tables whose rows are the same in both"),
    rows: count,
    kept: z
      .strictObject({ volume: z.string(), removal: z.string().describe("Command that removes it for good") })
      .nullable()
      .describe("The former server's data"),
  }),
  "infra-status": z.strictObject({
    schema: z.literal(1),
    stack: z.string(),
    target: z.string(),
    deployed: z.boolean(),
    deployed_at: z.string().nullable(),
    backend: z.string(),
    healthy: z.boolean().describe("Whether every part is there and everything that runs is healthy"),
    nodes: z.array(deployedNode.extend({ ...observed, ...running, planned_image: z.string().nullable() })),
    parts: z.array(part).describe("Everything that is no node: database, network, volumes, files"),
    data: z.array(data),
    former: z
      .array(data.extend({ removal: z.string().describe("Command that removes them for good") }))
      .describe("Data that an upgrade of PostgreSQL kept, and that nothing uses any more"),
    holder: holder.nullable().describe("Who has the stack locked now"),
    working: z.boolean().describe("Whether the holder is at work; false: it was killed, or it is on another host"),
    pending: count.describe("Operations that an interrupted run left behind"),
    copies: count.describe("Copies of the state"),
  }),
  "infra-render": z.strictObject({
    schema: z.literal(1),
    directory: z.string(),
    written: z.array(z.string()),
    unchanged: z.array(z.string()),
    kept: z.array(z.string()).describe("Changed by hand, left alone"),
  }),
  "infra-unlock": z.strictObject({
    schema: z.literal(1),
    stack: z.string(),
    cleared: z.array(holder).describe("Holders whose locks were removed"),
    pending: z.array(pendingOperation),
    restored: z.string().nullable().describe("Copy of the state that was put back"),
  }),
  "infra-recover": upResult.extend({
    put_aside: z.string().nullable().describe("Folder with the state, settings and passphrase of before"),
    removed: z.array(z.string()).describe("What ran, or could be made anew, and was removed from the target"),
  }),
  "infra-event": z.discriminatedUnion("event", [
    z.strictObject({
      schema: z.literal(1),
      event: z.literal("phase"),
      time: z.string(),
      phase: z.string(),
      message: z.string(),
      total: count.optional().describe("Resources that it changes, where that is known"),
    }),
    z.strictObject({
      schema: z.literal(1),
      event: z.literal("resource"),
      time: z.string(),
      op: z.string(),
      state: z.enum(["started", "done", "failed"]),
      type: z.string(),
      name: z.string(),
      urn: z.string(),
    }),
    z.strictObject({
      schema: z.literal(1),
      event: z.literal("message"),
      time: z.string(),
      severity: z.enum(["info", "warning", "error"]),
      message: z.string(),
      urn: z.string().nullable(),
    }),
  ]),
} as const;

/** `infra/stack.json`: what `up` deployed. */
export const stackRecord = z.strictObject({
  schema: z.literal(1),
  stack: z.string(),
  target: z.enum(["docker", "proxmox", "kubernetes"]),
  backend: z.string(),
  deployed_at: z.string(),
  version: z.string(),
  // Records of earlier versions have no fingerprints.
  nodes: z.array(
    deployedNode.extend({
      certificate_sha256: deployedNode.shape.certificate_sha256.default(null),
      next_certificate_sha256: deployedNode.shape.next_certificate_sha256.default(null),
    }),
  ),
  data: z.array(data),
});

/** What the program's outputs have to be (infra/plan/types.ts, StackOutputs). */
export const stackOutputs = z.object({
  nodes: z.array(z.object({ name: z.string(), workload: z.string(), place: z.string(), image: z.string() })),
  data: z.array(data.loose()),
});

export type Diff = z.infer<typeof diff>;
export type DiffSummary = z.infer<typeof summary>;
export type Change = z.infer<typeof change>;
export type PropertyChange = z.infer<typeof property>;
export type PreviewResult = z.infer<(typeof SCHEMAS)["infra-preview"]>;
export type UpResult = z.infer<(typeof SCHEMAS)["infra-up"]>;
export type RollReport = z.infer<typeof rollReport>;
export type DestroyResult = z.infer<(typeof SCHEMAS)["infra-destroy"]>;
/** What is agreed to before it is done. */
export type ShownDiff = Diff & { readonly drift: readonly FoundDrift[]; readonly settings: readonly SettingChange[] };
export type FoundDrift = z.infer<typeof foundDrift>;
export type NodeRemoveResult = z.infer<(typeof SCHEMAS)["infra-node-remove"]>;
export type NodeRenameResult = z.infer<(typeof SCHEMAS)["infra-node-rename"]>;
export type PostgresUpgradeResult = z.infer<(typeof SCHEMAS)["infra-postgres-upgrade"]>;
export type StatusResult = z.infer<(typeof SCHEMAS)["infra-status"]>;
export type RenderResult = z.infer<(typeof SCHEMAS)["infra-render"]>;
export type UnlockResult = z.infer<(typeof SCHEMAS)["infra-unlock"]>;
export type RecoverResult = z.infer<(typeof SCHEMAS)["infra-recover"]>;
export type InfraEvent = z.infer<(typeof SCHEMAS)["infra-event"]>;
export type StackRecord = z.infer<typeof stackRecord>;
export type DeployedNode = z.infer<typeof deployedNode>;
/** What a deployment has recorded of a node's certificates. */
export type RecordedCertificates = Pick<DeployedNode, "certificate_sha256" | "next_certificate_sha256">;
export type SettingChange = z.infer<typeof setting>;
export type Holder = z.infer<typeof holder>;
export type PendingOutcome = z.infer<typeof pendingOperation>;
