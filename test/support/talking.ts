/** A client that talks to a node: a recording in, the events of the answer out. */

import { createParser } from "eventsource-parser";
import { recordingOf } from "../fakes/audio/recordings.ts";
import { OWNER_TOKEN } from "./started-host.ts";

export interface Heard {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface TalkOptions {
  readonly session?: string;
  readonly user?: string;
  readonly token?: string;
  readonly agent?: string;
  readonly key?: string;
  /** Instead of a recording of the words. */
  readonly file?: File;
  readonly signal?: AbortSignal;
}

export function formOf(words: string, { session = "s", user, file }: TalkOptions = {}): FormData {
  const form = new FormData();
  form.set("file", file ?? new File([recordingOf(words)], "memo.wav", { type: "audio/wav" }));
  form.set("session", session);
  if (user !== undefined) form.set("user", user);
  return form;
}

export function talk(url: string, words: string, options: TalkOptions = {}): Promise<Response> {
  const { token = OWNER_TOKEN, agent = "main", key, signal } = options;
  return fetch(`${url}/api/agents/${agent}/voice`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, ...(key === undefined ? {} : { "idempotency-key": key }) },
    body: formOf(words, options),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** The events as they come. */
export async function* eventsOf(response: Response): AsyncGenerator<Heard> {
  if (response.body === null) return;
  const came: Heard[] = [];
  const parser = createParser({ onEvent: ({ data }) => void came.push(JSON.parse(data)) });
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    parser.feed(chunk);
    yield* came.splice(0);
  }
}

export async function allEvents(response: Response): Promise<Heard[]> {
  const events: Heard[] = [];
  for await (const event of eventsOf(response)) events.push(event);
  return events;
}

/** What the audio of the fake was made from. */
export function spokenIn(events: readonly Heard[]): string[] {
  return events
    .filter(({ type }) => type === "voice.audio")
    .map(({ data }) => Buffer.from(String(data), "base64").toString().replace(/^ID3/, ""));
}
