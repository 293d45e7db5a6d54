import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";
import type {
  Admission,
  Channel,
  CommandRequest,
  EditResult,
  InboundMessage,
  OutboundMessage,
  Receiver,
  Stranger,
} from "../../contracts/channel.ts";
import { inTime } from "../check.ts";
import type { ChannelFeature, ChannelHarness, FakePlatform, OpenChannel } from "./harness.ts";

/** What the checks of a channel are made with. */

export { assertFailure, failureOf, waitUntil } from "../check.ts";

export interface CheckDefinition {
  readonly name: string;
  /** It does nothing for a channel that lacks one of these. */
  readonly needs: readonly ChannelFeature[];
  run(connected: Connected): Promise<void>;
}

/** A channel with handlers, as a node connects it. */
export interface Connected extends OpenChannel {
  readonly lacks: readonly ChannelFeature[];
  readonly accepted: InboundMessage[];
  readonly commands: CommandRequest[];
  /** Replaced by checks: what it rejects with, the handler rejects with. */
  accept(message: InboundMessage): Promise<void>;
  /** As a node does it, again and again; ends with the check, or before. */
  receive(): Receiving;
}

export interface Receiving {
  /** Whether messages can be received. */
  isUp(): boolean;
  hasEnded(): boolean;
  /** Aborts the signal, and gives what `receive` did then: undefined where it resolved. */
  end(): Promise<unknown>;
}

export const COMMAND_REPLY = "done";
const PAUSE_MS = 10;

/** Opens, connects, runs, and ends everything whatever happens. */
export async function runCheck({ name, run }: CheckDefinition, harness: ChannelHarness): Promise<void> {
  const open = await harness.open();
  const received: Receiving[] = [];
  const connected = connect(open, harness.lacks ?? [], received);
  try {
    await inTime(name, run(connected));
  } finally {
    for (const receiving of received) void receiving.end();
    await open.channel.stop().catch(() => undefined);
    await open.close();
  }
}

function connect(open: OpenChannel, lacks: readonly ChannelFeature[], received: Receiving[]): Connected {
  const { channel } = open;
  const position: { value?: unknown } = {};
  const connected: Connected = {
    ...open,
    lacks,
    accepted: [],
    commands: [],
    accept: async () => undefined,
    receive() {
      const receiving = startReceiving(channel.receiver, position);
      received.push(receiving);
      return receiving;
    },
  };
  const { accepted, commands } = connected;
  channel.onMessage(async (message) => {
    await connected.accept(message);
    accepted.push(message);
    return { turnId: `turn-${accepted.length}`, agent: "main", fresh: true };
  });
  channel.onCommand(async (command) => {
    commands.push(command);
    return { text: COMMAND_REPLY };
  });
  return connected;
}

/** Calls `receive` until it is ended. A channel without a receiver is always up. */
function startReceiving(receiver: Receiver | undefined, stored: { value?: unknown }): Receiving {
  const ending = new AbortController();
  let isUp = receiver === undefined;
  let hasEnded = false;
  const loop = async (): Promise<unknown> => {
    let last: unknown;
    while (receiver !== undefined && !ending.signal.aborted) {
      last = await receiver
        .receive({
          signal: ending.signal,
          connected() {
            isUp = true;
          },
          position: {
            read: async () => stored.value,
            async keep(value) {
              stored.value = structuredClone(value);
            },
          },
        })
        .catch((error: unknown) => error);
      if (!ending.signal.aborted) await sleep(PAUSE_MS);
    }
    hasEnded = true;
    return last;
  };
  const ended = loop();
  return {
    isUp: () => isUp,
    hasEnded: () => hasEnded,
    end() {
      ending.abort();
      return ended;
    },
  };
}

export function reply({ channel, conversation }: OpenChannel, text: string, more: Partial<OutboundMessage> = {}) {
  const address = { channel: channel.id, conversation, user: "owner" };
  return { address, agent: "main", turnId: `turn of ${text.slice(0, 20)}`, text, ...more };
}

export function platformOf({ platform }: OpenChannel): FakePlatform {
  assert(platform, "the harness has to give the platform of a channel that does not lack it");
  return platform;
}

/** What the contract leaves out for some channels, where the harness says that this one has it. */
export function present<Part>(part: Part | undefined, name: keyof Channel): Part {
  assert(part, `the harness says that the channel has ${name}`);
  return part;
}

export function idsOf(result: EditResult | null): string[] {
  assert(result !== null, "what was sent to a platform has ids");
  return [result.primary, ...result.overflow];
}

/** Words that can be recognised however they were split. */
export function words(length: number, from = 0): string {
  let text = "";
  for (let n = from; text.length < length; n++) text += `w${n}; `;
  return text.trim();
}

/** The words of messages, in their order, whatever was done with the space between them. */
export function wordsIn(texts: readonly string[]): readonly string[] {
  return texts.join("").replaceAll(/\s/g, "").match(/w\d+;/g) ?? [];
}

export function assertWithoutSecret(value: unknown, secret: string, what: string): void {
  const text = typeof value === "string" ? value : inspect(value, { depth: 12, showHidden: true });
  assert(!text.includes(secret), `${what} must not hold the secret`);
}

export function admitting(channel: Channel, admission: (stranger: Stranger) => Admission): Stranger[] {
  const asked: Stranger[] = [];
  present(channel.onStranger, "onStranger").call(channel, async (stranger) => {
    asked.push(stranger);
    return admission(stranger);
  });
  return asked;
}
