/** Talking to an agent: a recording in, the turn's events out, with its words as speech between them. */

import { z } from "zod";
import { RuntimeError } from "../contracts/errors.ts";
import type { SpokenEvent, Voice } from "../contracts/voice.ts";
import { callerOf } from "./auth.ts";
import { releaseBody } from "./bodies.ts";
import type { RouteDeps, Server } from "./deps.ts";
import { formatFrame, sendEventStream } from "./event-stream.ts";
import { FORM_BYTES, installRecordingParsers, MAX_RECORDING, recordingQuery, recordingSchema } from "./recordings.ts";
import { errorSchema, idempotencyKeySchema, oneOf } from "./schemas.ts";
import { agentCaller, nameTurn, requireAgent } from "./turns.ts";

const agentParams = z.object({ name: z.string() });

const spokenSchema = z
  .string()
  .describe(
    "Event voice.transcript, then the events of a turn, with voice.audio between them: a sentence in base64, whole, in order. " +
      "voice.failed, once, says that no more of this reply is spoken. `data` is the event as JSON; `id`, of the turn's own events, is " +
      "for following the turn without sound.",
  );

export function registerVoice(server: Server, deps: RouteDeps): void {
  const { app, limits, closing, voice } = deps;

  server.register(async (scope: Server) => {
    installRecordingParsers(scope);

    scope.post(
      "/api/agents/:name/voice",
      {
        bodyLimit: MAX_RECORDING + FORM_BYTES,
        config: { access: "agent" },
        onRequest: async (request) => {
          requireAgent(app, agentParams.parse(request.params).name);
          requireVoice(voice);
        },
        schema: {
          tags: ["agents"],
          summary: "Talk to an agent",
          description:
            "A recording, as a form or as a body of its own type with `session` and `user` in the query. It is transcribed, and its words " +
            "are a message as any other, also where they begin with a slash. Once it is received, a client that goes away ends nothing. " +
            "422 where nothing was said: there is no turn.",
          consumes: ["multipart/form-data", "audio/*"],
          params: agentParams,
          querystring: recordingQuery,
          headers: z.looseObject({
            "idempotency-key": idempotencyKeySchema
              .optional()
              .describe("A repeat with this key is the same message, and is not transcribed again."),
          }),
          body: recordingSchema,
          response: {
            200: oneOf("The turn's events and its speech", { "text/event-stream": spokenSchema }),
            404: errorSchema,
            409: errorSchema,
            422: errorSchema,
            502: errorSchema,
            504: errorSchema,
          },
        },
      },
      async (request, reply) => {
        const channel = requireVoice(voice);
        const { file, session, user } = request.body;
        const agent = request.params.name;
        const idempotencyKey = request.headers["idempotency-key"];
        if (file.size > MAX_RECORDING) throw new RuntimeError("RUNTIME_BODY_TOO_LARGE", "The recording is too large.");
        const { turnId, transcript } = await channel.hear({
          agent,
          session,
          recording: { name: file.name, mediaType: file.type, data: await file.bytes() },
          caller: agentCaller(callerOf(request)),
          ...(user === undefined ? {} : { user }),
          ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
        });
        releaseBody(request);
        nameTurn(reply, turnId);
        async function* frames(signal: AbortSignal) {
          yield toFrame({ event: { type: "voice.transcript", turn_id: turnId, text: transcript } });
          const events = app.turns.events(agent, turnId, 0, signal);
          for await (const spoken of channel.speak(events, signal)) yield toFrame(spoken);
        }
        await sendEventStream(reply, frames, { heartbeatMs: limits.heartbeatMs, stallMs: limits.stallMs, closing });
      },
    );
  });
}

function toFrame(spoken: SpokenEvent): string {
  const { event } = spoken;
  return formatFrame({ ...("id" in spoken ? { id: spoken.id } : {}), event: event.type, data: event });
}

function requireVoice(voice: Voice | null | undefined): Voice {
  if (voice) return voice;
  throw new RuntimeError("RUNTIME_NOT_FOUND", "This node has no channel for recordings.", {
    hint: "Add a channel of the kind voice to cairn.yaml, with its routes for transcription and speech (docs/channels.md).",
  });
}
