/** Results of the commands about a node: its start and end, its state, its log, its tests, its tokens, its service. */

import { z } from "zod";
import { PROBLEMS } from "../../mesh/fleet-problems.ts";
import { count, errorBody, time } from "./parts.ts";
import { init } from "./setup.ts";

/** Loose: a node of another version may say more. */
const health = z.looseObject({
  status: z.enum(["healthy", "degraded", "unhealthy"]),
  version: z.string(),
  node: z.looseObject({ id: z.string(), name: z.string() }),
  uptime_s: z.number(),
  started_at: z.string(),
  draining: z.boolean(),
  agents: z.record(z.string(), z.looseObject({ provider: z.string(), model: z.string() })),
  schema_version: count.nullable(),
  backup: z
    .looseObject({ state: z.string() })
    .nullish()
    .describe("Scheduled backups of the memory; absent of an older node, null where its store does not answer"),
});

const usage = z.looseObject({
  calls: count.describe("That were answered to the end"),
  input_tokens: count,
  cached_input_tokens: count.describe("Part of input_tokens"),
  cache_write_input_tokens: count.describe("Part of input_tokens"),
  output_tokens: count,
  cost_usd: z.number().nonnegative().nullable().describe("Of the calls that had a price; null where none had one"),
  unpriced_calls: count.describe("Calls that cost_usd is without"),
});

const meshNode = z.looseObject({
  id: z.string().describe("Fingerprint of its key"),
  name: z.string(),
  version: z.string(),
  schema: count.describe("The latest migration that it knows"),
  address: z.string().nullable().describe("Where other nodes reach it"),
  certificate_sha256: z.string().nullable(),
  next_certificate_sha256: z.string().nullable(),
  agents: z.array(z.string()).describe("Those that it is configured to host"),
  hosts: z.array(z.string()).describe("Those whose turns it runs now"),
  heard_at: z.string().nullable().optional().describe("When it is known to have lived last; absent of an older node"),
  status: z.enum(["online", "draining", "suspect", "stopped", "offline"]),
  shares_database: z
    .boolean()
    .optional()
    .describe("It works on the same database as the node that answered; absent of an older node"),
  self: z.boolean().describe("It is the node that answered"),
});

const ping = z.looseObject({
  ms: z.number().nonnegative().nullable().describe("Until it had answered; null where it has not"),
  clock_ahead_s: z.number().nullable().describe("By how much its clock is ahead; negative: behind"),
  error: errorBody.nullable().describe("Why it has not answered"),
});

const fleet = z.strictObject({
  node: z.string().describe("The node that answered"),
  mesh_enabled: z.boolean().describe("Of its configuration"),
  members: z
    .array(meshNode.extend({ ping: ping.nullable().describe("From the node that answered; null for itself") }))
    .describe("Those with something wrong first"),
  problems: z.array(
    z.strictObject({
      id: z.string(),
      node: z.string(),
      problem: z.enum(PROBLEMS),
      message: z.string(),
      hint: z.string(),
    }),
  ),
});

const departure = z.strictObject({
  id: z.string().nullable(),
  name: z.string().nullable().describe("Null: the node that answered does not know it"),
  notified: count.describe("Members that know of it by now; the others hear of it from them"),
  admitted: z.array(z.string()).describe("Names of members that the node had admitted: they stay"),
});

const stopped = z.strictObject({
  was_running: z.boolean(),
  pid: count.nullable(),
  killed: z.boolean().describe("It did not end by itself"),
});

const started = z.strictObject({
  pid: count,
  url: z.string(),
  dir: z.string(),
  home: z.string(),
  token: z.string().describe("Where the owner's token is, never the token itself"),
  agent: z.string(),
  init: init.nullable().describe("What was set up now; null when there was a configuration"),
});

const service = z.strictObject({
  manager: z.enum(["systemd", "launchd"]),
  name: z.string(),
  file: z.string(),
  scope: z.enum(["system", "user"]),
  changed: z.boolean(),
  started: z.boolean(),
  inspect: z.string().describe("The command that shows the service"),
});

const pairing = z.strictObject({
  channel: z.string(),
  user: z.string().describe("The platform's id"),
  name: z.string().describe("As the platform shows it"),
  requested_at: time,
  expires_at: time.nullable().describe("Of the code; null: the person is admitted"),
  approved_at: time.nullable().describe("Null: not admitted yet"),
});

const approval = {
  id: z.string(),
  agent: z.string(),
  tool: z.string(),
  call: z.string().describe("All its arguments, without secrets"),
  reason: z.string().describe("Why it is asked about"),
  digest: z.string().describe("Of exactly this call: SHA-256"),
};
const pendingApproval = z.strictObject({
  ...approval,
  turn_id: z.string(),
  channel: z.string(),
  conversation: z.string(),
  asked_at: time,
  expires_at: time.describe("Then it is refused"),
});
const standingApproval = z.strictObject({
  ...approval,
  approved_by: z.string().describe("Name of the token, or owner"),
  approved_at: time,
});
const decidedApproval = z.strictObject({
  id: z.string(),
  agent: z.string(),
  tool: z.string(),
  turn_id: z.string(),
  decision: z.enum(["approved", "denied"]),
  always: z.boolean().describe("The same call is not asked about again"),
});

export const NODE_SCHEMAS = {
  "mesh-ping": z.strictObject({ pings: z.array(ping.extend({ id: z.string(), name: z.string() })) }),
  "mesh-status": fleet,
  "mesh-list": z.strictObject({ nodes: z.array(meshNode) }),
  "mesh-token": z.strictObject({
    token: z.string().describe("Shown only once"),
    url: z.string().describe("Where it is good"),
    expires_at: z.string(),
  }),
  "mesh-join": z.strictObject({
    joined: z.boolean().describe("False: the node does so at its next start"),
    node_id: z.string().nullable(),
    members: z.array(z.string()).describe("Names of the other members"),
    diff: z.string().describe("What changed in cairn.yaml; empty: nothing"),
    next: z.string().nullable().describe("The command that comes next"),
  }),
  "mesh-leave": departure.extend({ outcome: z.enum(["left", "declined"]) }),
  "mesh-revoke": departure.extend({ outcome: z.enum(["revoked", "declined"]) }),
  version: z.strictObject({
    name: z.string(),
    version: z.string(),
    node: z.string().describe("Version of Node.js"),
    platform: z.string(),
    arch: z.string(),
    schema: count.nullable().describe("Number of the newest migration that this version brings along"),
  }),
  start: started,
  restart: started.extend({ stopped }),
  stop: stopped,
  status: z.strictObject({
    running: z.boolean(),
    state: z.enum(["running", "stopped", "busy"]),
    home: z.string(),
    dir: z.string(),
    pid: count.nullable(),
    url: z.string().nullable(),
    certificate_sha256: z
      .string()
      .nullable()
      .describe("Fingerprint of the certificate that is recorded for the node; null without TLS"),
    version: z.string().nullable(),
    started_at: z.string().nullable(),
    health: health.nullable(),
    error: errorBody.nullable(),
    fleet: z
      .array(meshNode)
      .nullable()
      .describe("The nodes of its fleet, itself among them; null where it does not answer"),
    deployed: z
      .strictObject({
        stack: z.string(),
        target: z.string(),
        node: z.string(),
        place: z.string(),
        nodes: z.array(z.string()),
      })
      .nullable()
      .describe("The stack that was asked; null for a node of this machine"),
  }),
  logs: z.strictObject({
    directory: z.string().nullable().describe("Of the log; null for a part of a deployed stack"),
    entries: z.array(z.record(z.string(), z.unknown())).describe("Lines of the log as they were written"),
  }),
  test: z.strictObject({
    schema: z.literal(1),
    status: z.enum(["pass", "fail"]),
    agent: z.string(),
    session: z.string().nullable(),
    steps: z.array(
      z.strictObject({
        name: z.enum(["node", "store", "queue", "channel", "sandbox", "provider", "recall"]),
        status: z.enum(["pass", "warn", "fail", "skip"]),
        message: z.string(),
        fix: z.string().nullable(),
        parts: z
          .array(
            z.strictObject({
              id: z.string(),
              status: z.enum(["pass", "fail"]),
              code: z.string().nullable(),
              message: z.string(),
              fix: z.string().nullable(),
            }),
          )
          .optional(),
        duration_ms: z.number().nonnegative(),
      }),
    ),
  }),
  chat: z
    .union([
      z.looseObject({
        agent: z.string(),
        turn_id: z.string(),
        session: z.string(),
        text: z.string(),
        usage: z.looseObject({ inputTokens: z.number(), outputTokens: z.number() }),
        interrupted: z.boolean(),
        notice: z.string().optional(),
      }),
      z.strictObject({ text: z.string(), data: z.record(z.string(), z.unknown()).optional() }),
      z.null(),
    ])
    .describe("A reply, or the answer to a command such as /status"),
  usage: z.looseObject({
    from: z.string().describe("First day, UTC"),
    to: z.string().describe("Last day, UTC"),
    by: z.enum(["day", "agent", "provider", "model"]),
    rows: z
      .array(usage.extend({ key: z.string().describe("A day, an agent, a provider, or `provider:model`") }))
      .describe("In the order of their keys"),
    total: usage,
  }),
  "token-list": z.strictObject({
    tokens: z.array(
      z.strictObject({
        id: z.string(),
        name: z.string(),
        scopes: z.array(z.string()),
        created_at: time,
        revoked_at: time.nullable(),
        expires_at: time.nullable().describe("Null: it does not expire"),
        last_used_at: time.nullable().describe("To the minute; null: never"),
      }),
    ),
  }),
  "token-create": z.strictObject({
    id: z.string(),
    name: z.string(),
    scopes: z.array(z.string()),
    expires_at: time.nullable().describe("Null: it does not expire"),
    token: z.string().describe("Shown only once"),
    grants: z
      .array(
        z.strictObject({
          scope: z.string().describe("`any` holds for every token"),
          allows: z.array(z.string()),
          agents: z
            .array(
              z.strictObject({
                agent: z.string(),
                tools: z.array(z.string()),
                commands: z.enum(["sandbox", "unconfined"]).nullable(),
                network: z.boolean().nullable(),
              }),
            )
            .optional(),
        }),
      )
      .describe("What it may do with the configuration as it is now; empty where that cannot be read"),
  }),
  "token-rotate": z.union([
    z
      .strictObject({
        token: z.string().nullable().describe("Null without --show"),
        file: z.string().describe("The file that has it"),
        node: z
          .strictObject({ pid: count, url: z.string() })
          .nullable()
          .describe("The node of this machine that was started anew with it; null where none ran"),
        holders: z
          .array(z.strictObject({ kind: z.enum(["stack", "capture"]), name: z.string(), command: z.string() }))
          .describe("What has the former token still, and the command that gives it another one"),
      })
      .describe("The owner's"),
    z
      .strictObject({
        id: z.string(),
        name: z.string(),
        scopes: z.array(z.string()),
        expires_at: time.nullable().describe("Null: it does not expire"),
        token: z.string().describe("Shown only once"),
        capture: z
          .boolean()
          .nullable()
          .describe("Whether the capture hook of this home has it now; null where that has another one"),
      })
      .describe("One that was named"),
  ]),
  "token-revoke": z.strictObject({ id: z.string(), name: z.string(), revoked: z.literal(true) }),
  "pairing-list": z.strictObject({ pairings: z.array(pairing) }),
  "pairing-approve": pairing,
  "pairing-revoke": pairing,
  "approvals-list": z.strictObject({
    approvals: z
      .array(z.union([pendingApproval, standingApproval]))
      .describe("Those that wait, or with --standing those that run without a question"),
    next: z.string().nullable().describe("For --after; null: there are no more"),
  }),
  "approvals-approve": decidedApproval,
  "approvals-deny": decidedApproval,
  "approvals-revoke": standingApproval,
  "mcp-approve": z.strictObject({
    server: z.string(),
    digest: z.string().nullable().describe("Of the changed tools; null where there is none"),
    tools: z
      .array(
        z.strictObject({ name: z.string(), description: z.string(), parameters: z.record(z.string(), z.unknown()) }),
      )
      .describe("Those that have changed, as a model would be shown them"),
    approved: z.int().min(0).describe("0 without --confirm"),
  }),
  "service-install": service,
  "service-uninstall": service,
} as const;
