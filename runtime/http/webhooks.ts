/** Requests of chat platforms: whether one is the platform's, its channel decides. */

import type { FastifyRequest } from "fastify";
import { z } from "zod";
import type { Webhook, WebhookRequest } from "../contracts/channel.ts";
import { RuntimeError } from "../contracts/errors.ts";
import type { RouteDeps, Server } from "./deps.ts";
import { errorSchema, ok, success } from "./schemas.ts";

/** Of a message of a platform, many times over. */
const MOST_BYTES = 256 * 1024;

export function registerWebhooks(server: Server, { app }: RouteDeps): void {
  function webhookOf({ id }: { readonly id: string }): Webhook {
    const webhook = app.webhooks.get(id);
    if (webhook === undefined) throw new RuntimeError("RUNTIME_NOT_FOUND", "No channel takes requests here.");
    return webhook;
  }

  server.post(
    "/api/channels/:id/webhook",
    {
      bodyLimit: MOST_BYTES,
      // Before the body: without the secret nothing is read.
      onRequest(request, _reply, done) {
        if (webhookOf(request.params).isAuthentic(headersOf(request))) return done();
        done(new RuntimeError("RUNTIME_UNAUTHORIZED", "The secret of the request is not the right one."));
      },
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
      const webhook = webhookOf(request.params);
      const { status } = await webhook.handle({ headers: headersOf(request), body: request.body });
      if (status !== 200) throw new RuntimeError("RUNTIME_NOT_READY", "The message could not be taken; send it again.");
      return ok({});
    },
  );
}

function headersOf({ headers }: FastifyRequest): WebhookRequest["headers"] {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : value]),
  );
}
