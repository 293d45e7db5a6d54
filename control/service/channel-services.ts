/** Whether the services that channels of this machine's node need answer, take their keys and have their models. */

import { wrongWithAudio } from "../doctor/checks/channels/audio.ts";
import { askAudioServers } from "../doctor/context/audio-servers.ts";
import type { ChannelProblem } from "../self-test/parts.ts";
import { type Deployment, inspectWithoutSecrets } from "./deployment.ts";
import { inspectNode } from "./stale-node-file.ts";

/** Undefined where no node runs from this home, or its configuration cannot be read. */
export async function localServices(
  deployment: Deployment,
): Promise<((signal: AbortSignal) => Promise<readonly ChannelProblem[]>) | undefined> {
  const { state } = await inspectNode(deployment.home);
  const loaded = state === "running" ? (await inspectWithoutSecrets(deployment).catch(() => null))?.loaded : null;
  if (!loaded) return undefined;
  return async (signal) =>
    (await askAudioServers(loaded.config, signal)).flatMap((server) => {
      const wrong = wrongWithAudio(server, false);
      if (wrong === null) return [];
      const [, id = ""] = server.path.split(".");
      return [{ id, message: `${server.path} ${wrong.text}`, fix: `${wrong.fix}, then \`cairn restart\`.` }];
    });
}
