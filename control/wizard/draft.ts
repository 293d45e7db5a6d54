/**
 * The answers of a setup that is under way, so that an interrupted one can continue: a file of the deployment directory that
 * only its user reads. It holds no secrets, because answers are names of variables, and it is gone when the setup is done.
 */

import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { writeDurably } from "../../runtime/files/durable.ts";
import { type AnswerTree, isTree } from "./answer-tree.ts";
import { parseAnswers } from "./parse-answers.ts";
import { type FlowState, isSecretStep } from "./phases/flow.ts";

export const DRAFT_FILE = ".cairn-init-draft.json";

export interface Draft {
  readonly savedAt: Date;
  readonly state: FlowState;
}

const draftSchema = z.object({
  schema: z.literal(1),
  savedAt: z.iso.datetime(),
  settled: z.array(z.string()),
  answers: z.custom<AnswerTree>(isTree),
});

/** Null when there is none, or none that can be used. */
export async function readDraft(dir: string): Promise<Draft | null> {
  try {
    const {
      savedAt,
      settled: answered,
      answers,
    } = draftSchema.parse(JSON.parse(await readFile(join(dir, DRAFT_FILE), "utf8")));
    parseAnswers(answers);
    return { savedAt: new Date(savedAt), state: { tree: answers, answered: new Set(answered) } };
  } catch {
    return null;
  }
}

/** Makes the directory if need be. Rejects with the system's error. */
export async function saveDraft(dir: string, { tree, answered }: FlowState, now: Date): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const text = JSON.stringify(
    { schema: 1, savedAt: now.toISOString(), settled: [...answered].filter((id) => !isSecretStep(id)), answers: tree },
    null,
    2,
  );
  await writeDurably(join(dir, DRAFT_FILE), `${text}\n`, { mode: 0o600 });
}

/** With what a killed process has left of it. */
export async function removeDraft(dir: string): Promise<void> {
  const names = await readdir(dir).catch(() => []);
  const drafts = names.filter((name) => name === DRAFT_FILE || name.startsWith(`${DRAFT_FILE}.`));
  await Promise.all(drafts.map((name) => rm(join(dir, name), { force: true })));
}
