/** `memory forget`: what is selected is shown first; then its number is typed, or given. */

import process from "node:process";
import type { Client, ForgetPreview, Selection } from "../../runtime/client/index.ts";
import { Interrupted, needsTerminal, UsageError } from "../output/failure.ts";
import type { Terminal } from "../output/terminal.ts";
import { type Forgotten, renderPreview } from "./render-forgotten.ts";

export interface ForgetRequest {
  readonly selection: Selection;
  readonly reason: string;
  readonly confirm: number | undefined;
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
  readonly terminal: Terminal;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const SHORTEST_MATCH = 3;

/** UsageError unless exactly one thing is selected. */
export function selectionOf(
  ids: readonly string[],
  flags: {
    readonly conversation?: string | undefined;
    readonly session?: string | undefined;
    readonly user?: string | undefined;
    readonly channel?: string | undefined;
    readonly matching?: string | undefined;
  },
): Selection {
  const { conversation, session, user, channel, matching } = flags;
  const selections: Selection[] = [
    ...(ids.length > 0 ? [{ kind: "messages", ids: [...new Set(ids)] } as const] : []),
    ...(conversation === undefined ? [] : [{ kind: "conversation", id: conversation } as const]),
    ...(session === undefined ? [] : [{ kind: "session", key: session } as const]),
    ...(user === undefined ? [] : [{ kind: "user", user, ...(channel === undefined ? {} : { channel }) } as const]),
    ...(matching === undefined ? [] : [{ kind: "matching", text: matching } as const]),
  ];
  const [selection] = selections;
  if (selection === undefined || selections.length > 1) {
    throw new UsageError(
      "Name one thing to forget.",
      "Ids of messages, or one of --conversation, --session, --user and --matching.",
    );
  }
  const wrong = [...ids, ...(conversation === undefined ? [] : [conversation])].find((id) => !UUID.test(id));
  if (wrong !== undefined) {
    throw new UsageError(`${wrong} is no id.`, "`cairn memory search` prints the ids of messages.");
  }
  if (matching !== undefined && matching.length < SHORTEST_MATCH) {
    throw new UsageError(`--matching needs at least ${SHORTEST_MATCH} characters.`);
  }
  return selection;
}

export async function forget(
  client: Pick<Client, "forget" | "previewForget">,
  request: ForgetRequest,
): Promise<Forgotten> {
  const { selection, reason, confirm, dryRun, signal, terminal } = request;
  const preview = await client.previewForget(selection, { signal });
  // Without messages a session may still have turns that ended before they said something: the node looks.
  if (dryRun) return { outcome: "preview", preview, erased: null };
  const expected = confirm ?? (await typed(preview, request));
  if (expected !== preview.messages && preview.unfinished === null) {
    if (confirm === undefined) return { outcome: "declined", preview, erased: null };
    throw new UsageError(
      `${preview.messages} messages are selected, not ${confirm}: nothing was forgotten.`,
      "Look with --dry-run at what would go, and confirm that number.",
    );
  }
  await terminal.err("Forgetting. It goes on in the node if this command is ended.\n");
  const erased = await client.forget(selection, { expected, reason }, { signal });
  return { outcome: erased.id === null ? "preview" : "forgotten", preview, erased: erased.id === null ? null : erased };
}

async function typed(preview: ForgetPreview, { signal, terminal }: ForgetRequest): Promise<number> {
  if (preview.messages === 0 && preview.unfinished === null) return 0;
  if (!terminal.inIsTerminal || !terminal.errIsTerminal) {
    throw needsTerminal("The number of messages", `--confirm ${preview.messages}, once you have looked with --dry-run`);
  }
  await terminal.err(`${renderPreview(preview, terminal.errMark)}\n`);
  const { input } = await import("@inquirer/prompts");
  const message = `This erases them for good. Type ${preview.messages} to go on:`;
  try {
    const answer = (await input({ message }, { output: process.stderr, signal })).trim();
    return /^\d+$/.test(answer) ? Number(answer) : Number.NaN;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Error && error.name === "ExitPromptError") throw new Interrupted("SIGINT");
    throw error;
  }
}
