/** All the ways of going wrong that a check is made to find, one at least for each. */

import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { chmod, mkdir, symlink, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { AudioServer } from "../../../control/doctor/context/audio-servers.ts";
import type { DatabaseSnapshot, ServerFacts } from "../../../control/doctor/context/database.ts";
import type { ModelServer } from "../../../control/doctor/context/model-servers.ts";
import type { MemoryStats, NodeSnapshot } from "../../../control/doctor/context/node.ts";
import type { ProbeContext } from "../../../control/doctor/context/probe-context.ts";
import type { Fleet } from "../../../control/mesh/fleet.ts";
import type { FleetMember, FleetProblem } from "../../../control/mesh/fleet-problems.ts";
import type { Client } from "../../../runtime/client/index.ts";
import { writeCredentials } from "../../../runtime/config/credentials.ts";
import type { McpServerReport } from "../../../runtime/contracts/health-report.ts";
import type { NodeEntry } from "../../../runtime/contracts/node-entry.ts";
import { MINIMAL } from "../../support/deployment.ts";
import { entryOf } from "../../support/node-entries.ts";
import { healthWith, type ProbeContextSpec } from "./probe-context.ts";

/** One way of going wrong: which check tells of it, and what its message says. */
export interface Wrong extends ProbeContextSpec {
  readonly id: string;
  readonly when: string;
  readonly status: "warn" | "fail";
  readonly says: RegExp;
  /** What is to be done, in part. */
  readonly fix?: RegExp;
  /** It makes a real repository. */
  readonly usesGit?: true;
  /** After the files are there. */
  readonly arrange?: (context: ProbeContext) => Promise<void>;
}

/** What this node has written down of another one. */
function meshFileOf(said: Partial<NodeEntry>): string {
  return JSON.stringify({ version: 1, nodes: [entryOf(generateKeyPairSync("ed25519"), said)] });
}

const POSTGRES = `${MINIMAL}memory:\n  postgres:\n    connection_string: postgresql://u@127.0.0.1:1/db\n`;
const server = (facts: Partial<ServerFacts>): Pick<ProbeContext, "database"> => ({
  database: async () => ({ backend: "postgres", server: { ...GOOD_SERVER, ...facts } }),
});
const GOOD_SERVER: ServerFacts = {
  number: 170_010,
  version: "17.10",
  vector: "0.8.1",
  trgm: "1.6",
  forbidden: [],
  aheadMs: 3,
  uncertainMs: 5,
};
const store = (parts: object): Pick<ProbeContext, "database"> => {
  const snapshot = {
    path: "/s",
    state: "complete",
    problem: null,
    major: "18",
    locked: false,
    holder: null,
    bytes: 1,
    ...parts,
  };
  return { database: async () => ({ backend: "embedded", store: snapshot }) as DatabaseSnapshot };
};
const node = (parts: Partial<NodeSnapshot>): Pick<ProbeContext, "node"> => ({
  node: async () => ({
    state: "running",
    target: null,
    pid: 1,
    url: "http://n",
    died: null,
    taken: null,
    stack: [],
    health: null,
    reason: "",
    code: null,
    fix: null,
    client: null,
    ...parts,
  }),
});
const health = (parts: Parameters<typeof healthWith>[0]): Pick<ProbeContext, "health" | "node"> => ({
  health: async () => healthWith(parts),
  ...node({ health: healthWith(parts) }),
});
const MCP_UP: McpServerReport = {
  transport: "stdio",
  state: "up",
  reason: null,
  tools: 2,
  changed: [],
  changed_digest: null,
  left_out: [],
};
const LOADED = Date.now();
const hoursAgo = (hours: number): string => new Date(LOADED - hours * 3_600_000 - 1_000).toISOString();
const BACKED_UP = {
  every_s: 86_400,
  keep: 7,
  now: hoursAgo(0),
  next_at: hoursAgo(2),
  last: { name: "cairn-a.backup", created_at: hoursAgo(26), bytes: 1_500, node: "nova" },
  failure: null,
} as const;
const stats = (parts: Partial<MemoryStats>): Pick<ProbeContext, "stats"> => ({
  stats: async () => ({
    messages: { total: 10, embedded: 0 },
    embedding_queue_depth: 0,
    unsummarized: { total: 0, conversations_over_threshold: 0 },
    summaries: { leaf: 0, branch: 0, root: 0 },
    compaction: { last_run_at: null, last_error: null },
    queues: [],
    ...parts,
  }),
});
const problem = (node: string, kind: "offline" | "version", message: string, hint: string): FleetProblem => {
  return { id: node, node, problem: kind, message, hint };
};
/** Doctor looks at its problems, and at how many there are. */
const FLEET: Fleet = {
  node: "box",
  mesh_enabled: false,
  members: Array.from({ length: 3 }, () => ({}) as FleetMember),
  problems: [
    problem("attic", "offline", "ended, or lost the database, without saying so", "Start it."),
    problem("cellar", "version", "runs 0.1.0", "Update it."),
  ],
};
const tools = (...names: string[]) => ({ hasTool: async (name: string) => names.includes(name) });
const deployed = (target: string) => `${MINIMAL}deployment:\n  target: ${target}\n`;
const MESH = `${MINIMAL}runtime:\n  tls: { cert: tls/cert.pem, key: tls/key.pem }\nmesh:\n  enabled: true\n  name: box\n`;
const SHELL_FOR_OTHERS =
  "version: 1\nagents: { main: { tools: { others: { include: [shell] } } } }\nproviders: { offline: {} }\n";
const TOKEN_FOR_AGENTS = { id: "t1", name: "website", scopes: ["agent"], created_at: "2030-01-31", revoked_at: null };
export const keyed = (url: string) =>
  `version: 1\nagents: { main: {} }\nproviders: { openai: { kind: openai-compatible, base_url: "${url}", model: m, api_key: "\${KEY}" } }\n`;

/** One that answers with its list. */
function audioServers(answer: AudioServer["answer"]): Pick<ProbeContext, "audioServers"> {
  const url = "http://127.0.0.1:8880/v1/models";
  return { audioServers: async () => [{ path: "channels.voice.speech", url, model: "tts-1", answer }] };
}

function modelServer(id: string, model: string, models: readonly string[]): Pick<ProbeContext, "modelServers"> {
  const provider = { kind: id, model } as ModelServer["provider"];
  const answer = { kind: "answered", status: 200, models } as const;
  return {
    modelServers: async () => [{ id, provider, use: "needed", url: "http://127.0.0.1:11434/v1/models", answer }],
  };
}

/** Of main, each with what `/model` has given it; the first is called desk. */
function sessions(...models: readonly (string | null)[]): Pick<ProbeContext, "sessions"> {
  return {
    sessions: async () =>
      models.map((model, at) => ({
        session_key: `key-${at}`,
        conversation_id: `c${at}`,
        name: at === 0 ? "desk" : null,
        agent: "main",
        channel: "agent",
        user: "",
        title: null,
        model,
        opened_by: "turn",
        conversations: 1,
        messages: 1,
        created_at: "2030-01-31T00:00:00.000Z",
        last_at: "2030-01-31T00:00:00.000Z",
      })),
  };
}

export const WRONGS: readonly Wrong[] = [
  {
    id: "system.node",
    when: "Node is old",
    status: "fail",
    says: /22\.1\.0 is too old: 24/,
    machine: { node: "22.1.0" },
  },
  {
    id: "system.platform",
    when: "on Windows",
    status: "fail",
    says: /Windows/,
    fix: /WSL/,
    machine: { platform: "win32" },
  },
  {
    id: "system.platform",
    when: "on an odd processor",
    status: "warn",
    says: /linux-riscv64/,
    machine: { platform: "linux", arch: "riscv64" },
  },
  { id: "system.home", when: "there is none", status: "fail", says: /neither SERVICE_HOME nor HOME/, home: false },
  {
    id: "deployment.node",
    when: "its token is in the password manager",
    status: "warn",
    says: /cannot be asked: Its token/,
    fix: /OP_SERVICE_ACCOUNT_TOKEN/,
    seen: node({ code: "CONFIG_SECRET_UNRESOLVED", reason: "Its token is in the password manager" }),
  },
  {
    id: "system.home",
    when: "others may look into it",
    status: "warn",
    says: /mode is 0755/,
    fix: /chmod 700/,
    arrange: ({ paths }) => mkdir(paths.home ?? "", { mode: 0o755 }).then(() => undefined),
  },
  { id: "system.home", when: "it is a file", status: "fail", says: /not a directory/, files: { home: "" } },
  {
    id: "system.disk",
    when: "it is nearly full",
    status: "warn",
    says: /500\.0 MB of/,
    machine: { disk: async () => ({ totalBytes: 1e12, freeBytes: 5e8 }) },
  },
  {
    id: "system.disk",
    when: "it is full",
    status: "fail",
    says: /1\.0 MB of/,
    machine: { disk: async () => ({ totalBytes: 1e12, freeBytes: 1e6 }) },
  },
  {
    id: "system.memory",
    when: "little is left",
    status: "warn",
    says: /300\.0 MB/,
    machine: { memory: async () => ({ totalBytes: 1e9, availableBytes: 3e8 }) },
  },
  {
    id: "system.memory",
    when: "little is left beside the node",
    status: "warn",
    says: /100\.0 MB/,
    machine: { memory: async () => ({ totalBytes: 1e9, availableBytes: 1e8 }) },
    seen: node({}),
  },
  {
    id: "system.memory",
    when: "nothing is left",
    status: "fail",
    says: /1\.0 MB/,
    machine: { memory: async () => ({ totalBytes: 1e9, availableBytes: 1e6 }) },
  },
  {
    id: "system.files",
    when: "few are allowed",
    status: "warn",
    says: /have 512 files/,
    fix: /ulimit -n/,
    machine: { openFiles: async () => 512 },
  },
  {
    id: "system.files",
    when: "hardly any are allowed",
    status: "fail",
    says: /have 64 files/,
    machine: { openFiles: async () => 64 },
  },
  { id: "system.clock", when: "it is behind", status: "warn", says: /9 s behind/, seen: server({ aheadMs: 9_500 }) },
  {
    id: "system.clock",
    when: "it is a lease ahead",
    status: "fail",
    says: /40 s ahead/,
    seen: server({ aheadMs: -40_900 }),
  },
  {
    id: "system.timezone",
    when: "it is none",
    status: "fail",
    says: /"Nowhere\/Land"/,
    yaml: `${MINIMAL}runtime:\n  timezone: Nowhere/Land\n`,
  },
  { id: "system.timezone", when: "TZ is none", status: "warn", says: /TZ is "Mars"/, machine: { tz: "Mars" } },
  {
    id: "system.user",
    when: "a node here would be root's",
    status: "warn",
    says: /started here runs as root/,
    fix: /--run-as USER/,
    machine: { uid: 0 },
  },
  {
    id: "system.user",
    when: "the running node is root's",
    status: "warn",
    says: /^The node runs as root/,
    machine: { uid: 1000, ownerOf: async () => 0 },
    seen: node({}),
  },
  {
    id: "system.listen",
    when: "other machines reach the node without TLS",
    status: "warn",
    says: /0\.0\.0\.0:7433 is reachable from other machines without TLS/,
    fix: /runtime\.tls/,
    yaml: `${MINIMAL}runtime:\n  listen: 0.0.0.0:7433\n`,
  },
  {
    id: "system.listen",
    when: "the variable SERVICE_LISTEN opens it",
    status: "warn",
    says: /\[::\]:7433 is reachable from other machines without TLS/,
    variables: { SERVICE_LISTEN: "[::]:7433" },
  },
  {
    id: "system.listen",
    when: "a mesh promises TLS and it is switched off",
    status: "fail",
    says: /no certificate/,
    fix: /runtime\.tls.* `auto`/,
    yaml: `${MINIMAL}runtime:\n  tls: off\nmesh:\n  enabled: true\n`,
  },
  {
    id: "system.sandbox",
    when: "it is switched off",
    status: "warn",
    says: /without a sandbox/,
    fix: /sandbox: none/,
    yaml: `${MINIMAL}tools:\n  shell:\n    sandbox: none\n`,
  },
  {
    id: "system.sandbox",
    when: "there is none to be had",
    status: "warn",
    says: /refused: bubblewrap \(bwrap\) is not installed/,
    fix: /apt install bubblewrap/,
    machine: { platform: "linux" },
    probe: { sandboxProblem: async () => "bubblewrap (bwrap) is not installed" },
  },
  {
    id: "system.network",
    when: "others' commands reach it",
    status: "warn",
    says: /through main, and with it services/,
    fix: /network_for_others/,
    yaml: `${SHELL_FOR_OTHERS}tools:\n  shell:\n    network_for_others: true\n`,
  },
  {
    id: "secrets.tokens",
    when: "one reaches an agent that runs commands for others",
    status: "warn",
    says: /^One token lets its holder run commands on this machine, through main/,
    fix: /cairn token revoke/,
    yaml: SHELL_FOR_OTHERS,
    seen: node({ health: healthWith(), client: { listTokens: async () => [TOKEN_FOR_AGENTS] } as unknown as Client }),
  },
  {
    id: "system.guards",
    when: "some are switched off",
    status: "warn",
    says: /runtime\.safety\.shell_danger, runtime\.safety\.audit/,
    yaml: `${MINIMAL}runtime:\n  safety:\n    shell_danger: false\n    audit: false\n`,
  },
  {
    id: "secrets.workspace",
    when: "the deployment directory lies in it",
    status: "warn",
    says: /runtime\.workspace.* holds the deployment directory/,
    fix: /runtime\.workspace: workspace/,
    yaml: `${MINIMAL}runtime:\n  workspace: .\n`,
  },
  {
    id: "secrets.workspace",
    when: "an agent's own workspace reaches the home through a link",
    status: "warn",
    says: /agents\.main\.workspace.* holds the deployment directory/,
    yaml: "version: 1\nagents: { main: { workspace: linked } }\nproviders: { offline: { kind: offline } }\n",
    arrange: (context) => symlink(join(context.paths.dir, ".."), join(context.paths.dir, "linked")),
  },
  {
    id: "config.present",
    when: "there is none",
    status: "fail",
    says: /no configuration at/,
    fix: /cairn init/,
    yaml: null,
  },
  {
    id: "config.present",
    when: "a directory has its name",
    status: "fail",
    says: /not a regular file/,
    yaml: null,
    arrange: ({ paths }) => mkdir(paths.file).then(() => undefined),
  },
  {
    id: "config.present",
    when: "a pipe has its name",
    status: "fail",
    says: /not a regular file/,
    yaml: null,
    arrange: async ({ paths }) => void execFileSync("mkfifo", [paths.file]),
  },
  {
    id: "config.syntax",
    when: "it is no YAML",
    status: "fail",
    says: /line 3, column 1: Flow sequence/,
    yaml: "version: 1\nagents: [main\nproviders: {}\n",
  },
  {
    id: "config.version",
    when: "it is newer",
    status: "fail",
    says: /version 99; this program reads up to version 1/,
    fix: /Update/,
    yaml: "version: 99\n",
  },
  {
    id: "config.version",
    when: "it says none",
    status: "warn",
    says: /does not say/,
    yaml: MINIMAL.replace("version: 1\n", ""),
  },
  {
    id: "config.valid",
    when: "a value is wrong",
    status: "fail",
    says: /runtime\.listen \(line 7, column 3\)/,
    yaml: `${MINIMAL}runtime:\n  listen: nowhere\n`,
  },
  {
    id: "config.keys",
    when: "one is misspelt",
    status: "warn",
    says: /lisen \(line 7, column 3\).*did you mean listen/,
    fix: /--fix/,
    yaml: `${MINIMAL}runtime:\n  lisen: 127.0.0.1:1\n`,
  },
  {
    id: "config.warnings",
    when: "a number is odd",
    status: "warn",
    says: /max_tool_iterations.*out of the usual range/,
    yaml: `${MINIMAL}runtime:\n  max_tool_iterations: 9000\n`,
  },
  {
    id: "config.warnings",
    when: "a channel is not in this version",
    status: "warn",
    says: /channels\.console.*the channels agent, /,
    yaml: `${MINIMAL}channels:\n  console: {}\n`,
  },
  {
    id: "config.valid",
    when: "a mesh has no TLS",
    status: "fail",
    says: /mesh\.enabled.*runtime\.tls is off/,
    yaml: `${MINIMAL}runtime:\n  tls: off\nmesh:\n  enabled: true\n`,
  },
  {
    id: "config.directories",
    when: "they are not there",
    status: "warn",
    says: /plugin_dirs: .*\/plugins is no directory; skill_dirs: .*\/skills is no directory/,
    yaml: `${MINIMAL}plugin_dirs: [plugins]\nskill_dirs: [skills]\n`,
  },
  {
    id: "workspace.skills",
    when: "one has no front matter",
    status: "warn",
    says: /Agents do not get ship\./,
    fix: /cairn skill validate/,
    files: { "workspace/skills/ship/SKILL.md": "# Ship\n" },
  },
  {
    id: "workspace.skills",
    when: "no agent can read them",
    status: "warn",
    says: /No agent has the tool skill_list: none can read ship of skill_dirs/,
    fix: /tools\.exclude/,
    yaml: "version: 1\nagents: { main: { tools: { exclude: [skill_list] } } }\nproviders: { offline: {} }\nskill_dirs: [skills]\n",
    files: { "skills/ship/SKILL.md": "---\nname: ship\ndescription: Ships it\n---\n" },
  },
  {
    id: "config.plugins",
    when: "a plugin's directory is not there",
    status: "fail",
    says: /1 of 1 plugins cannot be used/,
    fix: /cairn restart/,
    yaml: `${MINIMAL}plugin_dirs: [plugins]\n`,
  },
  {
    id: "config.applied",
    when: "cairn.yaml is newer than the node",
    status: "warn",
    says: /cairn\.yaml was changed .* after the node started/,
    fix: /cairn restart/,
    seen: health({ started_at: "2020-01-31T00:00:00.000Z" }),
  },
  {
    id: "config.applied",
    when: ".env is newer, too",
    status: "warn",
    says: /cairn\.yaml and \.env were changed/,
    env: "A=b\n",
    seen: health({ started_at: "2020-01-31T00:00:00.000Z" }),
  },
  {
    id: "secrets.file",
    when: "others may read it",
    status: "warn",
    says: /mode is 0644/,
    fix: /change the secrets/,
    env: "A=b\n",
    mode: 0o644,
  },
  {
    id: "secrets.file",
    when: "it is another user's",
    status: "fail",
    says: /belongs to another user/,
    seen: {
      secretsFile: async () => ({
        path: "/d/.env",
        exists: true,
        mode: 0o600,
        owners: [4_711],
        values: {},
        problem: null,
      }),
    },
  },
  {
    id: "secrets.file",
    when: "it is a pipe",
    status: "fail",
    says: /not a regular file/,
    arrange: async ({ paths }) => void execFileSync("mkfifo", [join(paths.dir, ".env")]),
  },
  {
    id: "secrets.file",
    when: "it is root's and open",
    status: "fail",
    says: /belongs to root/,
    machine: { uid: 4_711 },
    seen: {
      secretsFile: async () => ({ path: "/d/.env", exists: true, mode: 0o644, owners: [0], values: {}, problem: null }),
    },
  },
  { id: "secrets.token", when: "there is none", status: "warn", says: /no SERVICE_API_TOKEN/ },
  {
    id: "secrets.token",
    when: "it is short",
    status: "fail",
    says: /5 characters only/,
    env: "SERVICE_API_TOKEN=short\n",
  },
  {
    id: "secrets.token",
    when: "the node has another one",
    status: "fail",
    says: /does not know/,
    env: "SERVICE_API_TOKEN=long-enough-for-a-token\n",
    seen: node({ code: "RUNTIME_UNAUTHORIZED" }),
  },
  {
    id: "secrets.hardcoded",
    when: "one stands in the file",
    status: "warn",
    says: /1 secret stands in/,
    fix: /\.env/,
    yaml: "version: 1\nagents: { main: {} }\nproviders: { openai: { model: m, api_key: plain-text-secret } }\n",
  },
  {
    id: "secrets.references",
    when: "the password manager's command is missing",
    status: "fail",
    says: /`op` is not on the path/,
    env: "KEY=op://vault/item/field\n",
  },
  {
    id: "secrets.ignored",
    when: "git would take it",
    status: "warn",
    says: /does not ignore/,
    env: "A=b\n",
    probe: tools("git"),
    usesGit: true,
    arrange: repository(),
  },
  {
    id: "secrets.ignored",
    when: "git keeps it",
    status: "fail",
    says: /git keeps \.env/,
    fix: /git -C \S+ rm -r --cached \.env`/,
    env: "A=b\n",
    probe: tools("git"),
    usesGit: true,
    arrange: repository("add", "-f", ".env"),
  },
  {
    id: "secrets.private",
    when: "others may read the node's key",
    status: "warn",
    says: /node\.key/,
    files: { "home/node.key": "" },
    arrange: ({ paths }) => chmod(join(paths.home ?? "", "node.key"), 0o644),
  },
  {
    id: "secrets.private",
    when: "others may read the key of its certificate",
    status: "warn",
    says: /tls\.key/,
    files: { "home/tls.key": "" },
    arrange: ({ paths }) => chmod(join(paths.home ?? "", "tls.key"), 0o640),
  },
  { id: "workspace.exists", when: "it is missing", status: "fail", says: /workspace \(of main\) is missing/ },
  { id: "workspace.exists", when: "it is a file", status: "fail", says: /not a directory/, files: { workspace: "" } },
  {
    id: "workspace.writable",
    when: "it leads into itself",
    status: "fail",
    says: /cannot be written.*ELOOP/,
    arrange: ({ paths }) => symlink("workspace", join(paths.dir, "workspace")),
  },
  {
    id: "workspace.files",
    when: "core files are missing",
    status: "warn",
    says: /lacks USER\.md, WORKSPACE\.md, MEMORY\.md/,
    files: { "workspace/CORE.md": "" },
  },
  {
    id: "database.reachable",
    when: "nobody listens",
    status: "fail",
    says: /ECONNREFUSED/,
    fix: /Start the PostgreSQL/,
    yaml: POSTGRES,
  },
  {
    id: "database.reachable",
    when: "the node alone cannot reach it",
    status: "fail",
    says: /the node cannot reach it/,
    seen: { ...server({}), ...health({ memory: { reachable: false } }) },
  },
  {
    id: "database.reachable",
    when: "the store is incomplete",
    status: "fail",
    says: /no complete database/,
    files: { "home/store/data/x": "" },
  },
  {
    id: "database.reachable",
    when: "the node cannot use its store",
    status: "fail",
    says: /cannot use its embedded store/,
    seen: { ...store({}), ...health({ memory: { reachable: false } }) },
  },
  {
    id: "database.version",
    when: "it is old",
    status: "fail",
    says: /15\.4 is too old: 16/,
    seen: server({ number: 150_004, version: "15.4" }),
  },
  {
    id: "database.extensions",
    when: "there is no pgvector",
    status: "fail",
    says: /no pgvector/,
    fix: /postgresql-17-pgvector/,
    seen: server({ vector: null }),
  },
  {
    id: "database.extensions",
    when: "pgvector is old",
    status: "fail",
    says: /0\.7\.4 is too old/,
    seen: server({ vector: "0.7.4" }),
  },
  {
    id: "database.extensions",
    when: "there is no pg_trgm",
    status: "fail",
    says: /no pg_trgm/,
    seen: server({ trgm: null }),
  },
  {
    id: "database.extensions",
    when: "the role may not create one",
    status: "fail",
    says: /lacks vector, which the role of the connection may not create/,
    fix: /superuser run `create extension vector`/,
    seen: server({ forbidden: ["vector"] }),
  },
  {
    id: "database.migrations",
    when: "the node's schema is old",
    status: "warn",
    says: /version 1, this program's/,
    seen: { ...store({}), ...health({ schema_version: 1 }) },
  },
  {
    id: "database.migrations",
    when: "the schema is newer",
    status: "fail",
    says: /newer than this program/,
    seen: { ...store({}), ...health({ schema_version: 9_999 }) },
  },
  {
    id: "database.pool",
    when: "it is larger than what the server allows",
    status: "fail",
    says: /wants up to \d+ connections, and the server allows 5/,
    yaml: POSTGRES,
    seen: {
      database: async () => ({
        backend: "stack",
        server: GOOD_SERVER,
        connections: { used: 1, allowed: 5 },
        reason: "",
        see: [],
      }),
    },
  },
  {
    id: "database.direct",
    when: "nobody listens there",
    status: "fail",
    says: /direct_url cannot be used.*ECONNREFUSED/,
    yaml: `${POSTGRES}    direct_url: postgresql://u@127.0.0.1:1/db\n`,
  },
  {
    id: "database.tls",
    when: "another machine's database is reached without",
    status: "warn",
    says: /memory\.postgres\.connection_string.*db\.example\.org is reached without TLS/,
    fix: /sslmode=verify-full/,
    yaml: `${MINIMAL}memory:\n  postgres:\n    connection_string: postgresql://u@db.example.org/db\n`,
  },
  {
    id: "database.lock",
    when: "another process has the store",
    status: "warn",
    says: /Process 4711 \(since then\)/,
    seen: store({ locked: true, holder: { pid: 4_711, since: "then" } }),
  },
  {
    id: "memory.embedding",
    when: "many messages wait",
    status: "warn",
    says: /70000 wait/,
    yaml: `${MINIMAL}memory:\n  embedding: { provider: in-process, model: m }\n`,
    seen: stats({ embedding_queue_depth: 70_000 }),
  },
  {
    id: "memory.summaries",
    when: "the last one failed",
    status: "warn",
    says: /The last summary failed: no such model/,
    yaml: `${MINIMAL}memory:\n  summarizer: { base_url: "http://127.0.0.1:1", model: m }\n`,
    seen: stats({ compaction: { last_run_at: null, last_error: "no such model" } }),
  },
  {
    id: "memory.summaries",
    when: "many conversations are due",
    status: "warn",
    says: /500 conversations are due/,
    yaml: `${MINIMAL}memory:\n  summarizer: { base_url: "http://127.0.0.1:1", model: m }\n`,
    seen: stats({ unsummarized: { total: 9_999, conversations_over_threshold: 500 } }),
  },
  {
    id: "memory.synthesis",
    when: "the endpoint is unavailable",
    status: "warn",
    says: /The model tiny could not be used: nobody there\. 3 tool calls wait\./,
    fix: /TOOL_SYNTH_ENDPOINT/,
    seen: health({
      memory: { workers: { synthesis: { state: "unavailable", model: "tiny", reason: "nobody there." } } },
      queues: [{ queue: "synthesize-tool-call", waiting: 3, failed: 0 }],
    }),
  },
  {
    id: "memory.wiki",
    when: "there is no model for it",
    status: "warn",
    says: /names no model/,
    yaml: `${MINIMAL}memory:\n  wiki: { enabled: true }\n`,
    seen: health({
      memory: { workers: { wiki: { state: "off", model: null, reason: "memory.summarizer names no model." } } },
    }),
  },
  {
    id: "memory.wiki",
    when: "its model is unavailable",
    status: "warn",
    says: /The model m could not be used: nobody there/,
    yaml: `${MINIMAL}memory:\n  wiki: { enabled: true }\n`,
    seen: health({ memory: { workers: { wiki: { state: "unavailable", model: "m", reason: "nobody there" } } } }),
  },
  {
    id: "memory.backup",
    when: "the last attempt failed",
    status: "fail",
    says: /failing on nova for 2 h.*: The disk is full\. The newest backup is 1 d 2 h old \(cairn-a\.backup on nova, 1\.5 kB\)/,
    fix: /Free some space/,
    seen: health({
      backup: {
        ...BACKED_UP,
        state: "failing",
        failure: {
          since: hoursAgo(2),
          attempts: 3,
          message: "The disk is full.",
          hint: "Free some space there.",
          node: "nova",
        },
      },
    }),
  },
  {
    id: "memory.backup",
    when: "the newest is too old",
    status: "warn",
    says: /The newest backup is 1 d 2 h old .* and one is due every 1 h/,
    fix: /node has to be up/,
    seen: health({ backup: { ...BACKED_UP, state: "late", every_s: 3_600 } }),
  },
  {
    id: "memory.former",
    when: "an embedded store is beside the server that is used",
    status: "warn",
    says: /The memory is in PostgreSQL, and .*store has an embedded store \(3 B\)/,
    fix: /`cairn memory move postgres` takes it along/,
    yaml: POSTGRES,
    files: { "home/store/data/PG_VERSION": "18\n" },
  },
  {
    id: "memory.writes",
    when: "a message is of the future",
    status: "warn",
    says: /in the future/,
    seen: { lastMessage: async () => new Date(Date.now() + 3_600_000) },
  },
  {
    id: "memory.spool",
    when: "batches were refused",
    status: "warn",
    says: /1 captured batch was refused/,
    files: { "home/spool/dead/a.json": "" },
  },
  {
    id: "memory.spool",
    when: "batches wait for days",
    status: "warn",
    says: /the oldest for 2 d/,
    files: { "home/spool/a.json": "" },
    arrange: ({ paths }) => utimes(join(paths.home ?? "", "spool", "a.json"), 0, Date.now() / 1_000 - 180_000),
  },
  {
    id: "queues.failed",
    when: "jobs were given up",
    status: "warn",
    says: /3 in embed/,
    fix: /retry-failed --task embed/,
    seen: health({ queues: [{ queue: "embed", waiting: 0, failed: 3, last_error: "no model" }] }),
  },
  {
    id: "queues.backlog",
    when: "very many wait",
    status: "warn",
    says: /20000 jobs wait/,
    seen: health({ queues: [{ queue: "embed", waiting: 20_000, failed: 0 }] }),
  },
  {
    id: "queues.backlog",
    when: "one waits for hours, whatever the store is",
    status: "warn",
    says: /1 job waits, the oldest for 5 h\./,
    seen: health({ queues: [{ queue: "embed", waiting: 1, failed: 0, oldest_waiting_ms: 5 * 3_600_000 }] }),
  },
  {
    id: "queues.schedules",
    when: "one is late",
    status: "warn",
    says: /main\/morning: it was due at noon/,
    fix: /schedule list.*schedule run morning/,
    seen: health({ schedules: [{ agent: "main", name: "morning", problem: "it was due at noon" }] }),
  },
  {
    id: "queues.approvals",
    when: "one has waited for hours",
    status: "warn",
    says: /2 calls wait for the owner's word, the oldest for 5 h\./,
    fix: /cairn approvals list/,
    seen: health({ approvals: { waiting: 2, oldest_waiting_ms: 5 * 3_600_000 } }),
  },
  {
    id: "providers.keys",
    when: "the variable is not set",
    status: "fail",
    says: /providers\.openai\.api_key.*OPENAI_API_KEY/,
    yaml: "version: 1\nagents: { main: {} }\nproviders: { openai: { model: m } }\n",
  },
  {
    id: "providers.keys",
    when: "the key cannot be sent",
    status: "fail",
    says: /openai has a key with blanks/,
    yaml: keyed("http://127.0.0.1:1"),
    variables: { KEY: "two words" },
  },
  {
    id: "providers.logins",
    when: "nobody has logged in",
    status: "fail",
    says: /No login that can be used: anthropic\./,
    fix: /cairn login anthropic/,
    yaml: "version: 1\nagents: { main: {} }\nproviders: { anthropic: { model: m, login: { client_id: c } } }\n",
  },
  {
    id: "providers.logins",
    when: "the login server has refused the refresh",
    status: "fail",
    says: /anthropic \(The login could not be refreshed: the login server refused \(invalid_grant\)\)\./,
    fix: /cairn login anthropic/,
    yaml: "version: 1\nagents: { main: {} }\nproviders: { anthropic: { model: m, login: { client_id: c } } }\n",
    arrange: async ({ home }) => {
      await writeCredentials(home(), {
        schema: 1,
        provider: "anthropic",
        access_token: "a",
        refresh_token: "r",
        expires_at: null,
        scopes: [],
        obtained_at: "2030-01-01T00:00:00.000Z",
        refresh_refused: "the login server refused (invalid_grant)",
      });
    },
  },
  {
    id: "providers.reachable",
    when: "nobody listens",
    status: "fail",
    says: /openai cannot be reached at http:\/\/127\.0\.0\.1:1/,
    yaml: keyed("http://127.0.0.1:1/v1"),
    variables: { KEY: "k" },
  },
  {
    id: "providers.models",
    when: "the server lacks the model of an agent",
    status: "fail",
    says: /^ollama does not have the model llama99 \(main\)\.$/,
    fix: /ollama pull llama99/,
    yaml: "version: 1\nagents: { main: {} }\nproviders: { ollama: { model: llama99 } }\n",
    seen: modelServer("ollama", "llama99", ["llama3:latest"]),
  },
  {
    id: "providers.sessions",
    when: "one was given a model that the server lacks",
    status: "warn",
    says: /^main's session desk was given ollama:gone:7b with \/model, and ollama does not have it\.$/,
    fix: /\/model default.*cairn chat --agent main --session desk/,
    yaml: "version: 1\nagents: { main: {} }\nproviders: { ollama: { model: llama3 } }\n",
    seen: {
      ...modelServer("ollama", "llama3", ["llama3:latest"]),
      ...sessions("ollama:gone:7b", "ollama:llama3", null),
    },
  },
  {
    id: "providers.sessions",
    when: "some were given one of a provider that has gone",
    status: "warn",
    says: /was given gone:gpt-9 with \/model, and there is no provider gone; so 1 more\.$/,
    seen: { ...modelServer("offline", "", []), ...sessions("gone:gpt-9", "gone:gpt-9") },
  },
  {
    id: "providers.available",
    when: "the node cannot use one",
    status: "fail",
    says: /cannot use offline/,
    seen: health({ providers: { offline: { available: false, model: "" } } }),
  },
  {
    id: "providers.available",
    when: "the node has suspended its calls of a model",
    status: "warn",
    says: /suspended its calls of offline:m \(last failure: PROVIDER_TIMEOUT\)/,
    seen: health({
      providers: {
        offline: {
          available: true,
          model: "m",
          circuits: [{ model: "m", state: "open", failures: 0, retry_after_s: 9, last_error: "PROVIDER_TIMEOUT" }],
        },
      },
    }),
  },
  {
    id: "providers.budgets",
    when: "an agent is near its budget",
    status: "warn",
    says: /main has used 80 % of daily_tokens/,
    seen: health({ agents: { main: withBudget(80, "stop") } }),
  },
  {
    id: "providers.budgets",
    when: "an agent is stopped by its budget",
    status: "fail",
    says: /main has used 100 % of daily_tokens, which ends at 2030-02-01/,
    seen: health({ agents: { main: withBudget(100, "stop") } }),
  },
  {
    id: "providers.budgets",
    when: "an agent goes on beyond its budget",
    status: "warn",
    says: /main has used 100 % of daily_tokens/,
    seen: health({ agents: { main: withBudget(100, "warn") } }),
  },
  {
    id: "channels.tokens",
    when: "one has none",
    status: "fail",
    says: /channels\.telegram\.token/,
    yaml: `${MINIMAL}channels:\n  telegram: { token: "\${TELEGRAM_TOKEN}", owner_id: 1 }\n`,
  },
  {
    id: "channels.tokens",
    when: "the app's is missing, where the platform has one",
    status: "fail",
    says: /channels\.slack\.app_token/,
    yaml: `${MINIMAL}channels:\n  slack: { token: "\${SLACK_TOKEN}", app_token: "\${NONE}", owner_id: U012AB3CD }\n`,
  },
  {
    id: "channels.connected",
    when: "one is down",
    status: "fail",
    says: /agent is down \(the token was revoked\)/,
    seen: health({ channels: { agent: { platform: "agent", state: "down", reason: "the token was revoked" } } }),
  },
  {
    id: "channels.connected",
    when: "one goes on trying",
    status: "warn",
    says: /agent is connecting \(no answer\)/,
    seen: health({ channels: { agent: { platform: "agent", state: "connecting", reason: "no answer" } } }),
  },
  {
    id: "channels.connected",
    when: "the node drains",
    status: "warn",
    says: /agent is down/,
    fix: /draining/,
    seen: health({ draining: true, channels: { agent: { platform: "agent", state: "down" } } }),
  },
  {
    id: "channels.connected",
    when: "the node does not have one",
    status: "fail",
    says: /agent is not there/,
    fix: /restart/,
    seen: health({ channels: {} }),
  },
  {
    id: "providers.mcp",
    when: "a server is down",
    status: "warn",
    says: /git is down \(its program ended with code 1\)/,
    fix: /logs/,
    seen: health({ mcp: { git: { ...MCP_UP, state: "down", reason: "its program ended with code 1" } } }),
  },
  {
    id: "providers.mcp",
    when: "a tool has changed",
    status: "warn",
    says: /git \(push\)/,
    fix: /mcp approve git/,
    seen: health({ mcp: { git: { ...MCP_UP, changed: ["push"] } } }),
  },
  {
    id: "providers.mcp",
    when: "a tool cannot be offered",
    status: "warn",
    says: /cannot be offered/,
    fix: /exclude/,
    seen: health({ mcp: { git: { ...MCP_UP, left_out: [{ name: "pull", reason: "its schema is too large" }] } } }),
  },
  {
    id: "channels.audio",
    when: "a service refuses its key",
    status: "fail",
    says: /channels\.voice\.speech refuses the key \(status 401\)\.$/,
    fix: /channels\.voice\.speech\.api_key/,
    seen: audioServers({ kind: "answered", status: 401, models: null }),
  },
  {
    id: "channels.audio",
    when: "a service is not there",
    status: "fail",
    says: /cannot be reached at .* \(refused\)\.$/,
    seen: audioServers({ kind: "unreachable", reason: "refused" }),
  },
  {
    id: "channels.audio",
    when: "a service has too much to do",
    status: "warn",
    says: /answers with status 429/,
    seen: audioServers({ kind: "answered", status: 429, models: null }),
  },
  {
    id: "channels.audio",
    when: "a service redirects",
    status: "fail",
    says: /redirects requests \(status 302\)/,
    seen: audioServers({ kind: "answered", status: 302, models: null }),
  },
  {
    id: "channels.audio",
    when: "a service does not list the model",
    status: "warn",
    says: /does not list the model tts-1/,
    seen: audioServers({ kind: "answered", status: 200, models: ["other"] }),
  },
  {
    id: "deployment.node",
    when: "it was killed",
    status: "fail",
    says: /has died: process 4711, started 2030-01-31T00:00:00\.000Z, ended without stopping/,
    fix: /cairn logs --level error/,
    files: {
      "home/run/node.json": JSON.stringify({
        pid: 4_711,
        url: "http://127.0.0.1:1",
        started_at: "2030-01-31T00:00:00.000Z",
      }),
    },
  },
  {
    id: "deployment.node",
    when: "another deployment's node has its address",
    status: "fail",
    says: /the node of \/srv\/other listens at http:\/\/n: it could not start/,
    fix: /runtime\.listen/,
    seen: node({ state: "stopped", taken: "the node of /srv/other" }),
  },
  {
    id: "deployment.node",
    when: "the stack is not deployed yet",
    status: "warn",
    says: /Nothing is deployed on docker/,
    fix: /cairn infra up/,
    yaml: deployed("docker"),
  },
  { id: "deployment.node", when: "none runs", status: "warn", says: /No node is running/, fix: /cairn start/ },
  {
    id: "deployment.node",
    when: "something else holds the home",
    status: "warn",
    says: /Another process uses the home/,
    seen: node({ state: "busy" }),
  },
  {
    id: "deployment.node",
    when: "it does not answer",
    status: "fail",
    says: /does not answer as it should: it hangs/,
    seen: node({ reason: "it hangs" }),
  },
  {
    id: "deployment.node",
    when: "it is unhealthy",
    status: "fail",
    says: /is unhealthy/,
    seen: health({ status: "unhealthy" }),
  },
  {
    id: "deployment.node",
    when: "it is degraded",
    status: "warn",
    says: /is degraded and draining/,
    seen: health({ status: "degraded", draining: true }),
  },
  {
    id: "deployment.service",
    when: "it kills too early",
    status: "warn",
    says: /kills the node 10 s after/,
    probe: { serviceUnit: async () => ({ path: "/u", text: "[Service]\nTimeoutStopSec=10\n" }) },
  },
  {
    id: "deployment.service",
    when: "its Node is gone",
    status: "fail",
    says: /names a program that is not there: \/gone\/bin\/node/,
    fix: /cairn service install/,
    probe: {
      serviceUnit: async () => ({ path: "/u", text: '[Service]\nExecStart="/gone/bin/node" "/opt/main.js"\n' }),
    },
  },
  {
    id: "deployment.tools",
    when: "docker is missing",
    status: "fail",
    says: /docker needs docker/,
    yaml: deployed("docker"),
  },
  {
    id: "deployment.tools",
    when: "kubectl is missing",
    status: "fail",
    says: /kubernetes needs kubectl/,
    yaml: deployed("kubernetes"),
  },
  {
    id: "deployment.docker",
    when: "the engine is down",
    status: "fail",
    says: /does not answer: no socket/,
    yaml: deployed("docker"),
    probe: { ...tools("docker"), dockerProblem: async () => "no socket" },
  },
  {
    id: "deployment.lock",
    when: "a dead process has left one",
    status: "fail",
    says: /prod is locked by process 4711, which has ended/,
    fix: /infra unlock/,
    probe: { stackLocks: async () => [lock(false)] },
  },
  {
    id: "deployment.lock",
    when: "another machine holds one",
    status: "warn",
    says: /another machine/,
    probe: { stackLocks: async () => [lock(null)] },
  },
  {
    id: "mesh.registry",
    when: "it is broken",
    status: "fail",
    says: /mesh\.json cannot be used/,
    yaml: MESH,
    files: { "home/mesh.json": "{" },
  },
  { id: "mesh.registry", when: "it is not there", status: "warn", says: /There is no .*mesh\.json yet/, yaml: MESH },
  {
    id: "mesh.registry",
    when: "it could not be read at a start",
    status: "warn",
    says: /set aside as .*mesh\.json\.unreadable-20260101T000000Z/,
    yaml: MESH,
    files: { "home/mesh.json": meshFileOf({}), "home/mesh.json.unreadable-20260101T000000Z": "{" },
  },
  ...(["revoked", "left"] as const).map(
    (standing): Wrong => ({
      id: "mesh.registry",
      when: `this node is ${standing}`,
      status: "fail",
      says: standing === "left" ? /This node has left its mesh/ : /This node was revoked/,
      fix: /cairn mesh leave/,
      yaml: MESH,
      files: { "home/mesh.json": meshFileOf({}) },
      seen: { health: async () => healthWith({ mesh: { enabled: true, standing, members: 0, problem: "it is" } }) },
    }),
  ),
  {
    id: "mesh.registry",
    when: "the node could not join",
    status: "fail",
    says: /this node could not join/,
    yaml: MESH,
    files: { "home/mesh.json": meshFileOf({}) },
    seen: {
      health: async () =>
        healthWith({ mesh: { enabled: true, standing: "alone", members: 1, problem: "this node could not join" } }),
    },
  },
  {
    id: "mesh.peers",
    when: "one is unavailable",
    status: "warn",
    says: /1 of 1 other nodes cannot be reached: two/,
    yaml: MESH,
    files: { "home/mesh.json": meshFileOf({ name: "two", address: "https://127.0.0.1:1" }) },
  },
  {
    id: "mesh.peers",
    when: "the node finds something wrong with the others, in a mesh or without one",
    status: "warn",
    says: /^attic: ended, or lost the database, without saying so; cellar: runs 0\.1\.0\.$/,
    fix: /^Start it.* `cairn mesh status`/,
    seen: { fleet: async () => FLEET },
  },
  {
    id: "updates.running",
    when: "the node is older",
    status: "warn",
    says: /runs version 1\.0\.0/,
    fix: /restart/,
    seen: health({ version: "1.0.0" }),
  },
  {
    id: "updates.source",
    when: "the tree is changed",
    status: "warn",
    says: /1 of its files is changed/,
    probe: tools("git"),
    files: { a: "1" },
    usesGit: true,
    arrange: repository("add", "a"),
    seen: {},
  },
  {
    id: "updates.images",
    when: "a node has an older one",
    status: "warn",
    says: /1 of 1 nodes/,
    files: {
      "infra/release.json": JSON.stringify({
        schema: 1,
        built: { id: "b", version: "2.0.0" },
        nodes: { n: { id: "a", version: "1.0.0" } },
      }),
    },
  },
  {
    id: "updates.images",
    when: "the file is broken",
    status: "fail",
    says: /cannot be read/,
    files: { "infra/release.json": "[" },
  },
  {
    id: "updates.available",
    when: "there is a newer release",
    status: "warn",
    says: /9\.0\.0 is out; this is 1\.2\.3/,
    requested: ["updates.available"],
    files: { a: "1" },
    usesGit: true,
    arrange: released,
  },
];

function withBudget(used: number, onLimit: "stop" | "warn") {
  const limits = [
    { limit: "daily_tokens" as const, used, max: 100, share: used / 100, resets_at: "2030-02-01T00:00:00.000Z" },
  ];
  const state = used < 100 ? ("near" as const) : ("reached" as const);
  return { provider: "offline", model: "", active_turns: 0, queued: 0, budget: { on_limit: onLimit, state, limits } };
}

function lock(alive: boolean | null) {
  return { file: "/l", stack: "prod", user: "ada", pid: 4_711, host: "box", started_at: "then", alive };
}

const GIT = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"];

/** A repository in the deployment directory; with more words, git does that in it, too. */
function repository(...more: string[]) {
  return async ({ paths: { dir } }: ProbeContext): Promise<void> => {
    const git = (...args: string[]) => execFileSync("git", ["-C", dir, ...GIT, ...args], { stdio: "pipe" });
    git("init", "-q");
    git("commit", "-q", "--allow-empty", "-m", "first");
    if (more.length > 0) git(...more);
  };
}

/** A repository whose origin, itself, has two releases. */
async function released(context: ProbeContext): Promise<void> {
  const { dir } = context.paths;
  await repository("tag", "v1.10.0")(context);
  execFileSync("git", ["-C", dir, "tag", "v9.0.0"]);
  execFileSync("git", ["-C", dir, "remote", "add", "origin", dir]);
}
