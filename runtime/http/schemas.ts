/** The shapes that several routes share, in zod: they validate what comes in and describe what goes out. */

import { z } from "zod";
import { ERROR_CODES } from "../contracts/errors.ts";
import { type Access, tokenAccess } from "./auth.ts";

const issueSchema = z.object({ path: z.string(), message: z.string() });

export const errorBodySchema = z.object({
  code: z.string().describe(`One of ${Object.keys(ERROR_CODES).length} codes, such as RUNTIME_INVALID_REQUEST.`),
  message: z.string(),
  severity: z.enum(["fatal", "error", "warning", "transient"]),
  retryable: z.boolean(),
  issues: z.array(issueSchema).optional(),
  turn_id: z.string().optional(),
  hint: z.string().optional(),
});

export const errorSchema = z.object({ ok: z.literal(false), error: errorBodySchema });

export const openAiErrorSchema = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string().nullable(),
    turn_id: z.string().optional(),
  }),
});

/** Of what is refused before the protocol is reached; `data` is the error of the envelope. */
export const jsonRpcErrorSchema = z.object({
  jsonrpc: z.literal("2.0"),
  error: z.object({ code: z.number(), message: z.string(), data: errorBodySchema.optional() }),
  id: z.union([z.string(), z.number()]).nullable(),
});

/** `{ ok: true, result }`. */
export function success<Result extends z.ZodType>(result: Result) {
  return z.object({ ok: z.literal(true), result });
}

export function ok<Result>(result: Result): { ok: true; result: Result } {
  return { ok: true, result };
}

/** A response that comes in one of several media types. */
export function oneOf<Content extends Readonly<Record<string, z.ZodType>>>(description: string, content: Content) {
  const entries = Object.entries(content).map(([type, schema]) => [type, { schema }]);
  // The same keys as `content`, each wrapped.
  return {
    description,
    content: Object.fromEntries(entries) as { [Type in keyof Content]: { schema: Content[Type] } },
  };
}

/** Statuses that any route of this kind may answer with, besides the ones it names itself. */
export function usualFailures(url: string, access: Access, hasBody: boolean): Readonly<Record<number, z.ZodType>> {
  const schema = url.startsWith("/v1/") ? openAiErrorSchema : url === "/mcp" ? jsonRpcErrorSchema : errorSchema;
  const statuses = [
    ...(hasBody ? [400, 413, 415] : []),
    ...(access === "public" ? [] : [401, 429]),
    ...(access === "public" || tokenAccess(access) === "token" ? [] : [403]),
    500,
    503,
  ];
  return Object.fromEntries(statuses.map((status) => [status, schema]));
}

const printable = /^[^\p{Cc}\p{Cs}]*$/u;

/** A name that a client gives: session, user, file. */
export function nameSchema(maxLength: number) {
  return z
    .string()
    .min(1)
    .max(maxLength)
    .regex(printable, "must not have control characters")
    .refine((name) => name.trim() !== "", "must not be blank");
}

export const sessionSchema = nameSchema(256);
export const userSchema = nameSchema(256);

/** Printable ASCII, at most 255 characters, as header values go. */
export const idempotencyKeySchema = z
  .string()
  .regex(/^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/, "must be 1 to 255 printable ASCII characters");

export const MAX_TEXT = 1_000_000;
export const MAX_ATTACHMENTS = 20;

export const base64Schema = z
  .string()
  .min(1)
  .refine((data) => data.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(data), "must be base64");

export const attachmentSchema = z.strictObject({
  name: nameSchema(255),
  media_type: z.string().regex(/^[\w.+-]{1,100}\/[\w.+-]{1,100}$/, "must be a media type, such as image/png"),
  data: base64Schema.describe("Base64."),
});
