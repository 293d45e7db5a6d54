/** One entry of `agents.<name>.schedules`, and the messages that it makes. */

import type { Address, InboundMessage } from "../../contracts/channel.ts";
import type { SchedulePlan } from "../../domain/schedule.ts";

export interface Schedule {
  readonly agent: string;
  /** Unique among those of the agent. */
  readonly name: string;
  readonly cron: string;
  readonly timezone: string;
  readonly prompt: string;
  readonly enabled: boolean;
  /** Of the conversation that it speaks in, as the owner. */
  readonly address: Address;
  /** Whether replies are sent there; else they are stored only. */
  readonly sends: boolean;
  readonly plan: SchedulePlan;
}

/** Of the external ids of its messages: no other message of the conversation begins so. */
export function keyPrefix({ name }: Pick<Schedule, "name">): string {
  return `schedule:${name}:`;
}

/** The schedule whose message has this external id; null: it is of no schedule. */
export function scheduleOf(externalId: string): string | null {
  return /^schedule:([\w-]+):/.exec(externalId)?.[1] ?? null;
}

/** Where a schedule speaks whose replies are stored only. */
export function storedConversation(name: string): string {
  return `schedule:${name}`;
}

/** The same planned time is the same message, whichever node sends it. */
export function messageOf(schedule: Schedule, run: string): InboundMessage {
  const { agent, address, prompt } = schedule;
  return { agent, address, externalId: `${keyPrefix(schedule)}${run}`, text: prompt, owner: true };
}

/** Of what times are planned by: where it changes, nothing before the change is made up for. */
export function definitionOf({ cron, timezone, enabled }: Schedule): string {
  return JSON.stringify([cron, timezone, enabled]);
}
