/** Logins of this very node to providers and MCP servers: what it has, a new one, and the end of one. Tokens come in and never go out. */

import { z } from "zod";
import type { RouteDeps, Server } from "./deps.ts";
import { errorSchema, ok, success } from "./schemas.ts";

const recordSchema = z.object({
  provider: z.string().describe("A provider's id, or `mcp.<id>` for an MCP server."),
  logged_in: z.boolean().describe("Whether a call could be made now, maybe after a refresh."),
  expires_at: z.string().nullable().describe("Of the access token; null: unknown, or no login."),
  renewable: z.boolean().describe("Whether it can be refreshed at its end without a new login."),
  scopes: z.array(z.string()),
  key_comes_first: z.boolean().describe("An API key of the configuration is used in place of a login."),
  client_id: z
    .string()
    .nullable()
    .describe("Of the configuration; of an MCP server that of its login, null without one."),
  token_url: z.string().nullable().describe("Where the node refreshes; as `client_id`."),
  server_url: z.string().nullable().describe("Of an MCP server: its address in the configuration."),
  problem: z.string().nullable().describe("Why what is stored cannot be used; null: it can, or there is nothing."),
});

/** Visible ASCII, as a header takes it. */
const tokenSchema = z
  .string()
  .max(16_384)
  .regex(/^[\x21-\x7e]+$/);

const loginSchema = z.strictObject({
  client_id: z.string().min(1).max(1_000).describe("As in the node's configuration."),
  token_url: z.string().min(1).max(2_000).describe("As in the node's configuration."),
  access_token: tokenSchema,
  refresh_token: tokenSchema.nullable().describe("Null: the login ends with the access token."),
  expires_in: z
    .int()
    .min(1)
    .max(10 * 365 * 86_400)
    .nullable()
    .describe("Seconds from now on; null: unknown."),
  scopes: z.array(z.string().max(200)).max(100),
  server: z
    .strictObject({
      server_url: z.url().max(2_000).describe("As in the node's configuration."),
      issuer: z.string().min(1).max(2_000),
      client_secret: tokenSchema.nullable(),
      client_auth: z.enum(["client_secret_basic", "client_secret_post"]).nullable(),
      resource: z.string().min(1).max(2_000).nullable(),
    })
    .optional()
    .describe("For an MCP server: what a refresh needs besides."),
});

const providerSchema = z.object({ provider: z.string().max(100) });
const LOGIN_BYTES = 64 * 1024;

export function registerLogins(server: Server, { app }: RouteDeps): void {
  server.get(
    "/api/admin/logins",
    {
      config: { access: "admin" },
      schema: {
        tags: ["admin"],
        summary:
          "The logins of this node: of each provider that is configured for one, and of each MCP server that would use one; without tokens",
        response: { 200: success(z.object({ logins: z.array(recordSchema) })) },
      },
    },
    async () => ok({ logins: (await app.logins.list()).map((one) => ({ ...one, scopes: [...one.scopes] })) }),
  );

  server.put(
    "/api/admin/logins/:provider",
    {
      config: { access: "admin", audit: "login.stored" },
      bodyLimit: LOGIN_BYTES,
      schema: {
        tags: ["admin"],
        summary: "Give this node a login of its own; it refreshes the tokens by itself from then on",
        description:
          "In place of the login before, from the next request to the provider on. A login of another node must not be given: a " +
          "refresh token counts once, and two nodes with one would end each other's. 409 where the node could not use or refresh it.",
        params: providerSchema,
        body: loginSchema,
        response: { 200: success(recordSchema), 404: errorSchema, 409: errorSchema },
      },
    },
    async (request) => {
      const { provider } = request.params;
      request.auditDetails = { provider };
      const record = await app.logins.store(provider, request.body);
      return ok({ ...record, scopes: [...record.scopes] });
    },
  );

  server.delete(
    "/api/admin/logins/:provider",
    {
      config: { access: "admin", audit: "login.removed" },
      schema: {
        tags: ["admin"],
        summary: "Forget this login on this node",
        params: providerSchema,
        response: { 200: success(z.object({ provider: z.string(), removed: z.boolean() })), 404: errorSchema },
      },
    },
    async (request) => {
      const { provider } = request.params;
      request.auditDetails = { provider };
      return ok({ provider, removed: await app.logins.remove(provider) });
    },
  );
}
