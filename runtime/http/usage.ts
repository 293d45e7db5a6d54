/** What calls of models have used, for an operator. */

import { z } from "zod";
import { USAGE_KEYS } from "../contracts/usage.ts";
import type { RouteDeps, Server } from "./deps.ts";
import { ok, success } from "./schemas.ts";

const daySchema = z.iso.date().refine((day) => day >= "0001-01-01", "must be a day of the calendar");

const counts = {
  calls: z.number().describe("That were answered to the end."),
  input_tokens: z.number(),
  cached_input_tokens: z.number().describe("Part of input_tokens that a prompt cache served."),
  cache_write_input_tokens: z.number().describe("Part of input_tokens that was written into a prompt cache."),
  output_tokens: z.number(),
  cost_usd: z
    .number()
    .nullable()
    .describe("Of the calls that had a price when they were made; null where none had one."),
  unpriced_calls: z.number().describe("Calls that cost_usd is without."),
};

const reportSchema = z.object({
  from: z.string(),
  to: z.string(),
  by: z.enum(USAGE_KEYS),
  rows: z
    .array(z.object({ key: z.string().describe("A day, an agent, a provider, or `provider:model`."), ...counts }))
    .describe("In the order of their keys."),
  total: z.object(counts),
});

export function registerUsage(server: Server, { app }: RouteDeps): void {
  server.get(
    "/api/usage",
    {
      config: { access: "admin" },
      schema: {
        tags: ["admin"],
        summary: "Tokens and money that turns have used, by day, agent, provider or model",
        querystring: z.strictObject({
          from: daySchema.optional().describe("First day, of runtime.timezone; default: 30 days before the last one."),
          to: daySchema.optional().describe("Last day, of runtime.timezone; default: today."),
          by: z.enum(USAGE_KEYS).default("day"),
        }),
        response: { 200: success(reportSchema) },
      },
    },
    async (request) => {
      const report = await app.usage.report(request.query);
      return ok({ ...report, rows: [...report.rows] });
    },
  );
}
