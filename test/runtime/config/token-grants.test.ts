import { describe, expect, it } from "vitest";
import { tokenGrants } from "../../../runtime/config/index.ts";
import { inspectText, MINIMAL } from "../../support/deployment.ts";

async function grants(scopes: readonly string[], yaml = MINIMAL, memoryWrite = false) {
  const { loaded, errors } = await inspectText(yaml);
  if (!loaded) throw new Error(JSON.stringify(errors));
  const tools = [
    ...["file_read", "file_write", "shell", "memory_search", "memory_browse", "memory_stats", "memory_get_full"],
    ...(yaml.includes("ask_user") ? ["web_search", "web_fetch", "ask_user", "todo"] : []),
  ];
  return tokenGrants({ config: loaded.config, scopes, tools, memoryWrite });
}

const agents = (main: string, more = "") => `version: 1\nagents:\n  main: ${main}\nproviders:\n  offline: {}\n${more}`;

describe("what a token may do", () => {
  it("names each scope that it has, and what every token may", async () => {
    const scopes = async (...given: string[]) => (await grants(given)).map(({ scope }) => scope);
    expect(await scopes("capture", "memory", "agent", "admin")).toEqual(["capture", "memory", "agent", "admin", "any"]);
    expect(await scopes("capture")).toEqual(["capture", "any"]);
    expect(await scopes("constructor")).toEqual(["any"]);
  });

  it.each<[string, string, { tools: string[]; commands: string | null; network: boolean | null }]>([
    ["{}", "", { tools: ["memory_search", "memory_browse"], commands: null, network: null }],
    ["{ tools: { others: { include: [] } } }", "", { tools: [], commands: null, network: null }],
    [
      "{ tools: { others: { include: [shell, file_read, web_fetch] } } }",
      "",
      { tools: ["file_read", "shell"], commands: "sandbox", network: false },
    ],
    [
      "{ tools: { others: { include: [shell] } } }",
      "tools: { shell: { network: false } }\n",
      { tools: ["shell"], commands: "sandbox", network: false },
    ],
    [
      "{ tools: { others: { include: [shell] } } }",
      "tools: { shell: { network: false, sandbox: none } }\n",
      { tools: ["shell"], commands: null, network: false },
    ],
    [
      "{ tools: { others: { include: [shell] } } }",
      "tools: { shell: { network_for_others: true, sandbox: none } }\n",
      { tools: ["shell"], commands: "unconfined", network: true },
    ],
    [
      "{ tools: { others: { include: [shell] } } }",
      "tools: { shell: { network_for_others: true } }\n",
      { tools: ["shell"], commands: "sandbox", network: true },
    ],
    [
      "{ tools: { others: { include: [shell, file_read] } } }",
      "tools: { shell: { enabled: false } }\n",
      { tools: ["file_read"], commands: null, network: null },
    ],
    [
      "{ tools: { exclude: [git__push], others: { include: [git__log, git__push, off__a, none__a, todo__a] } } }",
      "mcp: { servers: { git: { command: x }, off: { enabled: false, command: x } } }\n",
      { tools: ["git__log"], commands: null, network: null },
    ],
    [
      "{ tools: { exclude: [shell], others: { include: [shell, file_read] } } }",
      "",
      { tools: ["file_read"], commands: null, network: null },
    ],
  ])("says what its turns get of an agent %s %s", async (main, more, expected) => {
    const [agent] = await grants(["agent"], agents(main, more));
    expect(agent?.agents).toEqual([{ agent: "main", ...expected }]);
  });

  it("says it in words", async () => {
    const settings = "tools: { shell: { sandbox: none, network_for_others: true } }\n";
    const yaml = agents("{ tools: { others: { include: [shell] } } }", settings);
    expect((await grants(["agent"], yaml))[0]?.allows.at(-1)).toBe(
      "main: shell; each user in a workspace of its own; commands WITHOUT a sandbox: they read and change what the " +
        "service's user can, the owner's files too",
    );
    expect((await grants(["agent"]))[0]?.allows.at(-1)).toBe("main: memory_search, memory_browse");
    const without = "[web_fetch, web_search, ask_user, todo, memory_stats, memory_get_full, git__log]";
    const servers = "mcp: { servers: { git: { command: x } } }\n";
    const [agent] = await grants(["agent"], agents(`{ tools: { others: { include: ${without} } } }`, servers));
    expect(agent?.allows.at(-1)).toBe(
      "main: memory_stats, memory_get_full, web_search, web_fetch, ask_user, todo, git__log",
    );
    expect((await grants(["memory"], MINIMAL, true))[0]?.allows).toHaveLength(2);
    expect((await grants(["memory"]))[0]?.allows).toHaveLength(1);
  });
});

describe("tools.others", () => {
  it.each([
    ["{ tools: { exclude: [shell], others: { include: [shell] } } }", "", "the agent does not have shell itself"],
    ["{ tools: { include: [], others: { include: [file_read] } } }", "", "the agent does not have file_read itself"],
    ["{ tools: { others: { include: [shell] } } }", "tools: { shell: { sandbox: none } }\n", "sandbox is none"],
  ])("is warned of where it does not do what it says, or does more: %s %s", async (main, more, warning) => {
    const { warnings, loaded } = await inspectText(agents(main, more));
    expect(loaded).not.toBeNull();
    expect(warnings.map(({ message }) => message).join("\n")).toContain(warning);
  });

  it("is no reason for a warning where it is kept", async () => {
    const { warnings } = await inspectText(agents("{ tools: { others: { include: [shell, file_read] } } }"));
    expect(warnings).toEqual([]);
  });
});
