/** Requests of chat platforms: whether one is the platform's, its channel decides. */

import { z } from "zod";
import { RuntimeError } from "../contracts/errors.ts";
import type { RouteDeps, Server } from "./deps.ts";
import { errorSchema, ok, success } from "./schemas.ts";

export function registerWebhooks(server: Server, { app }: RouteDeps): void {
  server.post(
    "/api/channels/:id/webhook",
    {
      config: { access: "public" },
      schema: {
        tags: ["channels"],
        summary: "For the chat platform of the channel: a message, with the secret that the platform was given",
        params: z.object({ id: z.string().max(100) }),
        body: z.unknown(),
        response: { 200: success(z.object({})), 401: errorSchema, 404: errorSchema, 503: errorSchema },
      },
    },
    async (request) => {
      const webhook = app.webhooks.get(request.params.id);
      if (webhook === undefined) throw new RuntimeError("RUNTIME_NOT_FOUND", "No channel takes requests here.");
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : value]),
      );
      const { status } = await webhook.handle({ headers, body: request.body });
      if (status === 401)
        throw new RuntimeError("RUNTIME_UNAUTHORIZED", "The secret of the request is not the right one.");
      if (status !== 200) throw new RuntimeError("RUNTIME_NOT_READY", "The message could not be taken; send it again.");
      return ok({});
    },
  );
}
