/**
 * Request bodies that are read into memory: how many bytes of them are held at once, and how long one may take to arrive.
 * JSON takes many times its bytes once it is parsed, so that a few large bodies at once could end the process.
 */

import { Readable } from "node:stream";
import type { FastifyRequest } from "fastify";
import { RuntimeError } from "../contracts/errors.ts";
import { ByteBudget, type ByteShare } from "../domain/byte-budget.ts";
import { hasMoreValues } from "../domain/json-size.ts";
import type { Server, ServerLimits } from "./deps.ts";
import { chunksOf } from "./transfer.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The handler reads the body as a stream; it is never in memory as a whole. */
    streamedBody?: true;
  }
  interface FastifyRequest {
    /** What the body holds of the budget; null where there is none, and once it was released. */
    bodyShare: ByteShare | null;
  }
}

/** Seconds after which a refused sender may find room: about what a large batch takes. */
const RETRY_AFTER_S = 5;

export function installBodyBudget(server: Server, limits: ServerLimits): void {
  const { bytesInFlight, bytesInFlightPerToken: perHolder } = limits;
  const budget = new ByteBudget({ total: bytesInFlight, perHolder });
  // Of its own: whatever others send, the owner finds room.
  const ownersBudget = new ByteBudget({ total: perHolder, perHolder });
  server.decorateRequest("bodyShare", null);
  // After authentication, before the first byte is read.
  server.addHook("preParsing", (request, reply, payload, done) => {
    const { headers, raw, routeOptions } = request;
    if (routeOptions.config.streamedBody) return done(null, payload);
    const chunked = headers["transfer-encoding"] !== undefined;
    const declared = chunked ? 0 : Number(headers["content-length"] ?? 0);
    // What is over the route's limit is refused by the parser, without being read.
    if (!chunked && !(declared > 0 && declared <= routeOptions.bodyLimit)) return done(null, payload);
    const { principal } = request;
    const share = (principal?.owner ? ownersBudget : budget).shareOf(principal?.id ?? "");
    request.bodyShare = share;
    reply.raw.once("close", share.release);
    if (reply.raw.destroyed) share.release();
    if (!chunked && !share.take(declared)) return done(overloaded());
    if (!chunked && raw.complete !== false) return done(null, payload);
    const arriving = Readable.from(arrivingBody(payload, chunked ? share : null, limits), { objectMode: false });
    // The parser stops listening when it has refused a body; a later failure has no effect.
    arriving.on("error", () => undefined);
    done(null, arriving);
  });
}

/** JSON is counted before it is parsed: a megabyte of `{},{},…` becomes a hundred. RUNTIME_BODY_TOO_LARGE above the limit. */
export function installJsonParser(server: Server, { jsonValues }: ServerLimits): void {
  const parse = server.getDefaultJsonParser("error", "error");
  server.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    if (hasMoreValues(bytes, jsonValues)) {
      const message = `A body has at most ${jsonValues} values: send less at once.`;
      return done(new RuntimeError("RUNTIME_BODY_TOO_LARGE", message));
    }
    return parse(request, bytes.toString("utf8"), done);
  });
}

/** For routes that answer long after they have taken their body: what it held is free for others. */
export function releaseBody(request: FastifyRequest): void {
  request.body = undefined;
  request.bodyShare?.release();
  request.bodyShare = null;
}

/** Whether a body that was announced has not come to its end. */
export function isBodyPending({ headers, raw }: FastifyRequest): boolean {
  const announced = headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
  return announced && raw.complete === false;
}

async function* arrivingBody(
  payload: Readable,
  share: ByteShare | null,
  { stallMs, bodyMs }: ServerLimits,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunksOf(payload, stallMs, bodyMs)) {
    if (share && !share.take(chunk.length)) {
      share.release();
      throw overloaded();
    }
    yield chunk;
  }
}

function overloaded(): RuntimeError {
  return new RuntimeError("RUNTIME_RATE_LIMITED", "Too many large requests are at work; send this one again later.", {
    retryAfterS: RETRY_AFTER_S,
  });
}
