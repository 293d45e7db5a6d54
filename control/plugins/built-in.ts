/** The plugins that every installation has. A test holds the list against what the service registers. */

export const PLUGIN_KINDS = ["provider", "channel", "tool", "memory", "hook"] as const;
export type PluginKind = (typeof PLUGIN_KINDS)[number];

export interface BuiltIn {
  readonly kind: PluginKind;
  readonly name: string;
  readonly about: string;
  /** Where its settings stand in cairn.yaml. */
  readonly configuration: string;
}

export const BUILT_IN: readonly BuiltIn[] = [
  provider("anthropic", "Anthropic's Messages API"),
  provider("openai-compatible", "Every chat-completions-compatible API, also gemini, xai and ollama by their own"),
  provider("offline", "Answers with what the memory finds, without a language model"),
  {
    kind: "channel",
    name: "agent",
    about: "HTTP, for programs, other agents and `cairn chat`",
    configuration: "channels.agent",
  },
  tool("file_read", "Read a file of the workspace"),
  tool("file_write", "Write a file of the workspace"),
  tool("file_edit", "Change a part of a file of the workspace"),
  tool("shell", "Run a command in a sandbox"),
  tool("memory_search", "Find what was said"),
  tool("memory_browse", "Read what was said, in order"),
  { kind: "memory", name: "postgres", about: "PostgreSQL with pgvector", configuration: "memory.postgres" },
  {
    kind: "memory",
    name: "embedded",
    about: "A store in the home directory, for one process",
    configuration: "memory.embedded",
  },
  { kind: "hook", name: "shell_danger", about: "Refuses dangerous shell commands", configuration: "runtime.safety" },
  { kind: "hook", name: "workspace_fence", about: "Keeps tools inside the workspace", configuration: "runtime.safety" },
  { kind: "hook", name: "audit", about: "Writes every tool call into the audit log", configuration: "runtime.safety" },
];

function provider(name: string, about: string): BuiltIn {
  return { kind: "provider", name, about, configuration: "providers.<id>" };
}

function tool(name: string, about: string): BuiltIn {
  return { kind: "tool", name, about, configuration: `tools.${name}` };
}
