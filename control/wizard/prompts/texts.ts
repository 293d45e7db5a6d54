/** The words of all questions of a setup, by the answer that they are for. `{name}` is filled in. */

export interface QuestionText {
  readonly message: string;
  /** Shown behind a question that may be left empty. */
  readonly empty?: string;
}

export const QUESTION_TEXTS: Readonly<Record<string, QuestionText>> = {
  "deployment.target": { message: "Where shall the service run?" },
  "deployment.name": { message: "Name of the deployment" },
  "deployment.docker.host": { message: "Docker host (local, or ssh://user@host)" },
  "deployment.docker.network": { message: "Docker network" },
  "deployment.nodes": { message: "Names of the nodes, separated by commas" },
  "deployment.nodes.*.host": { message: "Docker host of {node}" },
  "deployment.nodes.*.address": { message: "Address of {node} (dhcp, or such as 192.168.1.41/24)" },
  "deployment.nodes.*.pve_node": { message: "Member of the cluster that runs {node}" },
  "deployment.proxmox.host": { message: "Proxmox host" },
  "deployment.proxmox.port": { message: "Its SSH port" },
  "deployment.proxmox.host_key": { message: "Its public host key (a line of ssh-keyscan)" },
  "deployment.proxmox.user": { message: "SSH user" },
  "deployment.proxmox.identity_file": { message: "Private key file", empty: "the keys of ssh-agent" },
  "deployment.proxmox.template": { message: "Container template" },
  "deployment.proxmox.storage": { message: "Storage" },
  "deployment.proxmox.bridge": { message: "Network bridge" },
  "deployment.proxmox.gateway": { message: "Gateway of the fixed addresses", empty: "none" },
  "deployment.proxmox.postgres_address": { message: "Address of the database (such as 192.168.1.50/24)" },
  "deployment.kubernetes.context": { message: "Context of the cluster", empty: "the current one" },
  "deployment.kubernetes.namespace": { message: "Namespace" },
  "deployment.kubernetes.storage_class": { message: "Storage class", empty: "the cluster's default" },
  "deployment.kubernetes.replicas": { message: "Pods of each agent group" },
  "deployment.publish": { message: "Address and port of the database for nodes on other hosts" },
  "deployment.shared_storage": {
    message: "A volume that all nodes share, for files that agents on several of them work on?",
  },
  memory: { message: "Where shall the memory be stored?" },
  listen: { message: "Address of the HTTP server" },
  timezone: { message: "Time zone" },
  agents: { message: "Names of the agents, separated by commas; the first is the default" },
  "agents.*.provider": { message: "Provider of {agent}" },
  "agents.*.model": { message: "Model of {agent}" },
  "agents.*.thinking": { message: "How long shall {agent} think?" },
  "provider.id": { message: "Language model provider" },
  "provider.kind": { message: "Kind of {id}" },
  "provider.base_url": { message: "Address of {id}" },
  "provider.model": { message: "Model of {id}" },
  "provider.api_key_variable": { message: "Variable that holds the key of {id}", empty: "no key" },
  "embedding.model": { message: "Search the memory by meaning, with an embedding model?" },
  "embedding.base_url": { message: "Address of the API that has {model}" },
  summaries: { message: "Let {id} summarize old messages, in the background?" },
  save_key: { message: "Copy from the environment into .env: {variables}?" },
  channels: { message: "Where else shall people reach the agents? (`cairn chat` and HTTP are always there)" },
  "channels.*.settings": { message: "{label}" },
  "channels.*.token_variable": { message: "Variable that holds the token of the {channel} bot" },
  "channels.*.owner_id": { message: "Your id on {channel}" },
  "channels.*.bindings": { message: "Chats of {channel} that another agent answers (CHAT=AGENT, ...)", empty: "none" },
};

/** What a choice means, by the answer and its value. */
export const CHOICE_TEXTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "deployment.target": {
    docker: "containers, here or on hosts that SSH reaches",
    proxmox: "LXC containers of a Proxmox host",
    kubernetes: "pods of a cluster",
    manual: "a process of its own, with nothing deployed",
  },
  memory: {
    embedded: "on the node itself: for one node",
    postgres: "a PostgreSQL server of your own (SERVICE_PG_URL)",
    datahub: "a PostgreSQL that is deployed with the nodes and that they share",
  },
  "provider.id": { offline: "no language model", "openai-compatible": "any other with an OpenAI-compatible API" },
};

/** What a question needs to be understood, by its note. */
export const NOTE_TEXTS = {
  agents: "An agent is who answers you: it has a name, a model and prompts of its own. One is enough to begin with.",
  heard: "In a container, 127.0.0.1 is the container itself: {host} leads from there to {id} on this machine.",
  unheard:
    "In a container, 127.0.0.1 is the container itself: {host} leads from there to this machine, where {id} does not listen yet. Let it listen there (Ollama: OLLAMA_HOST=0.0.0.0), see docs/models.md.",
  where: "{where}",
} as const;

export const SECRET_TEXTS = {
  key: "Key of {of} for {variable}, kept in .env (empty: {empty})",
  token: "Token of the {of} bot for {variable}, kept in .env (empty: {empty})",
  setting: "{label} for {variable}, kept in .env (empty: {empty})",
  database: "URL of {of} for {variable}, kept in .env (empty: {empty})",
} as const;

export const WORDS = {
  detected: "Found on this machine (1 of 6)",
  keys: "Enter takes what is shown. Esc or `<` goes back to the question before (`<` and Enter where you type). Ctrl-C ends; nothing is written then.",
  phases: { deployment: "Deployment (2 of 6)", agents: "Agents (3 of 6)", channels: "Keys and channels (4 of 6)" },
  nothingAsked: "Nothing to ask here.",
  review: "Review (5 of 6)",
  reviewQuestion: "Write this?",
  refusedQuestion: "What shall be answered again?",
  write: "write it",
  change: { deployment: "change the deployment", agents: "change the agents", channels: "change keys and channels" },
  another: "another one",
  later: "later",
  typed: "the one you typed",
  leave: "leave, and write nothing",
  resume: "A setup was interrupted ({when}). Go on with its answers?",
  hostKey: "Is {fingerprint} the key of {host}?",
  hostKeyKnown: "known_hosts has the same key.",
  hostKeyUnknown: "Compare it with `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` on the host itself.",
  hostKeyUnread: "{host} shows no key: {why}. On the host itself `cat /etc/ssh/ssh_host_ed25519_key.pub` shows it.",
  keptDraft: "Nothing was written. The answers are kept: the same command goes on from here.",
  taken: "another program has port {port}: choose another one",
  required: "an answer is needed",
  unverified: "{why} It was not tested, and is kept as typed.",
  notPlain: "no spaces, quotes, # or backslashes: write it into .env by hand",
  pair: "CHAT=AGENT, separated by commas",
} as const;

/** The last step: what was written is started or deployed. */
export const FINISH = {
  start: "Start (6 of 6)",
  deploy: "Deploy (6 of 6)",
  questions: {
    service: "Start it with the machine, too? (writes and enables {file})",
    start: "Start it now?",
    deploy: "Deploy now? (shows the changes and asks; an image takes minutes)",
  },
  usual: { service: false, start: true, deploy: false },
  talk: "Talk to {agent} with `cairn chat`.",
  interrupted: "Everything is written; nothing was started.",
} as const;

/** What the library shows behind a question, for the room that it takes. */
export const YES_OR_NO = "Y/n";
export const MASKED = "input is masked";

export function filled(text: string, values: Readonly<Record<string, string>> = {}): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}
