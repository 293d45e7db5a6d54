/** Settings of providers, memory, limits and tools that only make sense together. */
import { serverOf } from "../../domain/mcp/tool-names.ts";
import { WATCHDOG_MS } from "../deadlines.ts";
import { keyVariable, knownProvider } from "../known-ids.ts";
import { isConfidential, LOGIN_KINDS, takesLogin } from "../logins.ts";
import { formatDuration } from "../schema/scalars.ts";
import { toolSynth } from "../tool-synth.ts";
import type { TreeMap } from "../tree.ts";
import { usedProviders } from "../usage.ts";
import { type CheckInput, createCollector, type Findings } from "./collector.ts";

const EMBEDDERS_WITH_ADDRESS = ["openai-compatible"];

/** Of a search with Brave or Tavily, whatever is asked for. */
const MOST_RESULTS = 20;

export function checkProviders({ config }: CheckInput): Findings {
  const found = createCollector();
  // The parsed agents have the same form as the written ones, as far as provider and fallbacks go.
  const used = usedProviders({ agents: (config.agents ?? {}) as unknown as TreeMap });
  for (const [id, provider] of Object.entries(config.providers ?? {})) {
    const path = ["providers", id];
    if (provider.kind === "openai-compatible" && provider.base_url === undefined) {
      found.error([...path, "base_url"], "nothing", "the address of the API, such as http://127.0.0.1:11434/v1");
    }
    if (provider.login !== undefined && !LOGIN_KINDS.includes(provider.kind)) {
      found.refuse(
        [...path, "login"],
        "conflict",
        `providers of kind ${provider.kind} have no subscription login`,
        "remove the key",
      );
    }
    for (const key of ["authorize_url", "token_url"] as const) {
      const address = provider.login?.[key];
      if (address === undefined || isConfidential(address)) continue;
      found.error([...path, "login", key], address, "an address with https://, or one of this machine");
    }
    const { base_url: base } = provider;
    if (provider.login !== undefined && provider.api_key === undefined && base !== undefined && !isConfidential(base)) {
      found.error([...path, "base_url"], base, "with a login: an address with https://, or one of this machine");
    }
    const own = provider.base_url === knownProvider(id)?.baseUrl ? undefined : provider.base_url;
    const variable = own === undefined ? keyVariable(provider.kind, provider.base_url) : null;
    if (variable === null || provider.api_key !== undefined || provider.login !== undefined) continue;
    const message = `there is no api_key; write it as \${${variable}}`;
    if (used.has(id)) found.refuse([...path, "api_key"], "provider-key-missing", message);
    else found.warn([...path, "api_key"], "provider-key-missing", message);
  }
  return found;
}

/** A session may choose any provider (`/model`): what it bills has to be counted, or a limit of money would hold nothing up. */
export function checkBudgets({ config: { agents, providers } }: CheckInput): Findings {
  const found = createCollector();
  const unpriced = Object.entries(providers ?? {}).flatMap(([id, { kind, prices }]) =>
    kind === "offline" || (prices?.input !== undefined && prices.output !== undefined) ? [] : [id],
  );
  if (unpriced.length === 0) return found;
  for (const [name, { budget }] of Object.entries(agents ?? {})) {
    for (const limit of ["daily_usd", "monthly_usd"] as const) {
      if (budget?.[limit] === undefined) continue;
      found.refuse(
        ["agents", name, "budget", limit],
        "missing-value",
        `calls of ${unpriced.join(" and ")} have no price, and money is not counted without`,
        "set input and output in providers.<id>.prices, 0 where nothing is billed, or limit tokens",
      );
    }
  }
  return found;
}

export function checkMemory({ config, env }: CheckInput): Findings {
  const found = createCollector();
  const { memory, deployment } = config;
  if (!memory) return found;
  if (memory.postgres && memory.embedded) {
    found.refuse(
      ["memory", "embedded"],
      "conflict",
      "memory.postgres and memory.embedded exclude each other",
      "keep one of them",
    );
  }
  if (!memory.postgres && env["SERVICE_PG_URL"]) {
    found.warn(
      ["memory"],
      "no-effect",
      "SERVICE_PG_URL is set but there is no memory.postgres: the embedded store is used",
      "remove SERVICE_PG_URL from .env or the environment, or set memory.postgres",
    );
  }
  if (!memory.postgres && deployment?.datahub.postgres) {
    found.warn(
      ["deployment", "datahub", "postgres"],
      "no-effect",
      "a PostgreSQL is deployed but there is no memory.postgres: nothing uses it",
    );
  }
  const { embedding, summarizer } = memory;
  if (embedding.provider !== "off" && embedding.model === undefined) {
    found.error(["memory", "embedding", "model"], "nothing", "the name of the embedding model");
  }
  if (EMBEDDERS_WITH_ADDRESS.includes(embedding.provider) && embedding.base_url === undefined) {
    found.error(
      ["memory", "embedding", "base_url"],
      "nothing",
      "the address of the API, such as http://127.0.0.1:11434/v1",
    );
  }
  if (embedding.provider === "off" && embedding.model !== undefined) {
    found.warn(
      ["memory", "embedding", "provider"],
      "no-effect",
      "a model is named but the provider is off: nothing is embedded",
    );
  }
  if (summarizer.base_url !== undefined && summarizer.model === undefined) {
    found.error(["memory", "summarizer", "model"], "nothing", "the name of the model that summarizes");
  }
  if (memory.wiki.enabled && summarizer.base_url === undefined) {
    found.warn(
      ["memory", "wiki", "enabled"],
      "no-effect",
      "memory.wiki needs memory.summarizer: no pages will be written",
    );
  }
  const synth = toolSynth(summarizer, env);
  if (synth.endpoint === null && synth.wrong)
    found.warn(["memory", "summarizer"], "no-effect", `${synth.reason} Tool calls stay without a sentence.`);
  return found;
}

export function checkLimits({ config }: CheckInput): Findings {
  const found = createCollector();
  const { runtime, deployment, tools } = config;
  if (!runtime) return found;
  const coding = tools?.coding_pipeline;
  if (coding?.enabled && coding.check_timeout >= runtime.turn_timeout) {
    const longest = formatDuration(runtime.turn_timeout);
    found.warn(
      ["tools", "coding_pipeline", "check_timeout"],
      "no-effect",
      `checks run in a turn, which is aborted after runtime.turn_timeout (${longest}): less is needed`,
    );
  }
  if (runtime.drain_deadline > runtime.turn_timeout) {
    const longest = formatDuration(runtime.turn_timeout);
    found.warn(
      ["runtime", "drain_deadline"],
      "no-effect",
      `no turn runs longer than runtime.turn_timeout (${longest}): the rest is never waited for`,
    );
  }
  const least = runtime.drain_deadline + WATCHDOG_MS;
  if (deployment?.stop_timeout !== undefined && deployment.stop_timeout <= least) {
    found.error(
      ["deployment", "stop_timeout"],
      formatDuration(deployment.stop_timeout),
      `more than ${formatDuration(least)}, which is runtime.drain_deadline and the watchdog's ${formatDuration(WATCHDOG_MS)}`,
    );
  }
  return found;
}

export function checkTools({ config, plugins }: CheckInput): Findings {
  const found = createCollector();
  const search = config.tools?.web_search;
  if (search?.enabled && search.backend === "searxng" && search.base_url === undefined) {
    found.error(["tools", "web_search", "base_url"], "nothing", "the address of the SearXNG server");
  }
  if (search?.enabled && (search.backend === "brave" || search.backend === "tavily") && search.api_key === undefined) {
    found.error(
      ["tools", "web_search", "api_key"],
      "nothing",
      `a reference such as \${${search.backend.toUpperCase()}_API_KEY}`,
    );
  }
  if (search?.enabled && search.backend !== undefined) {
    const { backend, api_key, max_results } = search;
    const path = ["tools", "web_search"];
    const hasKey = backend === "brave" || backend === "tavily";
    if (!hasKey && api_key !== undefined) found.warn([...path, "api_key"], "no-effect", `${backend} takes no key`);
    if (hasKey && max_results > MOST_RESULTS) {
      found.warn([...path, "max_results"], "no-effect", `${backend} gives ${MOST_RESULTS} results at most`);
    }
  }
  for (const key of ["base_url", "api_key"] as const) {
    if (search?.enabled && search.backend === undefined && search[key] !== undefined) {
      found.warn(["tools", "web_search", key], "no-effect", "there is no web_search without tools.web_search.backend");
    }
  }
  for (const [name, { tools }] of Object.entries(config.agents ?? {})) {
    if (search?.enabled && search.backend === undefined && tools.include?.includes("web_search")) {
      const path = ["agents", name, "tools", "include"];
      found.warn(path, "no-effect", "there is no web_search without tools.web_search.backend");
    }
  }
  const shell = config.tools?.shell;
  const configured = Object.keys(config.tools ?? {});
  for (const [name, { tools }] of Object.entries(config.agents ?? {})) {
    const lists = { include: tools.include, exclude: tools.exclude };
    const others = { "others.include": tools.others.include, "others.exclude": tools.others.exclude };
    for (const [list, names] of Object.entries({ ...lists, ...others })) {
      // Tools of MCP servers come later, and go.
      const isServers = (one: string) => Object.hasOwn(config.mcp?.servers ?? {}, serverOf(one) ?? "");
      // Names of tools of plugins are known when those are loaded.
      const hasOthers = plugins.some(({ manifest }) => manifest?.cairn.kind === "tool");
      const isUnknown = (one: string) =>
        configured.length > 0 && !configured.includes(one) && !isServers(one) && !hasOthers;
      for (const tool of (names ?? []).filter(isUnknown)) {
        found.warn(
          ["agents", name, "tools", ...list.split(".")],
          "unknown-name",
          `there is no tool ${tool}: known are ${configured.join(", ")}`,
        );
      }
    }
  }
  if (shell?.enabled && !shell.network && shell.network_for_others) {
    found.warn(
      ["tools", "shell", "network_for_others"],
      "no-effect",
      "it has no effect while tools.shell.network is false",
    );
  }
  for (const [name, agent] of Object.entries(config.agents ?? {})) {
    const path = ["agents", name, "tools", "others", "include"];
    for (const tool of agent.tools.others.include ?? []) {
      if (agent.tools.exclude.includes(tool) || agent.tools.include?.includes(tool) === false) {
        found.warn(path, "no-effect", `the agent does not have ${tool} itself: others do not get it either`);
      } else if (tool === "shell" && shell?.enabled && shell.sandbox === "none") {
        found.warn(
          path,
          "exposed-files",
          "tools.shell.sandbox is none: commands of others can read and change the owner's files",
        );
      }
    }
  }
  for (const [id, server] of Object.entries(config.mcp?.servers ?? {})) {
    if (!server.enabled) continue;
    if ((server.command === undefined) !== (server.url === undefined)) {
      const isProgram = server.command !== undefined;
      for (const key of withoutEffect(server)) {
        const why = isProgram
          ? "only an address has it, and this server is a program"
          : "only a program has it, and this server is an address";
        found.warn(["mcp", "servers", id, key], "no-effect", why);
      }
      if (!isProgram && server.login !== undefined && !takesLogin(server)) {
        found.warn(["mcp", "servers", id, "login"], "no-effect", "the authorization of headers comes first");
      }
      continue;
    }
    const both = server.command !== undefined;
    found.error(
      ["mcp", "servers", id],
      both ? "both command and url" : "neither command nor url",
      "one of command and url",
    );
  }
  return found;
}

type McpServer = NonNullable<NonNullable<CheckInput["config"]["mcp"]>["servers"]>[string];

/** Keys of the other kind of server. */
function withoutEffect({ command, args, env, cwd, headers, login }: McpServer): string[] {
  if (command !== undefined) {
    return [...(Object.keys(headers).length > 0 ? ["headers"] : []), ...(login === undefined ? [] : ["login"])];
  }
  const counts = { args: args.length, env: Object.keys(env).length, cwd: cwd === undefined ? 0 : 1 };
  return Object.entries(counts).flatMap(([key, count]) => (count > 0 ? [key] : []));
}
