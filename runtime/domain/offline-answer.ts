import type { Role } from "../contracts/message.ts";

/** Answers of an agent without a model: they repeat what memory found, and are no knowledge of their own. */

/** Said at the end of every such answer, and how one is recognized where it is stored. */
export const NO_MODEL = "No language model is configured, so all I can do is look things up.";

export function isOfflineAnswer({ role, content }: { readonly role: Role | null; readonly content: string }): boolean {
  return role === "assistant" && content.includes(NO_MODEL);
}
