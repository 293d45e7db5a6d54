/** The flags that answer questions of a setup, and how they overrule an answers file. */
import { Flags } from "@oclif/core";

export const initFlags = {
  agent: Flags.string({ helpValue: "NAME", description: "Name of the agent", helpGroup: "ANSWERS" }),
  provider: Flags.string({
    helpValue: "ID",
    description: "Provider, such as anthropic, openai, ollama or offline",
    helpGroup: "ANSWERS",
  }),
  model: Flags.string({
    helpValue: "NAME",
    description: "Model of that provider",
    helpGroup: "ANSWERS",
    dependsOn: ["provider"],
  }),
  "base-url": Flags.string({
    helpValue: "URL",
    description: "Address of that provider's API",
    helpGroup: "ANSWERS",
    dependsOn: ["provider"],
  }),
  memory: Flags.string({
    options: ["embedded", "postgres"],
    description: "Where the memory is stored",
    helpGroup: "ANSWERS",
  }),
  listen: Flags.string({ helpValue: "HOST:PORT", description: "Address of the HTTP server", helpGroup: "ANSWERS" }),
  timezone: Flags.string({ helpValue: "ZONE", description: "Time zone, such as Europe/Berlin", helpGroup: "ANSWERS" }),
  "save-key": Flags.boolean({ description: "Copy the provider's API key into .env", helpGroup: "ANSWERS" }),
};

export interface InitFlagValues {
  readonly agent?: string | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly "base-url"?: string | undefined;
  readonly memory?: string | undefined;
  readonly listen?: string | undefined;
  readonly timezone?: string | undefined;
  readonly "save-key"?: boolean | undefined;
}

/** The answers of a file with those of the flags over them, still unchecked. A provider is overruled as a whole. */
export function flagAnswers(flags: InitFlagValues, fromFile: unknown): Record<string, unknown> {
  const { agent, provider: id, model, "base-url": base_url, memory, listen, timezone } = flags;
  const provider = id === undefined ? undefined : defined({ id, model, base_url });
  const save_key = flags["save-key"] ? true : undefined;
  const base = typeof fromFile === "object" && fromFile !== null ? fromFile : {};
  return { ...base, ...defined({ agent, provider, memory, listen, timezone, save_key }) };
}

function defined(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
