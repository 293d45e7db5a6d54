/** What is still to be done after a setup, as sentences. Pure. */
import type { Environment } from "../../runtime/config/index.ts";
import type { Answers } from "./answers.ts";
import type { Facts } from "./detect/facts.ts";
import type { ProviderChoice } from "./detect.ts";
import { secretsOf } from "./phases/secrets.ts";

export interface NotesInput {
  readonly answers: Answers;
  readonly provider: ProviderChoice;
  readonly facts: Facts;
  /** The environment of the process. */
  readonly env: Environment;
  /** Names that `.env` has, or will have. */
  readonly inFile: ReadonlySet<string>;
}

export function notesFor({ answers, provider, facts, env, inFile }: NotesInput): string[] {
  const notes: string[] = [];
  if (provider.kind === "offline") {
    notes.push(
      "No language model is configured: the agent answers with what its memory finds. Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama, and run `cairn config --provider ID`.",
    );
  }
  const { target } = answers.deployment;
  for (const { variable } of secretsOf(answers)) {
    if (inFile.has(variable)) continue;
    if (!env[variable]) notes.push(`${variable} is not set: write \`${variable}=...\` into .env before you start.`);
    else if (target === "manual") {
      notes.push(
        `${variable} stays in your environment. For a service that the system starts, write it into .env too, or pass --save-key.`,
      );
    }
  }
  if (target === "docker" && facts.docker !== null && facts.docker.version === null && isLocal(answers))
    notes.push("Docker is installed here, and its service did not answer: start it before `cairn infra up`.");
  return notes;
}

/** The commands that come next, in their order. */
export function nextSteps({ deployment: { target } }: Answers, changed: boolean): string[] {
  if (target === "manual") return changed ? ["cairn restart"] : ["cairn start", "cairn chat"];
  return ["cairn build", "cairn infra preview", "cairn infra up", "cairn chat"];
}

function isLocal({ deployment: { docker, nodes } }: Answers): boolean {
  return (docker.host ?? "local") === "local" || nodes.some(({ host }) => host === "local");
}
