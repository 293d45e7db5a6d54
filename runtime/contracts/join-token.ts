/** The text of a token that lets a node join: where, whom to trust there, and a secret. Pure. */

import { createHash } from "node:crypto";
import { z } from "zod";
import type { JoinToken } from "./membership.ts";

/** What such a text begins with. */
export const JOIN_TOKEN_PREFIX = "cairn-join-";

const tokenSchema = z.strictObject({
  url: z.url({ protocol: /^https$/ }).max(500),
  node: z.string().regex(/^[0-9a-f]{32}$/),
  pins: z
    .array(z.string().regex(/^(?:[0-9A-F]{2}:){31}[0-9A-F]{2}$/))
    .min(1)
    .max(2),
  expires_at: z.iso.datetime(),
  secret: z.string().regex(/^[\w-]{43}$/),
});

export function writeJoinToken(token: JoinToken): string {
  return JOIN_TOKEN_PREFIX + Buffer.from(JSON.stringify(token)).toString("base64url");
}

/** Null for what is no such token: cut off, of another kind, or of a later version. */
export function readJoinToken(text: string): JoinToken | null {
  const body = text.trim();
  if (!body.startsWith(JOIN_TOKEN_PREFIX) || body.length > 4_096) return null;
  try {
    return tokenSchema.parse(
      JSON.parse(Buffer.from(body.slice(JOIN_TOKEN_PREFIX.length), "base64url").toString("utf8")),
    );
  } catch {
    return null;
  }
}

/** What is stored of it. */
export function secretHash(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
