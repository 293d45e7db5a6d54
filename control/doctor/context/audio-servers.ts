/** Asks the services of voice channels for their lists of models: that costs nothing, and shows whether they answer and take their keys. */

import type { Config } from "../../../runtime/config/index.ts";
import { isSecretReference } from "../../../runtime/config/references.ts";
import { voice } from "../../../runtime/plugins/channels/voice/manifest.ts";
import { askForModels, type ServerAnswer } from "./model-servers.ts";

export interface AudioServer {
  /** Path in cairn.yaml: `channels.voice.speech`. */
  readonly path: string;
  readonly url: string;
  readonly model: string;
  readonly answer: Exclude<ServerAnswer, { kind: "serverless" }>;
}

/** Never rejects for a server that is not well. */
export function askAudioServers({ channels }: Config, signal: AbortSignal): Promise<readonly AudioServer[]> {
  const routes = Object.entries(channels).flatMap(([id, { enabled, kind, transcription, speech }]) =>
    enabled && kind === voice.id
      ? [
          { path: `channels.${id}.transcription`, route: transcription },
          { path: `channels.${id}.speech`, route: speech },
        ]
      : [],
  );
  return Promise.all(
    routes.flatMap(({ path, route }) => {
      if (route === undefined) return [];
      const { base_url: base, model, api_key: key } = route;
      const url = `${base.replace(/\/+$/, "")}/models`;
      const ask = async (): Promise<AudioServer["answer"]> => {
        if (key !== undefined && isSecretReference(key)) return { kind: "not-asked", why: "password-manager" };
        return askForModels(url, key ? { authorization: `Bearer ${key}` } : {}, signal);
      };
      return [ask().then((answer) => ({ path, url, model, answer }))];
    }),
  );
}
