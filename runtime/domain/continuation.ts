/**
 * What the next model is shown of a reply that broke off: the text so far as the assistant's, and a message that asks to go on.
 * The last message is the user's, because some models refuse a conversation that ends with the assistant's words. Pure.
 */

import type { Message } from "../contracts/message.ts";

const GO_ON =
  "[Note of the service] Your reply above was interrupted by a technical failure; the user has seen it as far as it goes. " +
  "Continue from there: do not repeat it, do not greet, do not mention the interruption. Tool calls that it may have been about " +
  "to make were not made.";

/** Nothing where the half reply is blank: no API takes a message without words. */
export function continuationMessages(text: string): readonly Message[] {
  if (text.trim() === "") return [];
  return [
    { role: "assistant", content: text },
    { role: "user", content: GO_ON, aside: true },
  ];
}
