/** Last phase of a setup: answers in, files out. Pure; nothing is written here. */
import { type Document, isMap, parseDocument } from "yaml";
import type { Secret } from "../../runtime/config/index.ts";
import type { Answers } from "./answers.ts";
import type { ProviderChoice } from "./detect.ts";
import { chosenProvider } from "./provider.ts";
import { applySetting, type Offered, settingsOf } from "./settings.ts";
import type { Templates } from "./templates.ts";

export interface PlannedFile {
  /** Relative to the deployment directory, with forward slashes. */
  readonly path: string;
  readonly content: string;
  /**
   * `create` leaves an existing file alone, `lines` adds the lines that it lacks, `replace` keeps a copy of it. `update` does so
   * only where the file is no longer what the change was made from.
   */
  readonly mode: "create" | "lines" | "replace" | "update";
  /** For `update`: the text that the change was made from. */
  readonly expected?: string;
}

export interface SetupPlan {
  /** cairn.yaml is the last one: where it is, the setup is complete. */
  readonly files: readonly PlannedFile[];
  readonly secrets: readonly Secret[];
  readonly secretsHead: string;
}

export interface GenerateInput {
  readonly answers: Answers;
  readonly found: Offered;
  readonly secrets: readonly Secret[];
  /** The rendered infrastructure project: file name to text. */
  readonly infra: ReadonlyMap<string, string>;
  /** Null for a new configuration. */
  readonly change: { readonly before: string; readonly after: string } | "replace" | null;
}

const YAML_STYLE = { lineWidth: 0, flowCollectionPadding: true } as const;

export function generate(templates: Templates, input: GenerateInput): SetupPlan {
  const { change, infra, secrets } = input;
  const files: PlannedFile[] = [...infra].map(([name, content]) => ({
    path: `infra/${name}`,
    content,
    mode: "create",
  }));
  if (change === null || change === "replace") {
    for (const [name, content] of templates.workspace)
      files.push({ path: `workspace/${name}`, content, mode: "create" });
  }
  files.push({ path: ".gitignore", content: templates.gitignore, mode: "lines" });
  const path = "cairn.yaml";
  if (change === null || change === "replace") {
    const content = newConfiguration(templates.config, input);
    files.push({ path, content, mode: change === null ? "create" : "replace" });
  } else if (change.after !== change.before) {
    files.push({ path, content: change.after, mode: "update", expected: change.before });
  }
  return { files, secrets, secretsHead: templates.secretsHead };
}

/** The template with the answers in it; its comments stay. */
function newConfiguration(template: string, { answers, found }: Pick<GenerateInput, "answers" | "found">): string {
  const document: Document = parseDocument(template);
  renameAgent(document, answers.agents[0]?.name ?? "main");
  document.setIn(["providers"], document.createNode({}));
  document.setIn(["memory"], memoryOf(document, answers));
  const settings = settingsOf(answers, found);
  for (const setting of settings) {
    // On a machine of one's own there is nothing to say of a deployment.
    if (answers.deployment.target === "manual" && setting.path[0] === "deployment") continue;
    const [section, part] = setting.path;
    if (section !== "memory" || part === "embedding" || part === "summarizer") applySetting(document, setting);
  }
  writeReason(document, chosenProvider(answers, found.providers));
  const deployment = document.get("deployment", true);
  if (isMap(deployment)) {
    const pair = document.contents !== null && isMap(document.contents) ? document.contents.items.at(-1) : undefined;
    // The key of a pair that was just made is a plain text: as a node it can have a comment.
    if (pair)
      pair.key = commented(document, "deployment", " What `cairn infra preview` shows and `cairn infra up` deploys.");
  }
  return document.toString(YAML_STYLE);
}

function memoryOf(document: Document, { memory }: Answers): unknown {
  if (memory === "embedded") return document.get("memory", true);
  return document.createNode({ postgres: { connection_string: "${SERVICE_PG_URL}" } });
}

/** The template's agent is the default one, so that its comments stay with it. */
function renameAgent(document: Document, agent: string): void {
  const agents = document.get("agents");
  if (!isMap(agents)) throw new Error("The template of cairn.yaml has no mapping `agents`.");
  const [pair] = agents.items;
  if (!pair) throw new Error("The template of cairn.yaml has no agent.");
  pair.key = document.createNode(agent);
}

function writeReason(document: Document, { id, source, reason }: ProviderChoice): void {
  const entry = document.getIn(["providers", id], true);
  if (isMap(entry) && source !== "answers") entry.commentBefore = ` Found at setup: ${reason}.`;
}

function commented(document: Document, text: string, comment: string): unknown {
  const node = document.createNode(text);
  node.commentBefore = comment;
  node.spaceBefore = true;
  return node;
}
