/** Sessions as a table: what they are about is last, and as long as it may be. */

import type { SessionRecord } from "../../runtime/client/index.ts";
import { columns, type Mark } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";
import { shortened, shortTime } from "./render-rows.ts";

const LONGEST_TITLE = 60;

/** The sessions of agents: their names are what `cairn chat --session` takes. */
export function renderSessions(sessions: readonly SessionRecord[], mark: Mark): string {
  const head = ["AGENT", "SESSION", "USER", "CHANNEL", "MESSAGES", "LAST", "ABOUT"];
  return table(
    head,
    sessions.map((session) => [session.agent, nameOf(session), userOf(session), ...common(session)]),
    mark,
  );
}

/** Every conversation: their ids are what `cairn memory browse --conversation` takes. */
export function renderConversations(sessions: readonly SessionRecord[], mark: Mark): string {
  const head = ["ID", "AGENT", "SESSION", "CHANNEL", "MESSAGES", "LAST", "ABOUT"];
  return table(
    head,
    sessions.map((session) => [session.conversation_id, session.agent, nameOf(session), ...common(session)]),
    mark,
  );
}

function common({ channel, messages, last_at, title }: SessionRecord): string[] {
  const about = (title ?? "").replace(/\s+/g, " ").trim();
  return [channel, `${messages}`, shortTime(last_at), shortened(about, LONGEST_TITLE)];
}

export function nameOf({ name, session_key }: Pick<SessionRecord, "name" | "session_key">): string {
  return name ?? session_key;
}

function userOf({ user, opened_by }: SessionRecord): string {
  return user === "" && opened_by === "turn" ? "owner" : user;
}

function table(head: readonly string[], rows: readonly (readonly string[])[], mark: Mark): string {
  const [first = "", ...rest] = columns([head, ...rows.map((row) => row.map(visible))]).split("\n");
  return [mark.dim(first), ...rest].join("\n");
}
