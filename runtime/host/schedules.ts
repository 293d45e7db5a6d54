/** From `agents.<name>.schedules` to the turns that they start. */

import type { Schedules } from "../app/api.ts";
import { type Schedule, storedConversation } from "../app/schedules/schedule.ts";
import { ScheduledTurns } from "../app/schedules/schedules.ts";
import { createScheduleStore } from "../app/schedules/store.ts";
import { type Config, conversationOf } from "../config/index.ts";
import type { Database } from "../contracts/database.ts";
import { ConfigError } from "../contracts/errors.ts";
import type { Clock, Logger, NewId } from "../contracts/ports.ts";
import { planOf } from "../domain/schedule.ts";
import { createTicker } from "../workers/ticker.ts";
import type { Service } from "./services.ts";
import type { TurnWork } from "./turns.ts";

export interface ScheduleHostDeps {
  readonly config: Config;
  readonly database: Database;
  readonly turns: Pick<TurnWork, "turns" | "placement">;
  /** One that sends nothing by itself: schedules without a channel have their sessions on it. */
  readonly storingChannel: string;
  isDraining(): boolean;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly logger: Logger;
}

export interface ScheduleParts {
  readonly schedules: Schedules;
  readonly service: Service;
}

/** How often a node reads what is due. */
const TICK_MS = 10_000;

export function composeSchedules(deps: ScheduleHostDeps): ScheduleParts {
  const { config, database, turns, isDraining, clock, newId, logger } = deps;
  const schedules = new ScheduledTurns({
    schedules: schedulesOf(config, deps.storingChannel),
    store: createScheduleStore(database),
    turns: turns.turns,
    placement: turns.placement,
    isDraining,
    clock,
    newId,
    logger,
  });
  const ticker = createTicker({
    name: "schedules",
    run: (signal) => schedules.tick(signal),
    intervalMs: TICK_MS,
    logger,
  });
  return { schedules, service: { name: "schedules", start: ticker.start, stop: ticker.stop } };
}

export function schedulesOf(config: Config, storingChannel: string): readonly Schedule[] {
  return Object.entries(config.agents).flatMap(([agent, { schedules }]) =>
    schedules.map((settings, index) => {
      const { cron, prompt, enabled, channel, timezone = config.runtime.timezone } = settings;
      const name = settings.name ?? String(index + 1);
      const plan = planOf(cron, timezone);
      const own = { channel: storingChannel, conversation: storedConversation(name), user: "" };
      const address = channel === undefined ? own : addressOn(config, storingChannel, { ...settings, name, channel });
      return { agent, name, cron, timezone, prompt, enabled, address, sends: channel !== undefined, plan };
    }),
  );
}

function addressOn(
  { channels }: Config,
  storingChannel: string,
  given: { readonly name: string; readonly channel: string; readonly conversation?: string | undefined },
): Schedule["address"] {
  const settings = channels[given.channel];
  const conversation = settings && conversationOf(given.channel, settings, given.conversation);
  // Was checked when the configuration was read.
  if (conversation === undefined) {
    throw new ConfigError("CONFIG_INVALID", `The schedule ${given.name} has no conversation.`);
  }
  // On the HTTP channel the owner's user is empty, whatever owner_id says.
  const user = given.channel === storingChannel ? "" : (settings?.owner_id ?? "");
  return { channel: given.channel, conversation, user };
}
