/** `tools` and `mcp`: settings of single tools, and Model Context Protocol servers whose tools are added. */
import { isAllowedHost } from "../../domain/web/network-policy.ts";
import {
  bytes,
  choice,
  duration,
  flag,
  headerName,
  headerValue,
  integer,
  list,
  mapping,
  path,
  plainUrl,
  section,
  serverId,
  text,
  variableName,
} from "./scalars.ts";

const DAY_MS = 86_400_000;
const LEAST_MEMORY = 64 * 1024 ** 2;

const HOST = "a host's name, an address or a range of them, such as 10.0.0.0/8";
const allowedHost = () => text(HOST).refine(isAllowedHost, { error: HOST });

const common = { enabled: flag().prefault(true).describe("Whether any agent is offered the tool.") };
const plain = () => section({ ...common }).prefault({});

export const toolsSection = section({
  shell: section({
    ...common,
    sandbox: choice(["auto", "bubblewrap", "none"])
      .default("auto")
      .describe(
        "`auto` refuses to run where there is no sandbox; `none` runs commands on the host, as the owner's choice.",
      ),
    timeout: duration({ min: 100 }).prefault("120s").describe("A command that takes longer is ended."),
    max_output: bytes({ min: "1Ki", max: "16Mi" }).prefault("64Ki").describe("Output that the agent gets to read."),
    network: flag().prefault(true).describe("Whether commands may use the network."),
    network_for_others: flag()
      .prefault(false)
      .describe(
        "Whether they may in turns of others than the owner, too. Where it cannot be kept from them, commands are refused.",
      ),
    max_processes: integer({ min: 64 })
      .prefault(4096)
      .describe("Processes and threads of a command; without bubblewrap, of the service's user on the machine."),
    max_memory: bytes()
      .refine((size) => size >= LEAST_MEMORY, { error: "at least 64Mi: no program starts with less" })
      .prefault("4Gi")
      .describe("Memory that each process of a command may write to."),
    env: list(variableName()).default([]).describe("Variables of the service that commands may see."),
  }).prefault({}),
  file_read: plain(),
  file_write: plain(),
  file_edit: plain(),
  search_glob: plain(),
  search_grep: plain(),
  web_search: section({
    ...common,
    backend: choice(["brave", "tavily", "searxng", "duckduckgo"])
      .optional()
      .describe(
        "The tool is off without one. `duckduckgo` reads a page that is made for browsers, and is often refused.",
      ),
    base_url: plainUrl()
      .optional()
      .describe("Of SearXNG, also in a private network; of the others only where they are reached by another address."),
    api_key: headerValue().optional().describe("Of `brave` and `tavily`, as a reference to a variable."),
    max_results: integer({ min: 1, max: 50 }).prefault(10).describe("Results of a search at most."),
  }).prefault({}),
  web_fetch: section({
    ...common,
    allow_hosts: list(allowedHost())
      .default([])
      .describe("Hosts (names, addresses) and ranges of addresses that may be fetched though they are not public."),
    timeout: duration({ min: 100 }).prefault("30s").describe("Of a call, redirects included."),
    max_bytes: bytes({ min: "1Ki", max: "64Mi" })
      .prefault("5Mi")
      .describe("Of a page, decompressed; what is behind them is not read."),
  }).prefault({}),
  ask_user: plain(),
  send_file: plain(),
  todo: plain(),
  coding_pipeline: section({
    ...common,
    timeout: duration({ min: 1_000, max: DAY_MS })
      .prefault("1h")
      .describe("For all of it; the stage that runs then is stopped."),
    check_timeout: duration({ min: 1_000 })
      .prefault("10m")
      .describe("For the checks of one round together; below runtime.turn_timeout."),
    max_rounds: integer({ min: 1, max: 10 }).prefault(3).describe("Rounds of edit, checks and review."),
    max_tokens: integer({ min: 1_000 }).prefault(1_000_000).describe("Tokens, in and out, of each stage."),
  }).prefault({}),
  delegate_task: section({
    ...common,
    timeout: duration({ min: 1_000 }).prefault("10m"),
    max_depth: integer({ min: 1, max: 3 }).prefault(3),
  }).prefault({}),
  subagent_spawn: section({
    ...common,
    timeout: duration({ min: 1_000, max: DAY_MS })
      .prefault("15m")
      .describe("A sub-agent that takes longer is stopped."),
    max_depth: integer({ min: 1, max: 3 })
      .prefault(2)
      .describe("Levels below the turn that a user began, tasks of other agents included."),
    max_running: integer({ min: 1, max: 16 })
      .prefault(4)
      .describe("Sub-agents of one turn at once; further ones begin when all of these have ended."),
    max_tokens: integer({ min: 1_000 })
      .prefault(1_000_000)
      .describe("Tokens, in and out, of one sub-agent and all that it starts."),
  }).prefault({}),
  skill_list: plain(),
  skill_manage: plain(),
  memory_search: plain(),
  memory_browse: plain(),
  memory_stats: plain(),
  memory_get_full: plain(),
});

const serverLogin = section({
  client_id: text()
    .optional()
    .describe(
      "Client id of a registration of your own; absent: registered by `cairn login`, where the server takes that.",
    ),
  client_secret: text().optional().describe("Of that registration, where it has one, as a reference to a variable."),
  scopes: list(text()).optional().describe("What is asked for; what the server names when absent."),
});

const mcpServer = section({
  enabled: flag().prefault(true).describe("Whether the server is connected."),
  command: text()
    .optional()
    .describe("Program of a server that speaks over its standard streams. Run without a shell, as the service's user."),
  args: list(text()).default([]).describe("Its arguments, as they are."),
  env: mapping(variableName(), text())
    .prefault({})
    .describe("Variables for it. Of the service's own it sees `PATH`, `HOME`, user, shell, language and time zone."),
  cwd: path().optional().describe("Directory in which it runs; the deployment directory when absent."),
  url: plainUrl().optional().describe("Address of a server that speaks over streamable HTTP."),
  headers: mapping(headerName(), headerValue())
    .prefault({})
    .describe("Sent with each request to it, such as `Authorization`. Never to another host."),
  login: serverLogin.optional().describe("Of a server with OAuth: for `cairn login mcp.<id>`; seldom needed."),
  timeout: duration({ min: 100 }).prefault("60s").describe("Deadline of one call."),
  include: list(text()).optional().describe("Only these of the server's tools, by its own names."),
  exclude: list(text()).default([]).describe("Not these of the server's tools."),
});

export const mcpSection = section({
  servers: mapping(serverId(), mcpServer).prefault({}).describe("MCP servers whose tools agents get (mcp-servers.md)."),
});
