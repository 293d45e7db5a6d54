/** Liveness, readiness and the full status. A store that hangs makes a node not ready; the routes answer all the same. */

import { z } from "zod";
import { BACKUP_STATES } from "../contracts/backups.ts";
import { RuntimeError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/health-report.ts";
import { LOADED_KINDS } from "../contracts/plugin.ts";
import type { RouteDeps, Server } from "./deps.ts";
import { envelope } from "./errors.ts";
import { errorBodySchema, errorSchema, ok, success } from "./schemas.ts";

const reportSchema = z.object({
  status: z.enum(["healthy", "degraded", "unhealthy"]),
  version: z.string(),
  node: z.object({ id: z.string(), name: z.string() }),
  uptime_s: z.number(),
  started_at: z.string(),
  draining: z.boolean(),
  agents: z.record(
    z.string(),
    z.object({
      provider: z.string(),
      model: z.string(),
      active_turns: z.number(),
      waiting: z.number(),
      queued: z.number(),
      budget: z
        .object({
          on_limit: z.enum(["stop", "warn"]),
          state: z.enum(["ok", "near", "reached"]).describe("`near`: 80 % of a limit."),
          limits: z.array(
            z.object({
              limit: z.enum(LIMITS),
              used: z.number(),
              max: z.number(),
              share: z.number().describe("1 and more: reached."),
              resets_at: z.string().describe("When its period ends."),
            }),
          ),
        })
        .nullable()
        .describe("Null where the agent has none, or the store does not answer."),
    }),
  ),
  providers: z.record(
    z.string(),
    z.object({
      available: z.boolean(),
      model: z.string(),
      circuits: z
        .array(
          z.object({
            model: z.string(),
            state: z.enum(["closed", "open", "half_open"]).describe("`open`: its calls are suspended."),
            failures: z.number().describe("Failed calls of the last minute; 0 where it is not closed."),
            retry_after_s: z.number().nullable().describe("Until one call is tried; null where it is not open."),
            last_error: z.string(),
          }),
        )
        .describe("Circuit breakers of models whose calls have failed lately."),
    }),
  ),
  channels: z.record(
    z.string(),
    z.object({
      platform: z.string(),
      state: z
        .enum(["connecting", "up", "standby", "degraded", "down"])
        .describe("`standby`: another node receives for the account."),
      reason: z.string().nullable().describe("Why it is not up."),
    }),
  ),
  mcp: z
    .record(
      z.string(),
      z.object({
        transport: z.enum(["stdio", "http"]),
        state: z.enum(["connecting", "up", "down"]).describe("`down`: it is tried again."),
        reason: z.string().nullable().describe("Why it is not up."),
        tools: z.number().describe("Tools that are offered."),
        changed: z
          .array(z.string())
          .describe("Tools withheld because what they say of themselves has changed; at most 20."),
        changed_digest: z
          .string()
          .nullable()
          .describe("Of the present form of all that have changed; an approval names it."),
        left_out: z
          .array(z.object({ name: z.string(), reason: z.string() }))
          .describe("Tools that cannot be offered; at most 20."),
      }),
    )
    .describe("MCP servers of the configuration, by their ids. `status` does not depend on them."),
  plugins: z
    .array(
      z.object({
        id: z.string().nullable().describe("Null where its manifest cannot be read."),
        kind: z.enum(LOADED_KINDS).nullable(),
        version: z.string().nullable(),
        path: z.string().describe("Its folder on the node's machine."),
        state: z.enum(["loaded", "failed", "off"]).describe("`failed`: the node runs without it."),
        reason: z.string().nullable().describe("Why it could not be loaded."),
      }),
    )
    .describe("Plugins of `plugin_dirs`, in their order."),
  memory: z.record(z.string(), z.unknown()),
  queues: z.array(z.record(z.string(), z.unknown())),
  mesh: z.object({
    enabled: z.boolean(),
    standing: z
      .enum(["alone", "member", "waiting", "left", "revoked"])
      .nullable()
      .describe("`waiting`: for the countersignature of a node that shares the database. Null where the mesh is off."),
    members: z.number(),
    problem: z.string().nullable().describe("What an operator should know of it; null: nothing."),
  }),
  backup: z
    .object({
      state: z.enum(BACKUP_STATES).describe("`late`: the newest is older than two intervals."),
      every_s: z.number(),
      keep: z.number(),
      now: z.string().describe("By the clock of this node, as all times here."),
      next_at: z.string().nullable().describe("When the next one is attempted; null: none is."),
      last: z
        .object({ name: z.string(), created_at: z.string(), bytes: z.number(), node: z.string() })
        .nullable()
        .describe("The newest scheduled backup, and the node that has it."),
      failure: z
        .object({
          since: z.string(),
          attempts: z.number(),
          message: z.string(),
          hint: z.string().nullable(),
          node: z.string(),
        })
        .nullable()
        .describe("Attempts since then that failed."),
    })
    .nullable()
    .describe("Null where the store does not answer."),
  schedules: z
    .array(z.object({ agent: z.string(), name: z.string(), problem: z.string() }))
    .nullable()
    .describe("Those that somebody should see to: late, or the last run failed. Null where the store does not answer."),
  approvals: z
    .object({
      waiting: z.number().describe("Calls of tools that wait for the owner's word, of all nodes of the database."),
      oldest_waiting_ms: z.number().nullable().describe("How long the oldest has; null where none waits."),
    })
    .nullable()
    .describe("Null where the store does not answer. `status` does not depend on them."),
  skills: z
    .object({
      usable: z.number().describe("Skills that some agent gets."),
      skipped: z
        .array(z.object({ path: z.string(), problem: z.string() }))
        .describe("Agents do not get them; at most 20."),
    })
    .describe("`status` does not depend on them."),
  audit: z.object({
    failing: z
      .string()
      .nullable()
      .describe("Why lines of the audit log are being lost, such as ENOSPC; null: none are."),
    lost: z.number().describe("Lines lost since the start."),
  }),
  schema_version: z.number().nullable(),
});

const liveSchema = success(z.object({ live: z.literal(true) }));
const readySchema = success(z.object({ ready: z.literal(true) }));

export function registerHealth(server: Server, deps: RouteDeps): void {
  const { app, limits } = deps;
  let asking: ReturnType<typeof app.health.ready> | null = null;
  /** One query at a time: this route is open to all, without a token and without a limit. */
  const askOnce = () => {
    asking ??= app.health.ready().finally(() => {
      asking = null;
    });
    return asking;
  };

  server.get(
    "/health/live",
    {
      config: { access: "public" },
      schema: { tags: ["health"], summary: "Whether the process lives", response: { 200: liveSchema } },
    },
    async () => ok({ live: true as const }),
  );

  server.get(
    "/health/ready",
    {
      config: { access: "public" },
      schema: {
        tags: ["health"],
        summary: "Whether messages are accepted: started, not draining, database there",
        response: { 200: readySchema, 503: errorSchema },
      },
    },
    async () => {
      if (app.lifecycle.draining) throw new RuntimeError("RUNTIME_DRAINING", "This node is draining.");
      const { ready, reason } = await within(limits.healthMs, askOnce());
      if (!ready) throw new RuntimeError("RUNTIME_NOT_READY", `This node is not ready: ${reason ?? "still starting"}.`);
      return ok({ ready: true as const });
    },
  );

  server.get(
    "/health",
    {
      config: { access: "token" },
      schema: {
        tags: ["health"],
        summary: "The full status; 503 when unhealthy, 200 when degraded",
        response: {
          200: success(reportSchema),
          503: z.object({ ok: z.literal(false), error: errorBodySchema, result: reportSchema.optional() }),
        },
      },
    },
    async (_request, reply) => {
      const report = await within(limits.healthMs, app.health.report());
      // Readonly in the contract, and queue states are interfaces without an index signature: the same JSON.
      const result = report as unknown as z.infer<typeof reportSchema>;
      if (report.status !== "unhealthy") return ok(result);
      const error = new RuntimeError("RUNTIME_NOT_READY", "This node is unhealthy.");
      return reply
        .code(503)
        .header("retry-after", "2")
        .send({ ...bodyOf(error), result });
    },
  );
}

function bodyOf(error: RuntimeError) {
  const { ok, error: body } = envelope(error);
  return { ok, error: { ...body, issues: body.issues ? [...body.issues] : undefined } };
}

/** The answer, or RUNTIME_NOT_READY when it does not come in time. */
async function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new RuntimeError("RUNTIME_NOT_READY", "This node does not answer in time: the store may be busy.")),
    ms,
  );
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
