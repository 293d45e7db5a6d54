import type { Issue } from "../../contracts/errors.ts";
import { parseSessionKey } from "../../domain/session-key.ts";

/**
 * The sessions in which the service's own agents have their turns. What stands there an agent takes for its own
 * conversation: a token for writing or for capture must not speak in it as the owner, the assistant or the system.
 */

/** What is wrong with the key when it names such a session; null when it may be written to. */
export function refuseTurnSession(sessionKey: string, agents: ReadonlySet<string>): Issue | null {
  const parts = parseSessionKey(sessionKey);
  if (parts === null || !agents.has(parts.agent)) return null;
  return { path: "session_key", message: "is a session of this service's own agent, whose turns alone write to it" };
}
