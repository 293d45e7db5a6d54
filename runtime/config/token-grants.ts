/** What a token may do on a configuration, scope by scope, as `cairn token create` shows it. Pure. */
import { serverOf } from "../domain/mcp/tool-names.ts";
import { selectAgentTools } from "../domain/tool-selection.ts";
import type { Config } from "./config.ts";

export interface TokenGrant {
  /** `any` holds for every token. */
  readonly scope: string;
  /** Sentences without a full stop. */
  readonly allows: readonly string[];
  /** With the scope `agent`: what turns of the token get of each agent. */
  readonly agents?: readonly AgentGrant[];
}

export interface AgentGrant {
  readonly agent: string;
  readonly tools: readonly string[];
  /** Where commands run; null without the tool `shell`, and where they are refused. */
  readonly commands: "sandbox" | "unconfined" | null;
  /** Whether commands reach the network; null without the tool `shell`. */
  readonly network: boolean | null;
}

export interface TokenGrantsInput {
  readonly config: Pick<Config, "agents" | "tools" | "mcp">;
  readonly scopes: readonly string[];
  /** Names of the tools that the service has. */
  readonly tools: readonly string[];
  /** Whether the memory's write tools are there. */
  readonly memoryWrite: boolean;
}

/** Tools that need no workspace, as those of MCP servers: they see the conversations of the turn's own user. */
const WITHOUT_FILES: readonly string[] = [
  "memory_search",
  "memory_browse",
  "memory_stats",
  "memory_get_full",
  "web_search",
  "web_fetch",
  "ask_user",
  "todo",
];

export function tokenGrants(input: TokenGrantsInput): TokenGrant[] {
  const grants: Readonly<Record<string, () => TokenGrant>> = {
    capture: () => ({
      scope: "capture",
      allows: [
        "store sessions under any agent's name, except in the conversations of this node's agents",
        "read nothing of what is stored",
      ],
    }),
    memory: () => ({
      scope: "memory",
      allows: [
        "search and read every conversation of every user, the owner's too",
        ...(input.memoryWrite ? ["write messages with memory_append and memory_ingest_session"] : []),
      ],
    }),
    agent: () => agentGrant(input),
    admin: () => ({
      scope: "admin",
      allows: [
        "import messages, make and revoke tokens, change job queues, and stop the node from taking messages",
        ...(input.scopes.includes("memory") ? ["take the whole memory out, as a backup or an export"] : []),
        "break as much as the owner's token can: keep it like that one",
      ],
    }),
  };
  const named = input.scopes.flatMap((scope) => (Object.hasOwn(grants, scope) ? [grants[scope]?.()] : []));
  const any: TokenGrant = { scope: "any", allows: ["read /health, /metrics and /api/mesh"] };
  return [...named.filter((grant) => grant !== undefined), any];
}

function agentGrant({ config: { agents, tools, mcp }, tools: all }: TokenGrantsInput): TokenGrant {
  const switches: Readonly<Record<string, { readonly enabled: boolean } | undefined>> = tools;
  const enabled = all.filter((name) => switches[name]?.enabled !== false);
  const granted = Object.entries(agents).map(([agent, settings]): AgentGrant => {
    // What a server will list is not known here: others get by name whatever it has of these.
    const ofServers = (settings.tools.others.include ?? []).filter((name) => isServerTool(name, mcp));
    const there = [...new Set([...enabled, ...ofServers])].map((name) => ({ name }));
    const given = selectAgentTools(there, settings.tools).others.tools.map(({ name }) => name);
    const shell = given.includes("shell");
    const network = tools.shell.network && tools.shell.network_for_others;
    // Where there are no walls the network cannot be closed: such commands are refused.
    const walls = tools.shell.sandbox === "none" ? (network ? "unconfined" : null) : "sandbox";
    return {
      agent,
      tools: given,
      commands: shell ? walls : null,
      network: shell ? network : null,
    };
  });
  return {
    scope: "agent",
    allows: [
      "talk to the agents as users of its own, never as the owner; it sees their conversations alone",
      ...granted.map(describe),
    ],
    agents: granted,
  };
}

function isServerTool(name: string, { servers }: Config["mcp"]): boolean {
  const id = serverOf(name);
  return id !== null && Object.hasOwn(servers, id) && servers[id]?.enabled === true;
}

function describe({ agent, tools, commands, network }: AgentGrant): string {
  const files = tools.some((tool) => !WITHOUT_FILES.includes(tool) && serverOf(tool) === null);
  const parts = [
    tools.length === 0 ? "no tools" : tools.join(", "),
    ...(files ? ["each user in a workspace of its own"] : []),
    ...(network === false && commands === null
      ? ["commands are refused, since without a sandbox they have a network"]
      : []),
    ...(commands === "sandbox" ? [`commands in the sandbox, ${network ? "with" : "without"} the network`] : []),
    ...(commands === "unconfined"
      ? ["commands WITHOUT a sandbox: they read and change what the service's user can, the owner's files too"]
      : []),
  ];
  return `${agent}: ${parts.join("; ")}`;
}
