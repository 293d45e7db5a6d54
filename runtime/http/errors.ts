/** Every failure leaves the server in one shape: the envelope, OpenAI's under /v1, JSON-RPC's at /mcp. Causes go to the log only. */

import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { hasZodFastifySchemaValidationErrors } from "fastify-type-provider-zod";
import { CairnError, type ErrorBody, type Issue, RuntimeError, toCairnError } from "../contracts/errors.ts";
import { codeOf } from "../contracts/system-errors.ts";
import { issueWords, withoutRepeats } from "../domain/issue-words.ts";
import type { Server } from "./deps.ts";

export interface ErrorEnvelope {
  readonly ok: false;
  readonly error: ErrorBody;
}

export function installErrorHandling(server: Server): void {
  server.setErrorHandler((error, request, reply) => sendError(request, reply, translate(error)));
  server.setNotFoundHandler((request, reply) => sendError(request, reply, notFound(request)));
  // Before the body is read: there is no route that would use it.
  server.addHook("onRequest", (request, _reply, done) => done(request.is404 ? notFound(request) : undefined));
}

/** Errors that arise before a route is found: a malformed URL. No hook runs for them, so the connection ends here. */
export function frameworkError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  reply.header("connection", "close");
  sendError(request, reply, translate(error));
}

/** Bytes that are no HTTP request; the connection ends `lingerMs` after the answer, whatever the client does. */
export function clientError(error: Error & { code?: string }, socket: Socket, lingerMs: number): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = error.code === "HPE_HEADER_OVERFLOW" ? 431 : error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400;
  const reason = STATUS_CODES[status] ?? "Bad Request";
  const refusal = new RuntimeError("RUNTIME_INVALID_REQUEST", `The request could not be read: ${reason}.`);
  const body = JSON.stringify(envelope(refusal));
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  const end = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(end));
}

export function sendError(request: FastifyRequest, reply: FastifyReply, error: CairnError): FastifyReply {
  const status = error.status;
  const log = { err: error.details.cause ?? error, code: error.code, turn_id: error.details.turnId };
  if (status >= 500 && !error.retryable) request.log.error(log, "request failed");
  else if (status >= 500) request.log.warn(log, "request failed");
  else request.log.debug(log, "request refused");
  const wait = error.details.retryAfterS ?? (status === 503 || status === 429 ? DEFAULT_RETRY_S[status] : undefined);
  if (wait !== undefined) reply.header("retry-after", String(Math.max(1, Math.ceil(wait))));
  if (error.details.turnId) {
    reply.header("x-turn-id", error.details.turnId);
    // The message is stored: a client library that sends it again by itself would start a second turn.
    if (isOpenAi(request)) reply.header("x-should-retry", "false");
  }
  return reply
    .code(status)
    .type("application/json; charset=utf-8")
    .serializer(JSON.stringify)
    .send(bodyFor(request, error));
}

function bodyFor(request: FastifyRequest, error: CairnError): object {
  if (isOpenAi(request)) return openAiError(error);
  return pathOf(request.raw) === "/mcp" ? jsonRpcError(error) : envelope(error);
}

const NOT_JSON = "The body is not valid JSON.";

const DEFAULT_RETRY_S = { 503: 2, 429: 30 } as const;

export function envelope(error: CairnError): ErrorEnvelope {
  return { ok: false, error: error.toBody() };
}

/** What is refused before it is known which request of the Model Context Protocol it was; `data` is the envelope's error. */
function jsonRpcError(error: CairnError): object {
  const { message, hint } = error.toBody();
  const code = error.message === NOT_JSON ? -32_700 : error.status < 500 ? -32_600 : -32_603;
  return {
    jsonrpc: "2.0",
    error: { code, message: hint ? `${message} ${hint}` : message, data: error.toBody() },
    id: null,
  };
}

/** What OpenAI's clients expect of an error; `code` is Cairn's where OpenAI has none. */
export function openAiError(error: CairnError): { error: Record<string, unknown> } {
  const { turn_id, hint, issues } = error.toBody();
  return {
    error: {
      message: hint ? `${error.message} ${hint}` : error.message,
      type: openAiType(error.status),
      param: error.code === "RUNTIME_AGENT_UNKNOWN" ? "model" : issues?.[0]?.path || null,
      code: OPENAI_CODES[error.code] ?? error.code,
      ...(turn_id ? { turn_id } : {}),
    },
  };
}

const OPENAI_CODES: { readonly [code: string]: string } = {
  RUNTIME_AGENT_UNKNOWN: "model_not_found",
  RUNTIME_UNAUTHORIZED: "invalid_api_key",
  RUNTIME_RATE_LIMITED: "rate_limit_exceeded",
  RUNTIME_INVALID_REQUEST: "invalid_request",
};

function openAiType(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

/** Anything thrown, as an error that may be shown: what the framework refuses gets a code, the text of a driver is not shown. */
export function translate(error: unknown): CairnError {
  if (error instanceof CairnError) {
    if (error.code !== "MEMORY_QUERY_FAILED") return error;
    return new RuntimeError("RUNTIME_INTERNAL", "The store refused a query; the log has the details.", {
      ...error.details,
      cause: error,
    });
  }
  if (hasZodFastifySchemaValidationErrors(error)) return invalidRequest(issuesOf(error.validation));
  if (isCode(error, "FST_ERR_CTP_BODY_TOO_LARGE")) {
    return new RuntimeError("RUNTIME_BODY_TOO_LARGE", "The body is too large.", { cause: error });
  }
  if (isCode(error, "FST_ERR_CTP_INVALID_MEDIA_TYPE")) {
    return new RuntimeError("RUNTIME_UNSUPPORTED_MEDIA_TYPE", "The body must be application/json.", { cause: error });
  }
  if (isCode(error, "FST_ERR_CTP_EMPTY_JSON_BODY"))
    return invalid("The body is empty; a JSON object is needed.", error);
  if (isCode(error, "FST_ERR_CTP_INVALID_CONTENT_LENGTH")) {
    return invalid("The body is shorter or longer than its Content-Length.", error);
  }
  if (isCode(error, "FST_ERR_BAD_URL")) return invalid("The path is not properly encoded.", error);
  // A parse error of the JSON body: its own message would quote the body.
  if (error instanceof SyntaxError || isCode(error, "FST_ERR_CTP_INVALID_JSON_BODY")) {
    return invalid(NOT_JSON, error);
  }
  const status = error instanceof Error && "statusCode" in error ? error.statusCode : undefined;
  if (typeof status === "number" && status >= 400 && status < 500) return invalid("The request is not valid.", error);
  return toCairnError(error);
}

function invalidRequest(issues: readonly Issue[]): RuntimeError {
  const said = issues.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join("; ");
  return new RuntimeError("RUNTIME_INVALID_REQUEST", `The request is not valid: ${said || "see issues"}.`, { issues });
}

/** RFC 6901 pointers of the validator become the dotted paths of our issues. */
function issuesOf(validation: readonly { instancePath: string; message?: string | undefined }[]): Issue[] {
  return withoutRepeats(
    validation.slice(0, 20).map(({ instancePath, message }) => ({
      path: instancePath.replace(/^\//, "").replaceAll("/", "."),
      message: issueWords(message ?? "is not valid"),
    })),
  );
}

function invalid(message: string, cause: unknown): RuntimeError {
  return new RuntimeError("RUNTIME_INVALID_REQUEST", message, { cause });
}

/** What a client library asks for when its base URL lacks /v1. */
const OPENAI_PATHS = /^\/(?:chat\/completions|completions|responses|models|embeddings)(?:\/|$)/;

function notFound(request: FastifyRequest): RuntimeError {
  const path = pathOf(request.raw);
  const hint = OPENAI_PATHS.test(path) ? "The base URL of OpenAI's clients ends in /v1 here." : undefined;
  return new RuntimeError(
    "RUNTIME_NOT_FOUND",
    `There is no route ${request.method} ${path}.`,
    hint === undefined ? {} : { hint },
  );
}

/** The path without its query, which may hold what should not be repeated. */
function pathOf(raw: IncomingMessage): string {
  return (raw.url ?? "/").split("?", 1)[0]?.slice(0, 200) ?? "/";
}

function isOpenAi(request: FastifyRequest): boolean {
  return pathOf(request.raw).startsWith("/v1/");
}

function isCode(error: unknown, code: string): boolean {
  return codeOf(error) === code;
}
