/** What a conversation says while its node is away: that the connection is gone, that a message waits, that it is back. */

import type { CairnError } from "../../runtime/contracts/errors.ts";
import { shortened } from "../memory/render-rows.ts";
import { visible } from "../output/visible.ts";
import type { TurnWatch } from "./turn-stream.ts";

const LONGEST_TEXT = 160;

export interface Reachability {
  /** Of a message that is to be sent. */
  ofMessage(key: string, text: string): TurnWatch;
  /** Of a turn that the node has already. */
  ofTurn(): TurnWatch;
  isUnreachable(): boolean;
  /** Whether the message has waited, and the node has not confirmed it; then it is forgotten. */
  giveUp(key: string): boolean;
  /** Texts that the node has not confirmed. */
  unconfirmed(): readonly string[];
}

interface Message {
  readonly text: string;
  waits: boolean;
}

export function trackReachability(say: (text: string) => void): Reachability {
  const messages = new Map<string, Message>();
  let unreachable = false;

  const gone = (): void => {
    if (!unreachable) say("(The connection to the node is gone; it is being taken up again.)");
    unreachable = true;
  };
  const back = (): void => {
    if (unreachable) say("(The node is back.)");
    unreachable = false;
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
          unreachable = true;
        },
      };
    },
    ofTurn: () => ({ onConnection: (state) => (state === "lost" ? gone() : back()) }),
    isUnreachable: () => unreachable,
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
