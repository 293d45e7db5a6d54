/** Rollouts of the nodes that share the store: who may carry one out, and their journals. Any node answers for all. */

import { z } from "zod";
import { ROLLOUT_OUTCOMES } from "../contracts/rollout.ts";
import type { RouteDeps, Server } from "./deps.ts";
import { errorSchema, ok, success } from "./schemas.ts";

const NAME = z.string().min(1).max(253);
const IMAGE = z.string().min(1).max(1_000);
const TIME = z.iso.datetime();
const REASON = z.string().max(20_000);
const names = z.array(NAME).max(10_000);

const leaseNumber = z.number().int().positive().describe("Of the lease; higher than that of every holder before.");

const leaseSchema = z.object({
  fleet: z.string().describe("Of the database that keeps it: another one begins to count anew."),
  number: leaseNumber,
  ttl_ms: z.number(),
});

const recordSchema = z.strictObject({
  id: z.uuid(),
  holder: z.string().min(1).max(500).describe("Who began it."),
  to: IMAGE.describe("Identity of the image or release that all nodes are to get."),
  from: z
    .array(z.strictObject({ node: NAME, image: IMAGE.nullable() }))
    .max(10_000)
    .describe("What each node had, in the order in which they are changed; null: nothing."),
  on_failure: z.enum(["rollback", "pause"]),
  max_unavailable: z.number().int().positive(),
  started_at: TIME,
  steps: z
    .array(z.strictObject({ name: z.string().max(300), state: z.enum(["begun", "done", "failed"]), at: TIME }))
    .max(100_000),
  end: z
    .strictObject({
      outcome: z.enum(ROLLOUT_OUTCOMES),
      done: names.describe("Nodes that have the new image."),
      failed: NAME.nullable().describe("The first that failed."),
      reason: REASON.nullable(),
      stuck: names.describe("Nodes that neither passed nor came back."),
      unknown: names.describe("Nodes that were not reached."),
    })
    .nullable()
    .describe("Null: it is under way, or was interrupted."),
});

export function registerRollouts(server: Server, { app }: RouteDeps): void {
  const { rollouts } = app;
  const tags = ["admin"];
  const lost = { 409: errorSchema };
  const empty = success(z.object({}));

  server.post(
    "/api/admin/rollout/lease",
    {
      config: { access: "admin", audit: "rollout.lease" },
      schema: {
        tags,
        summary: "Take the right to roll out the fleet",
        body: z.strictObject({
          id: z.uuid().describe("Of the holder's own making: who asks again with it gets the same lease."),
          holder: z.string().min(1).max(500).describe("As others are shown it."),
        }),
        response: { 200: success(leaseSchema), ...lost },
      },
    },
    async (request) => {
      const { id, holder } = request.body;
      const { fleet, number, ttlMs } = await rollouts.acquire(id, holder);
      request.auditDetails = { holder, number };
      return ok({ fleet, number, ttl_ms: ttlMs });
    },
  );

  server.put(
    "/api/admin/rollout/lease",
    {
      config: { access: "admin" },
      schema: {
        tags,
        summary: "Hold the lease for longer",
        body: z.strictObject({ number: leaseNumber }),
        response: { 200: empty, ...lost },
      },
    },
    async ({ body }) => {
      await rollouts.renew(body.number);
      return ok({});
    },
  );

  server.post(
    "/api/admin/rollout/lease/release",
    {
      config: { access: "admin" },
      schema: {
        tags,
        summary: "Give the lease back; nothing where it is another's",
        body: z.strictObject({ number: leaseNumber }),
        response: { 200: empty },
      },
    },
    async ({ body }) => {
      await rollouts.release(body.number);
      return ok({});
    },
  );

  server.get(
    "/api/admin/rollout",
    {
      config: { access: "admin" },
      schema: {
        tags,
        summary: "The rollouts, newest first",
        querystring: z.strictObject({ limit: z.coerce.number().int().min(1).max(100).default(1) }),
        response: { 200: success(z.object({ rollouts: z.array(recordSchema) })) },
      },
    },
    async ({ query }) => ok({ rollouts: z.array(recordSchema).parse(await rollouts.list(query.limit)) }),
  );

  server.put(
    "/api/admin/rollout",
    {
      config: { access: "admin" },
      schema: {
        tags,
        summary: "Write a rollout's journal; only for the newest lease",
        body: z.strictObject({ lease: leaseNumber, rollout: recordSchema }),
        response: { 200: empty, ...lost },
      },
    },
    async ({ body }) => {
      await rollouts.write(body.rollout, body.lease);
      return ok({});
    },
  );
}
