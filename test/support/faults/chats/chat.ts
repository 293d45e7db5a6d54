/** A chat platform as the tests of faults use it: what is written there, what stands there, and where its requests can be held. */

import type { Moment } from "../../../fakes/shared/holds.ts";
import type { NodeProcess } from "../../node-process.ts";

/**
 * `acknowledgement`: that a message was taken. `message`: the next one of the bot's, not the answer of a command. `change`: of a message
 * of the bot's.
 */
export type HeldRequest = "acknowledgement" | "message" | "change";

export interface Chat {
  /** As in `channels.<id>`. */
  readonly channel: string;
  /** `channels.<id>`. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string>>;
  /** Which node the platform reaches from now on. */
  attach(node: NodeProcess): void;
  /** The owner writes, in private where no conversation is named. `answered`: the text of a message that this one answers. */
  say(text: string, conversation?: string, answered?: string): void;
  /** Another conversation with the owner. */
  conversation(): string;
  /** Messages of the bot that stand there, the oldest first. */
  shown(): readonly { readonly conversation: string; readonly text: string }[];
  /** Resolves when the nth such request is there; its node never hears of it. */
  held(request: HeldRequest, moment: Moment, nth: number): Promise<void>;
  /** The owner changes what they have written last, and takes it away then. */
  changeLast(text: string): void;
  /** Connections break, and none is made. */
  unreachable(isDown: boolean): void;
  /** The bot's token is one that the platform refuses. */
  revoked(isRevoked: boolean): void;
  /** Messages that the platform would give out again. */
  unacknowledged(): number;
}
