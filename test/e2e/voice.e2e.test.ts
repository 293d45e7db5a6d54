/** Talking to a node that is killed while it answers: the built service, with the SDK that it brings along. */

import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { type AudioFake, startAudioFake } from "../fakes/audio/index.ts";
import { recordingOf } from "../fakes/audio/recordings.ts";
import { type FakeServer, startOpenAiFake } from "../fakes/openai/index.ts";
import { type Deployment, TOKEN } from "../support/node-process.ts";
import { deploymentOf, killed, runningNode } from "../support/running-node.ts";
import { allEvents, eventsOf, spokenIn, talk } from "../support/talking.ts";

/** What answers as the page shows it. */
const SHOWN = "It is on. Tea comes next.";

function talkingDeployment(audio: AudioFake, model: FakeServer): Promise<Deployment> {
  const route = { base_url: audio.baseUrl, api_key: "${AUDIO_KEY}" };
  return deploymentOf({
    env: { AUDIO_KEY: "sk-audio" },
    config: {
      runtime: { lease: "2s" },
      providers: { fake: { kind: "openai-compatible", base_url: model.baseUrl, api_key: "key", model: "m" } },
      agents: { main: { provider: "fake" } },
      channels: {
        voice: { transcription: { ...route, model: "whisper-1" }, speech: { ...route, model: "tts-1" } },
      },
    },
  });
}

it("what was heard is answered once, also by a node that was killed in mid-sentence", async () => {
  const audio = await startAudioFake({ apiKey: "sk-audio" });
  onTestFinished(() => audio.close());
  const model = await startOpenAiFake();
  onTestFinished(() => model.close());
  const deployment = await talkingDeployment(audio, model);
  const first = await runningNode(deployment);
  const said = "@hold gate 10\n@say The first one is complete. The second one is not";
  const options = { token: TOKEN, key: "k" };
  const cut = await talk(first.url, said, options);
  const turnId = cut.headers.get("x-turn-id");
  const until = (async () => {
    for await (const { type } of eventsOf(cut)) if (type === "voice.audio") return killed(first);
  })();
  await until;

  const second = await runningNode(deployment);
  model.release("gate");
  const again = await talk(second.url, said, options);
  expect(again.headers.get("x-turn-id")).toBe(turnId);
  const events = await allEvents(again);
  expect(events[0]).toMatchObject({ type: "voice.transcript", text: said });
  expect(events.at(-1)).toMatchObject({
    type: "turn.finished",
    text: expect.stringContaining("The first one is complete. The second one is not"),
  });
  expect(spokenIn(events).join(" ")).toContain("The first one is complete. The second one is not");
  expect(audio.of("transcriptions")).toHaveLength(1);
  expect(`${first.output()}${second.output()}`).not.toContain("sk-audio");
});

it("the command of the page gives what the page shows", async () => {
  const page = await readFile(new URL("../../docs/channels.md", import.meta.url), "utf8");
  const [, command = "", shown = ""] = /```sh\n(curl -N [^`]*\/voice[^`]*)```\n+```text\n([^`]*)```/.exec(page) ?? [];
  const audio = await startAudioFake({ apiKey: "sk-audio" });
  onTestFinished(() => audio.close());
  const model = await startOpenAiFake({ script: () => ({ text: SHOWN }) });
  onTestFinished(() => model.close());
  const deployment = await talkingDeployment(audio, model);
  const node = await runningNode(deployment);
  await writeFile(join(deployment.dir, "memo.wav"), recordingOf("Is the kettle on?"));
  const typed = command.replace("http://127.0.0.1:7433", node.url.replace(/\/$/, ""));
  const { stdout } = await promisify(execFile)("/bin/sh", ["-e", "-c", typed], {
    cwd: deployment.dir,
    env: { PATH: process.env["PATH"], CAIRN_TOKEN: TOKEN },
  });
  const lines = (text: string) => {
    const named = text.split("\n").filter((line) => line.startsWith("event: "));
    // Words come in pieces.
    return named.filter((line, index) => line !== named[index - 1]);
  };
  expect(lines(stdout).toSorted()).toEqual(lines(shown).toSorted());
  expect(stdout).toContain('"text":"Is the kettle on?"');
  expect(stdout).toContain(`"text":"${SHOWN}","data":"`);
});
