/** One row of the memory in words: the row whole, and in a few lines what stands around it. */

import type { ShownRow } from "../../runtime/client/index.ts";
import type { RowSession, SummaryRecord } from "../../runtime/contracts/reading.ts";
import type { Mark } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";
import { indented, NEIGHBOUR_LENGTH, renderMessage, shortened, shortTime } from "./render-rows.ts";
import { nameOf } from "./render-sessions.ts";

export function renderShown(shown: ShownRow, mark: Mark): string {
  const where = shown.session === null ? [] : [renderSession(shown.session, mark)];
  if (shown.kind === "summary") {
    const { summary, children, sources } = shown;
    return [
      ...where,
      renderSummary(summary, mark),
      ...section(
        "Summaries below it",
        children.map((child) => renderSummary(child, mark, NEIGHBOUR_LENGTH)),
        mark,
      ),
      ...section(
        sources.length < summary.message_count
          ? `${sources.length} of its ${summary.message_count} messages`
          : "Its messages",
        sources.map((row) => renderMessage(row, mark, NEIGHBOUR_LENGTH)),
        mark,
      ),
    ].join("\n\n");
  }
  const { message, missing, before, after } = shown;
  const neighbours = (rows: typeof before) =>
    rows.map((row) => mark.dim(renderMessage(row, UNMARKED, NEIGHBOUR_LENGTH)));
  return [
    ...where,
    ...neighbours(before),
    renderMessage(message, mark),
    ...(missing === null ? [] : [mark.warn(`! ${visible(missing)}`)]),
    ...neighbours(after),
  ].join("\n\n");
}

const same = (text: string): string => text;
/** Inside a dimmed text: another style would end the dimming. */
const UNMARKED: Mark = { title: same, good: same, warn: same, error: same, dim: same, name: same };

function renderSession(session: RowSession, mark: Mark): string {
  const { agent, channel, user, conversation_id: conversation } = session;
  const who = user === "" ? "" : ` with ${visible(user)}`;
  const what = `${mark.title(visible(nameOf(session)))}: ${visible(agent)} on ${visible(channel)}${who}`;
  return `${what} ${mark.dim(`conversation ${conversation}`)}`;
}

function renderSummary(summary: SummaryRecord, mark: Mark, most = Number.POSITIVE_INFINITY): string {
  const { earliest_at: earliest, latest_at: latest, message_count: count } = summary;
  const time = earliest === null || latest === null ? "" : `, ${shortTime(earliest)} to ${shortTime(latest)}`;
  const head = `${mark.name(`summary (${summary.summary_kind})`)} of ${count} messages${time} ${mark.dim(summary.id)}`;
  return `${head}\n${indented(shortened(visible(summary.content.trim()), most))}`;
}

function section(title: string, parts: readonly string[], mark: Mark): string[] {
  return parts.length === 0 ? [] : [mark.title(`${title}:`), ...parts];
}
