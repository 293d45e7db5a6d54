/** Renders a turn on a terminal: pure, from one event to the text that it adds. */

import { fromErrorBody } from "../../runtime/contracts/errors.ts";
import type { StreamEvent } from "../../runtime/contracts/stream.ts";
import { describeFailure, failureText } from "../output/failure.ts";
import type { Mark } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";

export interface ChatView {
  /** Text to append for the event; it may end in the middle of a line. */
  show(event: StreamEvent): string;
  /** Text for something that went wrong; ends with a newline. */
  showError(error: unknown): string;
}

const LONGEST_DETAIL = 96;

/** `typed` gives the words of an error with their commands as they have to be typed. */
export function createChatView(mark: Mark, typed: (words: string) => string = (words) => words): ChatView {
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
  const freshLine = (): string => (inLine ? text("\n") : "");
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
        return `${lead}${text(mark.dim(plain(event.text)))}`;
      }
      case "text.delta": {
        const lead = reasoning ? freshLine() : "";
        reasoning = false;
        shown += event.text;
        return `${lead}${text(plain(event.text))}`;
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
        return line(plain(event.text));
      case "turn.waiting": {
        const { text: question, choices } = event.question;
        asked = true;
        const offered = choices.length > 0 ? ` (${choices.map(visible).join(" / ")})` : "";
        return `${line(`${mark.warn("?")} ${plain(question)}${offered}`)}${line(mark.dim("Answer with /answer TEXT, or /stop."))}`;
      }
      case "turn.finished": {
        const rest = missing(shown, event.text);
        const notice = event.notice ? line(mark.warn(`! ${visible(event.notice)}`)) : "";
        const reply = rest.whole ? `${freshLine()}${text(plain(rest.text))}` : text(plain(rest.text));
        shown = "";
        reasoning = false;
        return `${reply}${freshLine()}${notice}`;
      }
      case "turn.failed": {
        shown = "";
        reasoning = false;
        return showError(fromErrorBody(event.error));
      }
    }
  }

  function showError(error: unknown): string {
    return `${freshLine()}${text(typed(failureText(describeFailure(error), mark)))}`;
  }

  return { show, showError };
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
