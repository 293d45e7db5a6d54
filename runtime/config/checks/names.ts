/** Names that point to agents, providers, channels and nodes. */

import type { ChannelManifest } from "../../plugins/channels/manifest.ts";
import { CHAT_CHANNELS } from "../../plugins/channels/manifests.ts";
import { channelManifest } from "../channel-manifests.ts";
import { type CheckInput, createCollector, type Findings } from "./collector.ts";

export function checkAgents({ config, dropped }: CheckInput): Findings {
  const found = createCollector();
  const { agents, providers, runtime, deployment, mesh } = config;
  if (!agents) return found;
  const names = Object.keys(agents);
  if (names.length === 0)
    found.error(["agents"], "nothing", "at least one agent, such as `main: { provider: offline }`");
  else if (runtime) {
    if (runtime.default_agent !== undefined)
      found.expectName(["runtime", "default_agent"], runtime.default_agent, names, "the name of an agent");
    else found.error(["runtime", "default_agent"], "nothing", `the name of an agent: ${names.join(", ")}`);
  }

  const providerIds = providers && [
    ...Object.keys(providers),
    ...dropped.flatMap(({ path: [top, id] }) => (top === "providers" && id ? [id] : [])),
  ];
  const nodes = deployment?.nodes.map((node) => node.name) ?? [];
  for (const [name, agent] of Object.entries(agents)) {
    const path = ["agents", name];
    if (providerIds) {
      found.expectName([...path, "provider"], agent.provider, providerIds, "the id of a provider");
      for (const [index, entry] of agent.fallbacks.entries()) {
        const id = entry.slice(0, entry.indexOf(":"));
        found.expectName(
          [...path, "fallbacks", index],
          id,
          providerIds,
          "<provider>:<model> with the id of a provider",
        );
      }
    }
    if (agent.node !== undefined && nodes.length > 0) {
      found.expectName([...path, "node"], agent.node, nodes, "the name of one of deployment.nodes");
    } else if (agent.node !== undefined && mesh && !mesh.enabled && agent.node !== mesh.name) {
      found.warn(
        [...path, "node"],
        "no-effect",
        `no other node is known, and this one is called ${mesh.name}: the agent will not run here`,
      );
    }
  }
  return found;
}

export function checkChannels({ config }: CheckInput): Findings {
  const found = createCollector();
  const { channels, agents, deployment, memory } = config;
  if (!channels) return found;
  const tokens = new Map<string, string>();
  let voice: string | undefined;
  for (const [id, channel] of Object.entries(channels)) {
    const path = ["channels", id];
    const rules = channelManifest(id, channel.kind)?.rules;
    for (const [conversation, agent] of Object.entries(channel.channel_bindings)) {
      const at = [...path, "channel_bindings", conversation];
      if (rules && !rules.pattern.test(conversation)) {
        found.error(at, JSON.stringify(conversation), rules.allowed, "It is the key, and no conversation has it.");
      }
      if (agents) found.expectName(at, agent, Object.keys(agents), "the name of an agent");
    }
    if (channel.reconnect.initial_delay > channel.reconnect.max_delay) {
      found.refuse(
        [...path, "reconnect", "initial_delay"],
        "conflict",
        "the first delay is longer than reconnect.max_delay",
      );
    }
    if (!channel.enabled) continue;
    const chat: ChannelManifest | undefined = CHAT_CHANNELS.find((manifest) => manifest.id === channel.kind);
    if (chat && channel.token === undefined) {
      const allowed = `the bot's token, as a reference such as \${${variableOf(id)}_TOKEN}`;
      found.error([...path, "token"], "nothing", allowed, undefined, "channel-token-missing");
    }
    if (chat?.takesAppToken && channel.app_token === undefined) {
      const allowed = `the app's own token, as a reference such as \${${variableOf(id)}_APP_TOKEN}`;
      found.error([...path, "app_token"], "nothing", allowed, undefined, "channel-token-missing");
    }
    if (
      !chat?.takesAppToken &&
      channel.app_token !== undefined &&
      channel.kind !== "agent" &&
      channel.kind !== "voice"
    ) {
      found.warn([...path, "app_token"], "no-effect", "this platform has the bot's token alone");
    }
    if (chat?.owner && channel.owner_id !== undefined && !chat.owner.pattern.test(channel.owner_id)) {
      found.error([...path, "owner_id"], channel.owner_id, chat.owner.allowed);
    }
    if (chat && channel.owner_id === undefined && !channel.pairing) {
      found.warn([...path, "owner_id"], "no-effect", "no owner_id and pairing is off: every message will be refused");
    }
    if (channel.webhook !== undefined && channelManifest(id, channel.kind)?.chat) {
      if (!channelManifest(id, channel.kind)?.takesWebhooks) {
        found.warn([...path, "webhook"], "no-effect", "this platform posts nothing: the channel asks for its messages");
      } else if (!channel.webhook.startsWith("https://")) {
        found.error([...path, "webhook"], channel.webhook, "an https address: the platform posts to no other one");
      }
    }
    if (channel.kind === "voice") {
      if (!(channel.transcription && channel.speech)) {
        found.error(path, "no complete audio routes", "transcription and speech, each with base_url and model");
      }
      if (voice !== undefined) {
        found.refuse(path, "conflict", `channels.${voice} takes recordings already: the route has one channel`);
      }
      voice ??= id;
    }
    if (channel.token === undefined) continue;
    const other = tokens.get(channel.token);
    if (other !== undefined)
      found.refuse([...path, "token"], "conflict", `channels.${other} has the same token: a bot has one poller`);
    tokens.set(channel.token, id);
    if (deployment && deployment.nodes.length > 1 && memory && memory.postgres === undefined) {
      found.refuse(
        path,
        "database-missing",
        "a channel with a token on several nodes needs one database for all",
        "add memory.postgres",
      );
    }
  }
  return found;
}

/** What a variable for a channel's secrets begins with. */
function variableOf(channel: string): string {
  return channel.toUpperCase().replaceAll("-", "_");
}
