/** Schedules: their names, and the conversations that they speak in. */
import { channelManifest } from "../channel-manifests.ts";
import type { ParsedConfig } from "../schema.ts";
import type { TreePath } from "../tree.ts";
import { type CheckInput, type Collector, createCollector, type Findings } from "./collector.ts";

type Channels = NonNullable<ParsedConfig["channels"]>;

export function checkSchedules({ config: { agents = {}, channels } }: CheckInput): Findings {
  const found = createCollector();
  for (const [agent, { schedules }] of Object.entries(agents)) {
    const names = new Map<string, number>();
    for (const [index, schedule] of schedules.entries()) {
      const path = ["agents", agent, "schedules", index];
      const name = schedule.name ?? String(index + 1);
      const other = names.get(name);
      if (other !== undefined) {
        found.refuse([...path, "name"], "conflict", `schedules[${other}] has the name ${name}, too`);
      }
      names.set(name, index);
      if (schedule.channel === undefined) {
        if (schedule.conversation !== undefined) {
          found.error([...path, "channel"], "nothing", "the channel that the conversation is on");
        }
      } else if (channels) {
        checkConversation(found, path, channels, { ...schedule, channel: schedule.channel });
      }
    }
  }
  return found;
}

function checkConversation(
  found: Collector,
  path: TreePath,
  channels: Channels,
  { channel: id, conversation }: { readonly channel: string; readonly conversation?: string | undefined },
): void {
  const at = [...path, "channel"];
  const channel = channels[id];
  if (channel === undefined) {
    found.expectName(at, id, Object.keys(channels), "the id of a channel");
    return;
  }
  const kind = channelManifest(id, channel.kind);
  if (kind === null) {
    found.refuse(at, "not-implemented", `this version has no channel of the kind ${channel.kind}`);
    return;
  }
  if (kind.chat && !channel.enabled) {
    found.refuse(at, "conflict", `channels.${id} is not enabled: nothing could be sent there`);
  }
  if (kind.chat && channel.owner_id === undefined) {
    found.refuse(at, "conflict", `channels.${id} has no owner_id: a schedule speaks as the owner there`);
  }
  const { rules } = kind;
  if (conversation !== undefined && rules !== undefined && !rules.pattern.test(conversation)) {
    found.error([...path, "conversation"], JSON.stringify(conversation), rules.allowed);
  }
  if (conversation === undefined && rules?.ofOwner === undefined) {
    found.error([...path, "conversation"], "nothing", rules?.allowed ?? "the conversation that the reply is sent to");
  }
}
