import type { AgentChannel } from "../../../contracts/agent-channel.ts";
import type { PluginManifest } from "../../../contracts/plugin.ts";
import type { AgentChannelSettings } from "./index.ts";

export const agent = {
  kind: "channel",
  id: "agent",
  about: "HTTP, for programs, other agents and `cairn chat`",
  configuration: "channels.agent",
  create: async (settings) => (await import("./index.ts")).createAgentChannel(settings),
} as const satisfies PluginManifest<"channel", AgentChannelSettings, AgentChannel>;
