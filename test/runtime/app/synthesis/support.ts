/** Tool calls in a store, and models that are played by a function. */

import { onTestFinished } from "vitest";
import { createSynthesis, type Synthesis, type SynthesisDeps } from "../../../../runtime/app/synthesis/synthesis.ts";
import type { WriteEntry } from "../../../../runtime/app/transcript/batch.ts";
import type { Database } from "../../../../runtime/contracts/database.ts";
import type { TextAnswer, TextModel, TextRequest } from "../../../../runtime/contracts/text-model.ts";
import { createTextModel } from "../../../../runtime/host/text-models.ts";
import { startTextFake, type TextFake, type TextFakeOptions } from "../../../fakes/chat-completions/index.ts";
import { quietLogger } from "../../../support/databases.ts";
import { said, write, writerOf } from "../../../support/memory.ts";

export interface PlayedModel extends TextModel {
  readonly requests: readonly TextRequest[];
}

/** A model that answers by a function; rejects with what the function throws. */
export function playedModel(
  answer: (request: TextRequest, n: number) => string | Promise<string>,
  truncated = false,
): PlayedModel {
  const requests: TextRequest[] = [];
  return {
    model: "played",
    requests,
    async complete(request): Promise<TextAnswer> {
      requests.push(request);
      return { text: await answer(request, requests.length), truncated };
    },
  };
}

/** Tells which command a shell call ran: a sentence that follows from the prompt. */
export function describeCommand(prompt: string): string {
  const command = /"command": "([^"]*)"/.exec(prompt)?.[1] ?? "nothing";
  return `Ran the command \`${command}\` in a shell.`;
}

/** The real client against the fake endpoint, with the fake's answers as sentences. */
export async function endpointOf(options: TextFakeOptions = {}): Promise<{ fake: TextFake; model: TextModel }> {
  const fake = await startTextFake({ answer: ({ lastUser }) => describeCommand(lastUser), ...options });
  onTestFinished(() => fake.close());
  const model = createTextModel(
    { path: "memory.summarizer", baseUrl: fake.baseUrl, model: "m", apiKey: "k" },
    quietLogger,
  );
  return { fake, model };
}

export function synthesisOf(database: Database, model: TextModel, options: Partial<SynthesisDeps> = {}): Synthesis {
  return createSynthesis({ database, model, redact: (text) => text, logger: quietLogger, ...options });
}

/** An entry of a shell call. */
export function shellCall(command: string, entry: Partial<WriteEntry> = {}): WriteEntry {
  return said("", {
    role: "assistant",
    toolName: "shell",
    toolArgs: { command },
    toolResult: "done",
    key: `call:${command}`,
    ...entry,
  });
}

/** Writes one shell call to a session of its own; its id. */
export async function writeCall(database: Database, command: string, entry: Partial<WriteEntry> = {}): Promise<string> {
  const { rows } = await write(writerOf(database), `call:${command}`, [shellCall(command, entry)]);
  const [row] = rows;
  if (row === undefined) throw new Error("nothing was written");
  return row.id;
}

export async function contentOf(database: Database, id: string): Promise<string | undefined> {
  const { rows } = await database.query<{ content: string }>("select content from messages where id = $1", [id]);
  return rows[0]?.content;
}
