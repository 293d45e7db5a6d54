/** A session is (agent, channel, channel-side conversation, user); its key is those four, percent-encoded, joined by colons. */

export interface SessionParts {
  readonly agent: string;
  readonly channel: string;
  readonly conversation: string;
  readonly user: string;
}

export function sessionKey(parts: SessionParts): string {
  return [parts.agent, parts.channel, parts.conversation, parts.user].map(encodePart).join(":");
}

/** Null when the text is no key that `sessionKey` could have made. */
export function parseSessionKey(key: string): SessionParts | null {
  const fields = key.split(":");
  if (fields.length !== 4) return null;
  try {
    const [agent = "", channel = "", conversation = "", user = ""] = fields.map(decodeURIComponent);
    return { agent, channel, conversation, user };
  } catch {
    return null;
  }
}

/** encodeURIComponent refuses lone surrogates; the writer replaces them in the same way. */
function encodePart(part: string): string {
  return encodeURIComponent(part.toWellFormed());
}
