/** Programs of people: one that writes to the agent channel, and one that talks. Each sends again what it has got no answer to. */

import { setTimeout as sleep } from "node:timers/promises";
import { startAudioFake } from "../../fakes/audio/index.ts";
import { until } from "../eventually.ts";
import { type NodeProcess, TOKEN } from "../node-process.ts";
import { eventsOf, talk } from "../talking.ts";
import type { ChatSide, Shown } from "./chat-side.ts";

const SESSION = "talk";
const PAUSE_MS = 100;

/** Each message has the answer to its own request: nothing else says in which order a program shows them. */
interface Heard extends Shown {
  /** Number of the message. */
  readonly of: number;
}

interface Sending {
  readonly number: number;
  readonly text: string;
  readonly file: string | undefined;
  readonly key: string;
  readonly signal: AbortSignal;
}

type Send = (node: NodeProcess, sending: Sending) => Promise<Response>;

function httpSide(send: Send, given: Pick<ChatSide, "config" | "env">, heard: Heard[] = []): ChatSide {
  let node: NodeProcess | undefined;
  let isDropped = false;
  let connection = new AbortController();
  let turnId = "";
  let question: string | undefined;
  let count = 0;

  /** Resolves whether its end has been heard. */
  async function isHeard(response: Response, of: number): Promise<boolean> {
    let written = "";
    for await (const { type, text, error, notice, ...event } of eventsOf(response)) {
      if (type === "turn.started") written = "";
      if (type === "text.delta") written += text;
      if (type === "turn.waiting") {
        question = Object(event["question"]).id;
        heard.push({ of, by: "agent", text: `${Object(event["question"]).text}`, isCommand: true });
      }
      if (type !== "turn.finished" && type !== "turn.failed") continue;
      const { message, code } = Object(error);
      const whole = (type === "turn.failed" ? [written, `${message} (${code})`] : [text, notice])
        .filter(Boolean)
        .join("\n\n");
      heard.push({ of, by: "agent", text: whole, isCommand: false });
      return true;
    }
    return false;
  }

  async function untilHeard(sending: Omit<Sending, "signal">, started: () => void): Promise<void> {
    for (;;) {
      if (node !== undefined && !isDropped) {
        const { signal } = connection;
        try {
          const response = await send(node, { ...sending, signal });
          turnId = response.headers.get("x-turn-id") ?? turnId;
          started();
          if (await isHeard(response, sending.number)) return;
        } catch {
          // It is sent again.
        }
      }
      await sleep(PAUSE_MS);
    }
  }

  return {
    ...given,
    async attach(next) {
      node = next;
    },
    async say(text, file) {
      const number = count++;
      heard.push({ of: number, by: "person", text, isCommand: false });
      const started = Promise.withResolvers<void>();
      const key = `message-${number}`;
      untilHeard({ number, text, file, key }, started.resolve).catch(started.reject);
      await started.promise;
    },
    async stop() {
      await node?.call(`/api/agents/main/turns/${turnId}/stop`, {});
    },
    async choose(choice) {
      await until(() => question);
      await node?.call(`/api/agents/main/turns/${turnId}/answer`, { text: choice, question_id: question });
      question = undefined;
    },
    limit: () => undefined,
    drop() {
      isDropped = true;
      connection.abort();
    },
    restore() {
      isDropped = false;
      connection = new AbortController();
    },
    shown: () => heard.toSorted((a, b) => a.of - b.of),
  };
}

export function agentSide(): ChatSide {
  let node: NodeProcess | undefined;
  const heard: Heard[] = [];
  const side = httpSide(
    (to, { text, file, key, signal }) =>
      to.request("/api/agents/main/messages", {
        json: {
          session: SESSION,
          text,
          ...(file === undefined
            ? {}
            : {
                attachments: [
                  { name: "notes.txt", media_type: "text/plain", data: Buffer.from(file).toString("base64") },
                ],
              }),
        },
        headers: { "idempotency-key": key, accept: "text/event-stream" },
        signal,
      }),
    { config: {}, env: {} },
    heard,
  );
  return {
    ...side,
    async attach(next) {
      node = next;
      await side.attach(next);
    },
    async command(command) {
      const of = heard.at(-1)?.of ?? 0;
      heard.push({ of, by: "person", text: command, isCommand: true });
      const answer = await node?.call<{ text: string }>("/api/agents/main/commands", { session: SESSION, command });
      heard.push({ of, by: "agent", text: answer?.text ?? "", isCommand: true });
    },
  };
}

export async function voiceSide(): Promise<ChatSide> {
  const audio = await startAudioFake({ apiKey: "sk-audio" });
  const route = { base_url: audio.baseUrl, api_key: "${AUDIO_KEY}" };
  const voice = { transcription: { ...route, model: "whisper-1" }, speech: { ...route, model: "tts-1" } };
  return httpSide((to, { text, key, signal }) => talk(to.url, text, { token: TOKEN, session: SESSION, key, signal }), {
    config: { channels: { voice } },
    env: { AUDIO_KEY: "sk-audio" },
  });
}
