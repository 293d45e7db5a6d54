/** Writes the reference of cairn.yaml from its schema, so that the page and the program cannot differ. */

import { z } from "zod";
import { notImplementedKey } from "../../runtime/config/not-implemented.ts";
import { configSchema } from "../../runtime/config/schema.ts";

const INTRODUCTION = `# Configuration

A deployment directory holds \`cairn.yaml\`, \`.env\` and \`workspace/\`, and is made to be kept in git:
\`.env\` and the state of the node are ignored. \`cairn init --yes\` writes all of it. It is the
directory that \`--dir\` names, else the current one if it has a \`cairn.yaml\`, else \`SERVICE_HOME\`, or
\`~/.cairn\`. The embedded store, logs and the node's key live in the home directory: \`SERVICE_HOME\`,
else \`~/.cairn\` for the default directory and \`.cairn\` in any other one. \`cairn config validate\`
checks a configuration without starting anything.

Structural errors end the start with a report: where, what was found, what is allowed. Unknown keys,
numbers out of the usual range and secrets in the file are warnings. What is marked as not in this
version is read and does nothing: that is a warning, and an error where somebody would rely on it
for money or safety (actions after tool calls, a mesh without TLS). Durations
are written with a unit (\`900s\`, \`5m\`, \`1h30m\`), sizes as \`512Mi\` or \`2G\`, counts of tokens as
\`128k\`.

## References and secrets

- \`\${NAME}\` stands for a variable, also inside a longer text; \`\${NAME:-default}\` has a default. A
  variable that is empty counts as one that is not set. A literal \`\${\` is written \`$\${\`.
- Variables come from the environment of the process and from \`.env\`. **The environment wins** over
  \`.env\`: what is set for one run is what counts. A variable that is set to nothing in the
  environment does not hide one of \`.env\`.
- \`op://vault/item/field\`, as the whole value or as the value of a variable, is read with the
  command \`op\` of 1Password. The service's own variables (\`SERVICE_*\`, \`TOOL_SYNTH_*\`) may be such
  references, too.
- What is not in use needs no secret: a provider that no agent names, a channel or MCP server with
  \`enabled: false\`, and what only a deployment needs are left out with a warning when a reference of
  theirs cannot be resolved.
- \`.env\` must belong to the user of the process. Permissions beyond 0600 are taken away with a
  warning; a file of another user ends the start. A file of root that others cannot read (a mounted
  secret) is accepted. Links are followed and their target is checked.
- \`init\` refers to the API key that it finds and does not copy it. A service that the system starts
  does not see your shell's environment: write the key into \`.env\` then, or let
  \`cairn init --save-key\` do it.

## Variables

| variable | |
|---|---|
| \`SERVICE_HOME\` | home directory; when absent \`~/.cairn\` for the default deployment directory, \`.cairn\` in any other one |
| \`SERVICE_LISTEN\` | overrides \`runtime.listen\` |
| \`SERVICE_LOG_LEVEL\` | least level of what the node logs: \`trace\`, \`debug\`, \`info\` (when absent), \`warn\`, \`error\`, \`fatal\` or \`silent\` |
| \`SERVICE_API_TOKEN\` | the owner's token; made by \`init\` and by the first start, in \`.env\` |
| \`SERVICE_PG_URL\`, \`SERVICE_PG_DIRECT_URL\` | defaults of \`memory.postgres.connection_string\` and \`direct_url\`; nodes of a deployment with \`datahub.postgres\` get their own |
| \`SERVICE_WORKSPACE_SEED\`, \`SERVICE_WORKSPACE_ROOT\` | in containers: where workspace files come from, and where they are kept |
| \`SERVICE_MCP_ENABLE_MEMORY_WRITE\` | \`1\` offers the memory's write tools |
| \`SERVICE_MEMORY_SOURCE\`, \`SERVICE_MEMORY_AGENT\`, \`SERVICE_MEMORY_CHANNEL\`, \`SERVICE_MEMORY_PERSONA\` | tags of what the write tools store, where a call gives none |
| \`TOOL_SYNTH_ENDPOINT\`, \`TOOL_SYNTH_MODEL\` | chat-completions endpoint and model for sentences about tool calls; the summarizer's when absent |
| \`TOOL_SYNTH_API_KEY\` | key of \`TOOL_SYNTH_ENDPOINT\`; the summarizer's goes to the summarizer's own server only |
| \`ANTHROPIC_API_KEY\`, \`OPENAI_API_KEY\` and the like | default of \`api_key\` for providers at the service's own address |
| \`OLLAMA_HOST\` | where \`init\` looks for Ollama |
| \`OPENAI_BASE_URL\` | what \`init\` writes as the address of \`openai\`, so that \`OPENAI_API_KEY\` is sent there |
`;

interface Row {
  readonly key: string;
  readonly allowed: string;
  readonly fallback: string;
  readonly notes: string;
}

/** The whole page, Markdown. */
export function configurationPage(): string {
  const sections = Object.entries(configSchema.shape).map(([key, schema]) => {
    const rows = [...rowsOf(key, schema)];
    const description = descriptionOf(schema);
    const lines = rows.map((row) => `| \`${row.key}\` | ${row.allowed} | ${row.fallback} | ${row.notes} |`);
    const head = [`## ${key}`, "", ...(description && rows[0]?.key !== key ? [description, ""] : [])];
    return [...head, "| key | allowed | default | |", "|---|---|---|---|", ...lines].join("\n");
  });
  return `${[INTRODUCTION.trimEnd(), ...sections].join("\n\n")}\n`;
}

function* rowsOf(key: string, schema: z.core.$ZodType): Generator<Row> {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodObject) {
    for (const [name, child] of Object.entries(inner.shape)) yield* rowsOf(`${key}.${name}`, child);
  } else if (inner instanceof z.ZodRecord && unwrap(inner.valueType) instanceof z.ZodObject) {
    yield* rowsOf(`${key}.<${key === "agents" ? "name" : "id"}>`, inner.valueType);
  } else if (inner instanceof z.ZodArray && unwrap(inner.element) instanceof z.ZodObject) {
    yield* rowsOf(`${key}[]`, inner.element);
  } else {
    yield {
      key,
      allowed: cell(allowedOf(inner)),
      fallback: defaultOf(schema),
      notes: cell([...mark(key), descriptionOf(schema) ?? ""].join(" ").trim()),
    };
  }
}

/** What this version reads and does not do. */
function mark(key: string): string[] {
  return notImplementedKey(key) === undefined ? [] : ["*Not in this version.*"];
}

/** Every check names what it allows: a value that nothing allows brings the words out. */
function allowedOf(schema: z.core.$ZodType): string {
  if (schema instanceof z.ZodArray) return `a list, each ${allowedOf(unwrap(schema.element))}`;
  if (schema instanceof z.ZodRecord) return `a mapping to ${allowedOf(unwrap(schema.valueType))}`;
  const result = z.safeParse(schema, Symbol("nothing"));
  return result.success ? "" : (result.error.issues[0]?.message ?? "");
}

function defaultOf(schema: z.core.$ZodType): string {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    const value: unknown = schema.def.defaultValue;
    return `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
  }
  if (schema instanceof z.ZodOptional) return defaultOf(schema.unwrap());
  return "";
}

function descriptionOf(schema: z.core.$ZodType): string | undefined {
  return z.globalRegistry.get(schema)?.description;
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    return unwrap(schema.unwrap());
  }
  return schema;
}

/** Text for a cell: outside of code, a bracket would be taken for HTML. */
function cell(text: string): string {
  const parts = text.replaceAll("|", "\\|").replaceAll("\n", " ").split("`");
  return parts.map((part, index) => (index % 2 === 0 ? part.replaceAll("<", "\\<") : part)).join("`");
}
