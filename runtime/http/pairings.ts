/** People beside the owner who may write to channels: who has asked, who is admitted. */

import { z } from "zod";
import type { RouteDeps, Server } from "./deps.ts";
import { errorSchema, ok, success } from "./schemas.ts";

const pairingSchema = z.object({
  channel: z.string(),
  user: z.string().describe("The platform's id."),
  name: z.string().describe("As the platform shows it: the person's own word."),
  requested_at: z.string(),
  expires_at: z.string().nullable().describe("Of the code; null: the person is admitted."),
  approved_at: z.string().nullable().describe("Null: not admitted yet."),
});

const approveSchema = z.strictObject({ code: z.string().min(1).max(100) });
const personSchema = z.object({ channel: z.string().max(100), user: z.string().max(200) });

export function registerPairings(server: Server, { app }: RouteDeps): void {
  server.get(
    "/api/admin/pairings",
    {
      config: { access: "admin" },
      schema: {
        tags: ["admin"],
        summary: "Who is admitted to channels, and who has asked to be; without the codes",
        response: { 200: success(z.object({ pairings: z.array(pairingSchema) })) },
      },
    },
    async () => ok({ pairings: [...(await app.pairings.list())] }),
  );

  server.post(
    "/api/admin/pairings",
    {
      config: { access: "admin", audit: "pairing.approved" },
      schema: {
        tags: ["admin"],
        summary: "Admit the person who was given this code to the channel that gave it",
        body: approveSchema,
        response: { 200: success(pairingSchema), 404: errorSchema },
      },
    },
    async (request) => {
      const pairing = await app.pairings.approve(request.body.code);
      request.auditDetails = { channel: pairing.channel, user: pairing.user, name: pairing.name };
      return ok(pairing);
    },
  );

  server.delete(
    "/api/admin/pairings/:channel/:user",
    {
      config: { access: "admin", audit: "pairing.revoked" },
      schema: {
        tags: ["admin"],
        summary: "Take nothing of this person any more",
        params: personSchema,
        response: { 200: success(pairingSchema), 404: errorSchema },
      },
    },
    async (request) => {
      const { channel, user } = request.params;
      request.auditDetails = { channel, user };
      return ok(await app.pairings.revoke(channel, user));
    },
  );
}
