/** Last phase of a setup: answers in, files out. Pure; nothing is written here. */
import { type Document, isMap, parseDocument } from "yaml";
import type { Secret } from "../../runtime/config/index.ts";
import type { Answers } from "./answers.ts";
import type { ProviderChoice } from "./detect.ts";
import type { Templates } from "./templates.ts";

export interface PlannedFile {
  /** Relative to the deployment directory, with forward slashes. */
  readonly path: string;
  readonly content: string;
  /** `create` leaves an existing file alone, `lines` adds the lines that it lacks, `replace` keeps a copy of it. */
  readonly mode: "create" | "lines" | "replace";
}

export interface SetupPlan {
  /** cairn.yaml is the last one: where it is, the setup is complete. */
  readonly files: readonly PlannedFile[];
  readonly secrets: readonly Secret[];
  readonly secretsHead: string;
}

export interface GenerateInput {
  readonly answers: Answers;
  readonly provider: ProviderChoice;
  readonly memory: "embedded" | "postgres";
  readonly timezone: string;
  readonly secrets: readonly Secret[];
  readonly replaceConfig: boolean;
}

export function generate(templates: Templates, input: GenerateInput): SetupPlan {
  const files: PlannedFile[] = templates.workspace.map(([name, content]) => ({
    path: `workspace/${name}`,
    content,
    mode: "create",
  }));
  files.push({ path: ".gitignore", content: templates.gitignore, mode: "lines" });
  const config = generateConfig(templates.config, input);
  files.push({ path: "cairn.yaml", content: config, mode: input.replaceConfig ? "replace" : "create" });
  return { files, secrets: input.secrets, secretsHead: templates.secretsHead };
}

/** The template with the answers in it; its comments stay. */
function generateConfig(template: string, { answers, provider, memory, timezone }: GenerateInput): string {
  const document = parseDocument(template);
  document.setIn(["runtime", "listen"], answers.listen);
  document.setIn(["runtime", "default_agent"], answers.agent);
  document.setIn(["runtime", "timezone"], timezone);
  setAgent(document, answers, provider.id);
  const entry = providerEntry(provider);
  const commented = document.createNode(entry);
  if (isMap(commented)) {
    commented.commentBefore = ` Found at setup: ${provider.reason}.`;
  }
  document.setIn(["providers"], document.createNode({}));
  document.setIn(["providers", provider.id], commented);
  if (memory === "postgres") usePostgres(document);
  return document.toString({ lineWidth: 0, flowCollectionPadding: true });
}

/** Renames the template's agent, so that its comments stay with it. */
function setAgent(document: Document, { agent, thinking }: Answers, provider: string): void {
  const agents = document.get("agents");
  if (!isMap(agents)) throw new Error("The template of cairn.yaml has no mapping `agents`.");
  const [pair] = agents.items;
  if (!pair) throw new Error("The template of cairn.yaml has no agent.");
  pair.key = document.createNode(agent);
  document.setIn(["agents", agent, "provider"], provider);
  document.setIn(["agents", agent, "default_thinking"], thinking);
}

function providerEntry({ kind, model, baseUrl, keyVariable }: ProviderChoice): Record<string, string> {
  if (kind === "offline") return { kind };
  return {
    kind,
    ...(baseUrl === undefined ? {} : { base_url: baseUrl }),
    ...(model === undefined ? {} : { model }),
    ...(keyVariable === undefined ? {} : { api_key: `\${${keyVariable}}` }),
  };
}

function usePostgres(document: Document): void {
  const memory = document.createNode({ postgres: { connection_string: "${SERVICE_PG_URL}" } });
  document.setIn(["memory"], memory);
}
