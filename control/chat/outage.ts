/** What a conversation says while its node is away: that the connection is gone, that a message waits, that it is back. */

import type { CairnError } from "../../runtime/contracts/errors.ts";
import { shortened } from "../memory/render-rows.ts";
import { visible } from "../output/visible.ts";
import type { TurnWatch } from "./turn-stream.ts";

const LONGEST_TEXT = 160;

export interface Outages {
  /** Of a message that is to be sent. */
  ofMessage(key: string, text: string): TurnWatch;
  /** Of a turn that the node has already. */
  ofTurn(): TurnWatch;
  isAway(): boolean;
  /** Whether the message has waited, and the node has not confirmed it; then it is forgotten. */
  giveUp(key: string): boolean;
  /** Texts that the node has not confirmed. */
  unconfirmed(): readonly string[];
}

interface Message {
  readonly text: string;
  waits: boolean;
}

export function createOutages(say: (text: string) => void): Outages {
  const messages = new Map<string, Message>();
  let away = false;

  const gone = (): void => {
    if (!away) say("(The connection to the node is gone; it is being taken up again.)");
    away = true;
  };
  const back = (): void => {
    if (away) say("(The node is back.)");
    away = false;
  };
  return {
    ofMessage: (key, text) => {
      const message: Message = { text, waits: false };
      messages.set(key, message);
      return {
        onConnection(state) {
          if (state === "accepted") messages.delete(key);
          if (state === "lost") gone();
          else back();
        },
        onWaiting(error) {
          if (!message.waits) say(waitingWords(error));
          message.waits = true;
          away = true;
        },
      };
    },
    ofTurn: () => ({ onConnection: (state) => (state === "lost" ? gone() : back()) }),
    isAway: () => away,
    giveUp: (key) => {
      const message = messages.get(key);
      messages.delete(key);
      return message?.waits === true;
    },
    unconfirmed: () => Array.from(messages.values(), ({ text }) => text),
  };
}

function waitingWords({ code }: CairnError): string {
  return code === "RUNTIME_DRAINING"
    ? "(The node finishes the turns that run before it stops; the message waits and is sent when it is back.)"
    : "(The node does not answer; the message waits and is sent when it is back.)";
}

export function unconfirmedWords(text: string): string {
  return `The node has not confirmed this message: ${shortened(visible(text.replace(/\s+/g, " ")), LONGEST_TEXT)}`;
}
