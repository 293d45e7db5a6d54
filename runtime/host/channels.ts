/** From `channels` in the configuration to the channels of a node. */

import type { Commands, Turns } from "../app/api.ts";
import type { Config } from "../config/index.ts";
import type { AgentChannel } from "../contracts/agent-channel.ts";
import type { Channel, FollowTurn } from "../contracts/channel.ts";
import type { NewId } from "../contracts/ports.ts";
import { agent as agentManifest } from "../plugins/channels/agent/manifest.ts";
import type { Service } from "./services.ts";

export interface ChannelParts {
  /** The one that HTTP posts to. */
  readonly agent: AgentChannel;
  /** All of them, by their instance ids. */
  readonly byId: ReadonlyMap<string, Channel>;
  /** To be called before they start. */
  connect(node: { readonly turns: Turns; readonly commands: Commands }): void;
  readonly services: readonly Service[];
}

export async function createChannels(config: Config, { newId }: { readonly newId: NewId }): Promise<ChannelParts> {
  const { id } = agentManifest;
  const owner = config.channels[id]?.owner_id;
  const agent = await agentManifest.create({ id, newId, ...(owner === undefined ? {} : { ownerId: owner }) });
  const channels: readonly Channel[] = [agent];
  return {
    agent,
    byId: new Map(channels.map((channel) => [channel.id, channel])),
    connect({ turns, commands }) {
      for (const channel of channels) {
        channel.onMessage((message) => turns.accept(message));
        channel.onCommand((command) => commands.run(command));
        channel.onFollow?.(followWith(turns));
      }
    },
    services: channels.map((channel) => ({
      name: `channel ${channel.id}`,
      start: () => channel.start(),
      stop: () => channel.stop(),
    })),
  };
}

/** What HTTP clients read as numbered events, for channels. */
export function followWith(turns: Pick<Turns, "events">): FollowTurn {
  return async function* follow(agent, turnId, signal) {
    for await (const { event } of turns.events(agent, turnId, 0, signal)) yield event;
  };
}
