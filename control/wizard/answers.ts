/**
 * All answers of a setup: one schema for the questions, the flags, `--answers FILE` and `--yes`. Each answer says in
 * which phase it is asked for and which flag gives it; the words of the question are in prompts/texts.ts.
 */
import { z } from "zod";
import { canonicalListen, PROVIDER_KINDS, parseListen } from "../../runtime/config/index.ts";
import { THINKING_LEVELS } from "../../runtime/config/schema/agents.ts";
import { DEPLOYMENT_TARGETS, deploymentSection } from "../../runtime/config/schema/deployment.ts";
import { dnsLabel, identifier, name, text, timezone, variableName } from "../../runtime/config/schema/scalars.ts";
import { CHANNEL_IDS, settingFields } from "./channel-catalogue.ts";

export const PHASES = ["deployment", "agents", "channels"] as const;
export type Phase = (typeof PHASES)[number];

/** What the schema has of an answer besides its values. */
export interface AnswerMeta {
  readonly phase: Phase;
  readonly flag: string;
  /** Stands for the value in `--help`. */
  readonly helpValue: string;
}

const MEMORY_PLACES = ["embedded", "postgres", "datahub"] as const;

const of = (phase: Phase, flag: string, helpValue = "VALUE"): AnswerMeta & Record<string, unknown> => ({
  phase,
  flag,
  helpValue,
});

const shape = deploymentSection.shape;
const docker = shape.docker.unwrap().shape;
const proxmox = shape.proxmox.unwrap().shape;
const kubernetes = shape.kubernetes.unwrap().shape;
const datahub = shape.datahub.unwrap().shape;
const node = shape.nodes.unwrap().element.shape;

/** The configuration's own rules hold for what goes there. */
const nodeAnswers = z.strictObject({
  name: node.name.describe("A node of the fleet; once for each.").meta(of("deployment", "node", "NAME")),
  host: node.host.describe("docker: where that node runs.").meta(of("deployment", "node-host", "NAME=HOST")),
  address: node.address
    .describe("proxmox: that node's address: dhcp, or one with its prefix.")
    .meta(of("deployment", "node-address", "NAME=ADDRESS")),
  pve_node: node.pve_node
    .describe("proxmox: member of the cluster that runs that node.")
    .meta(of("deployment", "node-member", "NAME=MEMBER")),
});

const dockerAnswers = z.strictObject({
  host: docker.host
    .unwrap()
    .optional()
    .describe("docker: local, or ssh://user@host.")
    .meta(of("deployment", "docker-host", "HOST")),
  network: docker.network
    .unwrap()
    .optional()
    .describe("docker: name of the network.")
    .meta(of("deployment", "docker-network", "NAME")),
});

const proxmoxAnswers = z.strictObject({
  host: proxmox.host
    .optional()
    .describe("proxmox: the host, reached over SSH.")
    .meta(of("deployment", "proxmox-host", "HOST")),
  port: proxmox.port
    .unwrap()
    .optional()
    .describe("proxmox: its SSH port.")
    .meta(of("deployment", "proxmox-port", "PORT")),
  host_key: proxmox.host_key
    .optional()
    .describe("proxmox: its public key, a line of ssh-keyscan.")
    .meta(of("deployment", "proxmox-host-key", "KEY")),
  user: proxmox.user
    .unwrap()
    .optional()
    .describe("proxmox: the SSH user.")
    .meta(of("deployment", "proxmox-user", "NAME")),
  identity_file: proxmox.identity_file
    .describe("proxmox: private key for SSH; the agent's keys without it.")
    .meta(of("deployment", "proxmox-identity", "FILE")),
  template: proxmox.template
    .unwrap()
    .optional()
    .describe("proxmox: template of the containers.")
    .meta(of("deployment", "proxmox-template", "TEMPLATE")),
  storage: proxmox.storage
    .unwrap()
    .optional()
    .describe("proxmox: storage of root disks and data.")
    .meta(of("deployment", "proxmox-storage", "NAME")),
  bridge: proxmox.bridge
    .unwrap()
    .optional()
    .describe("proxmox: network bridge.")
    .meta(of("deployment", "proxmox-bridge", "NAME")),
  gateway: proxmox.gateway
    .describe("proxmox: gateway of fixed addresses.")
    .meta(of("deployment", "proxmox-gateway", "ADDRESS")),
  postgres_address: proxmox.postgres_address
    .describe("proxmox: address of the database's container, with its prefix.")
    .meta(of("deployment", "postgres-address", "ADDRESS")),
});

const kubernetesAnswers = z.strictObject({
  context: kubernetes.context
    .describe("kubernetes: context of the cluster; the current one without it.")
    .meta(of("deployment", "kube-context", "NAME")),
  namespace: kubernetes.namespace
    .unwrap()
    .optional()
    .describe("kubernetes: namespace.")
    .meta(of("deployment", "kube-namespace", "NAME")),
  storage_class: kubernetes.storage_class
    .describe("kubernetes: storage class; the cluster's default without it.")
    .meta(of("deployment", "kube-storage-class", "NAME")),
  replicas: kubernetes.replicas
    .unwrap()
    .optional()
    .describe("kubernetes: pods of each agent group.")
    .meta(of("deployment", "kube-replicas", "COUNT")),
});

const deploymentAnswers = z.strictObject({
  target: z
    .enum(DEPLOYMENT_TARGETS)
    .default("manual")
    .describe("Where the service runs.")
    .meta(of("deployment", "target")),
  name: dnsLabel("a stack's name")
    .optional()
    .describe("Name of the deployment, and prefix of what it creates.")
    .meta(of("deployment", "stack", "NAME")),
  docker: dockerAnswers.prefault({}),
  proxmox: proxmoxAnswers.prefault({}),
  kubernetes: kubernetesAnswers.prefault({}),
  nodes: z.array(nodeAnswers).default([]),
  publish: datahub.publish
    .describe("docker: where the database listens for nodes on other hosts.")
    .meta(of("deployment", "publish", "ADDRESS:PORT")),
  shared_storage: z
    .boolean()
    .optional()
    .describe("A volume that all nodes share.")
    .meta(of("deployment", "shared-storage")),
});

const providerAnswers = z.strictObject({
  id: name("a provider's id")
    .optional()
    .describe("Provider, such as anthropic, openai, ollama or offline; found on the machine without it.")
    .meta(of("agents", "provider", "ID")),
  kind: z
    .enum(PROVIDER_KINDS)
    .optional()
    .describe("Kind of that provider, where its name does not say it.")
    .meta(of("agents", "provider-kind")),
  base_url: z
    .url({ protocol: /^https?$/, error: "an address that starts with http:// or https://" })
    .optional()
    .describe("Address of that provider's API.")
    .meta(of("agents", "base-url", "URL")),
  model: text()
    .optional()
    .describe("Model of that provider.")
    .meta(of("agents", "model", "NAME")),
  api_key_variable: variableName()
    .optional()
    .describe("Variable that holds the key. The key itself is never an answer.")
    .meta(of("agents", "key-variable", "NAME")),
});

const embeddingAnswers = z.strictObject({
  model: text()
    .optional()
    .describe("Embedding model that finds messages by meaning, such as nomic-embed-text; off searches by words alone.")
    .meta(of("agents", "embedding", "MODEL")),
  base_url: z
    .url({ protocol: /^https?$/, error: "an address that starts with http:// or https://" })
    .optional()
    .describe("Address of the OpenAI-compatible API that has that model, where it was not found on this machine.")
    .meta(of("agents", "embedding-url", "URL")),
});

const agentAnswers = z.strictObject({
  name: name("an agent's name")
    .describe("An agent; once for each, the first one is the default.")
    .meta(of("agents", "agent", "NAME")),
  provider: name("a provider's id")
    .optional()
    .describe("Provider of that agent, where it is another one.")
    .meta(of("agents", "agent-provider", "NAME=ID")),
  model: text()
    .optional()
    .describe("Model of that agent, where it is another one.")
    .meta(of("agents", "agent-model", "NAME=MODEL")),
  thinking: z
    .enum(THINKING_LEVELS)
    .optional()
    .describe("How long the model thinks: off, low, medium or high.")
    .meta(of("agents", "thinking", "NAME=LEVEL")),
});

const channelEntry = z.strictObject({
  id: z
    .enum(CHANNEL_IDS)
    .describe(`Channel, once for each: ${CHANNEL_IDS.join(", ")}.`)
    .meta(of("channels", "channel", "ID")),
  token_variable: variableName()
    .optional()
    .describe("Variable that holds the bot's token. The token itself is never an answer.")
    .meta(of("channels", "channel-token", "ID=NAME")),
  owner_id: identifier()
    .optional()
    .describe("Your id on the platform; others get no answer.")
    .meta(of("channels", "channel-owner", "ID=OWNER")),
  bindings: z
    .record(text(), name("an agent's name"))
    .optional()
    .describe("Chat that another agent answers.")
    .meta(of("channels", "bind", "ID/CHAT=AGENT")),
  settings: z
    .record(text(), text())
    .optional()
    .describe("What else the channel has, such as telegram/webhook; of a secret, the variable that holds it.")
    .meta(of("channels", "channel-setting", "ID/KEY=VALUE")),
});

const channelAnswers = channelEntry.superRefine(({ id, settings = {} }, issues) => {
  const fields = settingFields(id);
  for (const [key, value] of Object.entries(settings)) {
    const field = fields.find((one) => one.key === key);
    const path = ["settings", key];
    if (field === undefined)
      issues.addIssue({
        code: "custom",
        path,
        message: `no such setting; there are ${fields.map((one) => one.key).join(", ")}`,
      });
    else if (field.variable !== undefined && !variableName().safeParse(value).success)
      issues.addIssue({ code: "custom", path, message: `the name of a variable, such as ${field.variable}` });
    else if (field.pattern?.test(value) === false)
      issues.addIssue({ code: "custom", path, message: field.allowed ?? "another value" });
  }
});

export const answersSchema = z.strictObject({
  deployment: deploymentAnswers.prefault({}),
  memory: z
    .enum(MEMORY_PLACES)
    .optional()
    .describe("Where the memory is stored: on the node itself, on a server of your own, on one that is deployed.")
    .meta(of("deployment", "memory")),
  listen: text("HOST:PORT")
    .refine((value) => parseListen(value) !== null, { error: "HOST:PORT, such as 127.0.0.1:7433" })
    .overwrite(canonicalListen)
    .optional()
    .describe("Address of the HTTP server.")
    .meta(of("deployment", "listen", "HOST:PORT")),
  timezone: timezone()
    .optional()
    .describe("Time zone, such as Europe/Berlin; the machine's without it.")
    .meta(of("deployment", "timezone", "ZONE")),
  provider: providerAnswers.prefault({}),
  embedding: embeddingAnswers.prefault({}),
  summaries: z
    .boolean()
    .optional()
    .describe("Let the provider's model summarize old messages, in the background; only a server of this machine.")
    .meta(of("agents", "summaries")),
  agents: z.array(agentAnswers).default([]),
  save_key: z
    .boolean()
    .optional()
    .describe("Copy keys and tokens from the environment into .env.")
    .meta(of("agents", "save-key")),
  channels: z.array(channelAnswers).default([]),
});

export type Answers = z.output<typeof answersSchema>;

/** The schema below what makes it optional or gives it a value. */
export function bare(schema: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return bare(schema.unwrap());
  return schema;
}
