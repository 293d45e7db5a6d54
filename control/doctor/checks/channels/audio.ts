/** Whether the services that a voice channel needs answer, take their keys, and have the models. */

import { hasModel } from "../../../../runtime/contracts/model-names.ts";
import { isLocal } from "../../../../runtime/contracts/urls.ts";
import type { AudioServer } from "../../context/audio-servers.ts";
import { shown } from "../../context/used-providers.ts";
import { applyCommand } from "../advice.ts";
import { type Check, fail, pass, skip, warn } from "../check.ts";

export const channelsAudio: Check = {
  id: "channels.audio",
  subject: "whether the services for speech answer",
  async run(context) {
    const servers = await context.audioServers();
    if (servers.length === 0) return skip("No channel listens or speaks.");
    const isDeployed = (await context.target()) !== null;
    const wrong = servers.flatMap((server) => {
      const found = wrongWithAudio(server, isDeployed);
      return found === null ? [] : [{ ...found, text: `${server.path} ${found.text}` }];
    });
    const [first] = [...wrong].sort((a, b) => Number(b.certain) - Number(a.certain));
    if (first === undefined) return pass("The services for transcription and speech answer.");
    const report = first.certain ? fail : warn;
    return report(`${wrong.map(({ text }) => text).join("; ")}.`, `${first.fix}, then ${await applyCommand(context)}.`);
  },
};

export interface Wrong {
  /** Whether the channel cannot work with it. */
  readonly certain: boolean;
  /** To be read after the path. */
  readonly text: string;
  readonly fix: string;
}

/** Null where all is well, and where it was not asked. */
export function wrongWithAudio({ path, url, model, answer }: AudioServer, isDeployed: boolean): Wrong | null {
  if (answer.kind === "not-asked") return null;
  if (answer.kind === "unreachable") {
    const text = `cannot be reached at ${shown(url)} (${answer.reason})`;
    // Containers may reach what this machine does not.
    return { certain: !isDeployed, text, fix: `Start the server, or correct ${path}.base_url` };
  }
  if (isDeployed && isLocal(url)) {
    const text = `is given as ${shown(url)}, which in a container is the container itself`;
    return { certain: true, text, fix: `Write the address of the server's machine as ${path}.base_url` };
  }
  const { status, models } = answer;
  if (status === 401 || status === 403) {
    return {
      certain: true,
      text: `refuses the key (status ${status})`,
      fix: `Put a valid key into .env for ${path}.api_key`,
    };
  }
  if (status === 429 || status >= 500) {
    return { certain: false, text: `answers with status ${status}`, fix: "Wait, or see the service's status page" };
  }
  if (status >= 300 && status < 400) {
    return { certain: true, text: `redirects requests (status ${status})`, fix: `Correct ${path}.base_url` };
  }
  // A server without such a list is there all the same, and a list may leave out names that are taken.
  if (models === null || models.length === 0 || hasModel(models, model)) return null;
  return { certain: false, text: `does not list the model ${model}`, fix: `Correct ${path}.model` };
}
