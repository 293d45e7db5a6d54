/** Everything that a setup can be told: one schema for the flags, `--answers FILE` and, where nothing is said, `--yes`. */
import { readFile } from "node:fs/promises";
import { parseDocument } from "yaml";
import { z } from "zod";
import { ConfigError, ConfigValidationError, type Issue } from "../../runtime/contracts/errors.ts";

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/;
const name = z.string().regex(NAME, { error: "letters, digits, - and _, starting with a letter or digit" });

export const answersSchema = z.strictObject({
  agent: name.default("main").describe("Name of the agent."),
  thinking: z.enum(["off", "low", "medium", "high"]).default("off").describe("How long the model thinks."),
  provider: z
    .strictObject({
      id: name.describe("Name of the provider, such as anthropic, openai, ollama or offline."),
      kind: z.enum(["anthropic", "openai-compatible", "gemini", "xai", "ollama", "offline"]).optional(),
      model: z.string().min(1).optional(),
      base_url: z.url({ protocol: /^https?$/ }).optional(),
      api_key_variable: z
        .string()
        .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: "the name of an environment variable" })
        .optional()
        .describe("Name of the variable that holds the key. The key itself is never an answer."),
    })
    .optional()
    .describe("Found on the machine when absent."),
  memory: z.enum(["embedded", "postgres"]).optional().describe("postgres where SERVICE_PG_URL is set, else embedded."),
  listen: z.string().min(1).default("127.0.0.1:7433"),
  timezone: z.string().min(1).optional().describe("The machine's own when absent."),
  save_key: z
    .boolean()
    .default(false)
    .describe("Copy the key's value into .env, for a service that is started elsewhere."),
});

export type Answers = z.output<typeof answersSchema>;
export type AnswersInput = z.input<typeof answersSchema>;

/** Later parts overrule earlier ones, key by key. ConfigValidationError names every answer that is not allowed. */
export function parseAnswers(...parts: readonly unknown[]): Answers {
  const merged: unknown = Object.assign({}, ...parts.map(definedEntries));
  const result = answersSchema.safeParse(merged);
  if (result.success) return result.data;
  const issues = result.error.issues.flatMap((issue): Issue[] => {
    if (issue.code === "unrecognized_keys") {
      const known = Object.keys(answersSchema.shape).join(", ");
      return issue.keys.map((key) => ({
        path: [...issue.path, key].join("."),
        message: `no such answer; there are ${known}`,
      }));
    }
    return [{ path: issue.path.join("."), message: issue.message }];
  });
  const lines = issues.map((issue) => `  ${issue.path}: ${issue.message}`);
  throw new ConfigValidationError(["The answers are not valid:", ...lines].join("\n"), issues);
}

/** The answers in a YAML or JSON file, not yet checked. ConfigError when it cannot be read. */
export async function readAnswersFile(path: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    throw new ConfigError("CONFIG_UNREADABLE", `The answers file ${path} cannot be read (${code}).`, { cause: error });
  }
  const document = parseDocument(text);
  const [broken] = document.errors;
  if (broken)
    throw new ConfigError("CONFIG_UNREADABLE", `The answers file ${path} is neither YAML nor JSON: ${broken.message}`);
  const value: unknown = document.toJS();
  if (value !== null && (typeof value !== "object" || Array.isArray(value))) {
    throw new ConfigError("CONFIG_UNREADABLE", `The answers file ${path} must be a mapping of answers.`);
  }
  return value ?? {};
}

function definedEntries(part: unknown): Record<string, unknown> {
  if (typeof part !== "object" || part === null) return {};
  return Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined));
}
