import { createHash } from "node:crypto";
import type { Selection } from "../../contracts/forgetting.ts";
import { sanitize } from "../../domain/cap.ts";
import { containing, type Values } from "../recall/sql.ts";

/** What the owner selects to be erased, as conditions of SQL. */

/** The condition on `messages as m join conversations as c`. */
export function selected(selection: Selection, values: Values): string {
  switch (selection.kind) {
    case "messages":
      return `m.id = any(${values.add(selection.ids)}::uuid[])`;
    case "conversation":
      return `m.conversation_id = ${values.add(selection.id)}::uuid`;
    case "session":
      return `c.session_key = ${values.add(selection.key)}`;
    case "user":
      return ofUser("c", selection, values);
    case "matching":
      return matching(selection.text, values);
  }
}

/** The condition on `inbox as i`; null where a selection names no sessions: then turns go with their messages alone. */
export function selectedTurns(selection: Selection, values: Values): string | null {
  if (selection.kind === "session") return `i.session_key = ${values.add(selection.key)}`;
  return selection.kind === "user" ? ofUser("i", selection, values) : null;
}

/** The same selection has the same hash, in whatever order its ids are. */
export function hashOf(selection: Selection): string {
  const canonical = selection.kind === "messages" ? { ...selection, ids: [...selection.ids].sort() } : selection;
  const framed = Object.entries(canonical).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256").update(JSON.stringify(framed)).digest("hex");
}

function ofUser(alias: "c" | "i", { user, channel }: Extract<Selection, { kind: "user" }>, values: Values): string {
  const ofOne = `${alias}.user_id = ${values.add(user)}`;
  return channel === undefined ? ofOne : `${ofOne} and ${alias}.channel = ${values.add(channel)}`;
}

/** Literally, in any case, in whatever a row holds. Arguments are JSON, where a text stands as JSON writes it. */
function matching(text: string, values: Values): string {
  const plain = values.add(containing(sanitize(text)));
  const inJson = values.add(containing(JSON.stringify(sanitize(text)).slice(1, -1)));
  const either = (row: string) =>
    `${row}.content ilike ${plain} or ${row}.tool_result ilike ${plain} or ${row}.tool_args::text ilike ${inJson}`;
  return `(${either("m")} or m.metadata::text ilike ${inJson}
    or exists (select from payloads p where p.message_id = m.id and (${either("p")})))`;
}
