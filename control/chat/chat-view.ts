/** Renders a turn on a terminal: pure, from one event to the text that it adds. */

import { approvalCode } from "../../runtime/contracts/approvals.ts";
import { fromErrorBody } from "../../runtime/contracts/errors.ts";
import type { StreamEvent } from "../../runtime/contracts/stream.ts";
import { describeFailure, failureText } from "../output/failure.ts";
import type { Mark } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";
import { wrap } from "../output/wrap.ts";
import { flowingText } from "./flowing-text.ts";

export interface ChatView {
  /** Text to append for the event; it may end in the middle of a line. */
  show(event: StreamEvent): string;
  /** Text for something that went wrong; ends with a newline. */
  showError(error: unknown): string;
  /** A word of ours between the agent's, on lines of its own. */
  showNote(note: string): string;
}

const LONGEST_DETAIL = 96;

export interface ChatViewOptions {
  /** Gives the words of an error with their commands as they have to be typed. */
  readonly typed?: (words: string) => string;
  /** Of the terminal, asked anew for each word; undefined: no line is broken. */
  readonly columns?: () => number | undefined;
}

export function createChatView(
  mark: Mark,
  { typed = (words) => words, columns = () => undefined }: ChatViewOptions = {},
): ChatView {
  const flow = flowingText(columns);
  /** Text of the reply that this attempt has shown so far. */
  let shown = "";
  let inLine = false;
  let reasoning = false;
  /** A turn that has waited starts again: it was not interrupted. */
  let asked = false;

  const text = (piece: string): string => {
    if (piece !== "") inLine = !piece.endsWith("\n");
    return piece;
  };
  /** What a model writes, in pieces. */
  const written = (piece: string): string => text(flow.push(plain(piece)));
  const freshLine = (): string => {
    const rest = flow.end();
    const last = text(reasoning ? mark.dim(rest) : rest);
    return inLine ? `${last}${text("\n")}` : last;
  };
  /** The same text as whole lines. */
  const wrapped = (content: string): string => wrap(content, 0, columns()).join("\n");
  const line = (content: string): string => `${freshLine()}${text(`${content}\n`)}`;

  function show(event: StreamEvent): string {
    switch (event.type) {
      case "turn.started": {
        const again = event.attempt > 1 && !asked;
        asked = false;
        shown = "";
        return again ? line(mark.dim("(the turn was interrupted and goes on)")) : "";
      }
      case "reasoning.delta": {
        const lead = reasoning ? "" : freshLine();
        reasoning = true;
        return `${lead}${text(mark.dim(flow.push(plain(event.text))))}`;
      }
      case "text.delta": {
        const lead = reasoning ? freshLine() : "";
        reasoning = false;
        shown += event.text;
        return `${lead}${written(event.text)}`;
      }
      case "tool.started":
        return line(mark.dim(`· ${visible(event.name)} ${brief(JSON.stringify(event.arguments))}`));
      case "tool.finished": {
        const symbol = event.ok ? mark.dim("✓") : mark.error("✗");
        return line(`${symbol} ${mark.dim(`${visible(event.name)}: ${brief(event.result)}`)}`);
      }
      case "tool.progress":
        return line(mark.dim(`· ${brief(event.text)}`));
      case "turn.message":
        return line(wrapped(plain(event.text)));
      case "turn.attachment": {
        const { name, media_type: type, size, sha256, caption } = event.attachment;
        const path = `turns/${event.turn_id}/attachments/${sha256}`;
        const about = caption === undefined ? "" : line(wrapped(plain(caption)));
        return `${about}${line(`${visible(name)} (${visible(type)}, ${size} bytes)`)}${line(mark.dim(path))}`;
      }
      case "turn.waiting": {
        const { id, text: question, choices, approval } = event.question;
        asked = true;
        const code = approvalCode(id);
        const howToAnswer =
          approval === undefined
            ? "Answer with /answer TEXT, or /stop."
            : `Decide with /approve ${code}, /approve ${code} always, or /deny ${code}.`;
        const offered = choices.length > 0 ? ` (${choices.map(visible).join(" / ")})` : "";
        return `${line(wrapped(`? ${plain(question)}${offered}`).replace("?", mark.warn("?")))}${line(mark.dim(howToAnswer))}`;
      }
      case "turn.finished": {
        const rest = missing(shown, event.text);
        const reply = rest.whole ? `${freshLine()}${written(rest.text)}` : written(rest.text);
        const end = freshLine();
        const notice = event.notice ? line(mark.warn(wrapped(`! ${visible(event.notice)}`))) : "";
        shown = "";
        reasoning = false;
        return `${reply}${end}${notice}`;
      }
      case "turn.failed": {
        shown = "";
        reasoning = false;
        return showError(fromErrorBody(event.error));
      }
    }
  }

  function showError(error: unknown): string {
    return `${freshLine()}${text(wrapped(typed(failureText(describeFailure(error), mark))))}`;
  }

  return { show, showError, showNote: (note) => line(mark.dim(wrapped(note))) };
}

/** What of the reply has not been shown yet: the rest, or all of it when something else was shown. */
function missing(shown: string, reply: string): { readonly text: string; readonly whole: boolean } {
  if (reply.startsWith(shown)) return { text: reply.slice(shown.length), whole: false };
  return shown.includes(reply.trim()) ? { text: "", whole: false } : { text: reply, whole: true };
}

function plain(text: string): string {
  return visible(text.replaceAll("\r", ""));
}

function brief(text: string): string {
  const one = visible(text.replace(/\s+/g, " ").trim());
  return one.length > LONGEST_DETAIL ? `${one.slice(0, LONGEST_DETAIL - 1)}…` : one;
}
