/** Recordings as bodies: a form with a `file`, as OpenAI's clients send them, or the audio itself with its names in the query. */

import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { RuntimeError } from "../contracts/errors.ts";
import type { Server } from "./deps.ts";
import { sessionSchema, userSchema } from "./schemas.ts";

/** Bytes of a recording: what OpenAI's transcription takes. */
export const MAX_RECORDING = 25 * 1024 * 1024;
/** Bytes of a form's names and lines around it. */
export const FORM_BYTES = 64 * 1024;
/** Parts of a form: three are of use. */
const MAX_PARTS = 10;
const FORM_TYPE = /^multipart\/form-data; ?boundary=(?:"([\w'()+,./:=? -]{1,70})"|([\w'+.-]{1,70}))$/i;

export const recordingSchema = z.strictObject({
  file: z.file().describe("The recording; its media type is that of its part, or that of its name."),
  session: sessionSchema.describe("The client's name of the conversation."),
  user: userSchema.optional().describe("Whom the client speaks for; without it the token's own."),
});

export const recordingQuery = z.strictObject({ session: sessionSchema.optional(), user: userSchema.optional() });

/** In the scope of the routes that take recordings: no other body is taken there. */
export function installRecordingParsers(scope: Server): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(
    "multipart/form-data",
    { parseAs: "buffer" },
    async (request: FastifyRequest, body: Buffer) =>
      fieldsOf(await formOf(body, request.headers["content-type"] ?? "")),
  );
  scope.addContentTypeParser(
    /^audio\/[\w.+-]+/i,
    { parseAs: "buffer" },
    async (request: FastifyRequest, body: Buffer) => ({
      // The bytes are the body's own.
      file: new File([body as Uint8Array<ArrayBuffer>], "", { type: request.headers["content-type"] ?? "" }),
      ...Object(request.query),
    }),
  );
}

async function formOf(body: Buffer, contentType: string): Promise<FormData> {
  assertParts(body, contentType);
  try {
    return await new Response(body as Uint8Array<ArrayBuffer>, { headers: { "content-type": contentType } }).formData();
  } catch (cause) {
    throw notForm(cause);
  }
}

function notForm(cause?: unknown): RuntimeError {
  return new RuntimeError("RUNTIME_INVALID_REQUEST", "The body is not a form of the type multipart/form-data.", {
    cause,
  });
}

/** Before it is read: each part costs memory, however few bytes it has. */
function assertParts(body: Buffer, contentType: string): void {
  // Exactly what clients write, so that no other boundary is found here than where the parts are read.
  const [, quoted, plain] = FORM_TYPE.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) throw notForm();
  const line = `--${boundary}`;
  let parts = -1;
  for (let at = body.indexOf(line); at >= 0; at = body.indexOf(line, at + line.length)) {
    if (++parts > MAX_PARTS) {
      throw new RuntimeError("RUNTIME_INVALID_REQUEST", `A form with a recording has at most ${MAX_PARTS} parts.`);
    }
  }
}

/** A field that comes twice is a list, which no field may be. */
function fieldsOf(form: FormData): Record<string, unknown> {
  return Object.fromEntries(
    [...new Set(form.keys())].map((name) => {
      const values = form.getAll(name);
      return [name, values.length === 1 ? values[0] : values];
    }),
  );
}
