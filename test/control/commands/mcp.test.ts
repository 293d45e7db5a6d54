import { stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createCli, outcomeOf, untilPrinted } from "../../support/cli.ts";

// Each test runs several processes, which take their time on a busy machine.

const line = (message: object) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;
const lines = (text: string) =>
  text
    .split("\n")
    .filter((part) => part !== "")
    .map((part): unknown => JSON.parse(part));

describe("mcp approve", () => {
  it("shows the changed tools, and offers those that were shown, no others", async () => {
    const cli = await createCli();
    await cli.node();
    const shown = await cli.run(["mcp", "approve", "files"]);
    expect(shown.stdout).toBe(`Of files 1 changed tool is withheld:

echo
  Says it.
  \\u001b[2JAnd more.
  Arguments: {"type":"object","properties":{}}

To offer them so: cairn mcp approve files --confirm d1
`);
    const refused = await cli.run(["mcp", "approve", "files", "--confirm", "d0"]);
    expect(refused).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("not those that were seen") });
    expect((await cli.run(["mcp", "approve", "files", "--confirm", "d1"])).stdout).toBe(
      "1 changed tool of files will be offered in a moment.\n",
    );
  });
});

describe("mcp", () => {
  it("hands messages to the running node, prints the protocol alone, and ends with its input", async () => {
    const cli = await createCli();
    await cli.node();
    const said = [
      { id: 0, method: "initialize" },
      { method: "notifications/initialized" },
      { id: 1, method: "refuse" },
    ];
    const { code, stdout, stderr } = await cli.run(["mcp"], { input: `nonsense\n${said.map(line).join("")}` });
    expect(code).toBe(0);
    expect(lines(stdout)).toEqual(
      expect.arrayContaining([
        { jsonrpc: "2.0", id: 0, result: { method: "initialize" } },
        { jsonrpc: "2.0", id: 1, error: { code: -32_603, message: "This node is shutting down." } },
      ]),
    );
    expect(lines(stdout)).toHaveLength(2);
    expect(stderr).toContain("could not be read");
  });

  it("starts a node for its time when none runs, says so beside the protocol, and leaves none behind", async () => {
    const cli = await createCli();
    const { code, stdout, stderr } = await cli.run(["mcp"], { input: line({ id: 5, method: "ping" }) });
    expect(code).toBe(0);
    expect(lines(stdout)).toEqual([{ jsonrpc: "2.0", id: 5, result: { method: "ping" } }]);
    expect(stderr).toContain("No node runs");
    expect(JSON.parse((await cli.run(["status", "--json"])).stdout)).toMatchObject({ state: "stopped" });
  });

  it("tells an error of the way to the node in the protocol's words", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stdout } = await cli.run(["mcp"], { input: line({ id: 1, method: "drop" }) });
    expect(code).toBe(0);
    expect(lines(stdout)).toEqual([
      { jsonrpc: "2.0", id: 1, error: expect.objectContaining({ data: expect.objectContaining({ retryable: true }) }) },
    ]);
  });

  it("ends a call of the node with a signal, and itself, without a document of its own even with --json", async () => {
    const cli = await createCli();
    await cli.node();
    const child = cli.start(["mcp", "--json"]);
    const outcome = outcomeOf(child);
    child.stdin?.write(line({ id: 1, method: "ping" }) + line({ id: 2, method: "hang" }));
    await untilPrinted(child, '"id":1');
    await expect.poll(() => stat(join(cli.home, "hang-begun")).catch(() => null)).not.toBeNull();
    child.kill("SIGTERM");
    const { code, stdout } = await outcome;
    expect({ code, printed: lines(stdout) }).toEqual({ code: 143, printed: [expect.objectContaining({ id: 1 })] });
    await expect.poll(() => stat(join(cli.home, "hang-ended")).catch(() => null)).not.toBeNull();
  });

  it("says where there is no configuration, and prints nothing", async () => {
    const cli = await createCli({ configured: false });
    const { code, stdout, stderr } = await cli.run(["mcp"], { input: line({ id: 1, method: "ping" }) });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("cairn init");
  });
});
