/** `logs` and `exec` of a deployed stack, over a Docker command line that is played. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Cli, createCli, untilPrinted } from "../../support/cli.ts";
import { deployedDirectory } from "../../support/deployed-directory.ts";
import { createFakeTools, type FakeTools } from "../../support/fake-tools.ts";

const ENTRY = (msg: string, level = "info") => JSON.stringify({ level, time: "2030-01-31T12:00:00.000Z", msg });

/** A stack of two nodes, and a `docker` that answers so; its arguments are kept. */
async function stack(answer: string, { remote = false } = {}): Promise<{ cli: Cli; tools: FakeTools; path: string }> {
  const cli = await createCli();
  const tools = await createFakeTools();
  onTestFinished(() => tools.remove());
  await tools.add("docker", answer);
  await deployedDirectory(cli.home, {
    ports: { "nova-1": 7433, "nova-2": 7434 },
    more: remote ? "  docker: { host: 'ssh://me@one.example.org' }\n" : "",
  });
  return { cli, tools, path: `${tools.directory}:${process.env.PATH}` };
}

async function asked({ directory: _, ...tools }: FakeTools): Promise<string[]> {
  return (await tools.calls()).at(-1)?.slice(1) ?? [];
}

describe("logs of a deployed stack", () => {
  it("are what the first node has written, and say which that is", async () => {
    const { cli, tools, path } = await stack(`echo '${ENTRY("up")}'; echo 'not json' >&2`);
    const { code, stdout, stderr } = await cli.run(["logs", "--json"], { env: { PATH: path } });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "Node nova-1; --node names another one (nova-2).\n" });
    const { directory, entries } = JSON.parse(stdout);
    expect(directory).toBeNull();
    expect(entries).toHaveLength(2);
    expect(entries).toEqual(expect.arrayContaining([JSON.parse(ENTRY("up")), { raw: "not json" }]));
    expect(await asked(tools)).toEqual(["logs", "--tail=100", "lab-nova-1"]);
  });

  it.each([
    [
      ["--node", "nova-2", "--lines", "5"],
      ["logs", "--tail=5", "lab-nova-2"],
    ],
    [["--postgres"], ["logs", "--tail=100", "lab-postgres"]],
    [
      ["--postgres", "-n", "3", "--since", "2030-01-31T12:00"],
      ["logs", "--tail=3", "--since=2030-01-31T12:00:00.000Z", "lab-postgres"],
    ],
    [
      ["--node", "nova-1", "-f"],
      ["logs", "--tail=100", "--follow", "lab-nova-1"],
    ],
  ])("%j asks for just that", async (argv, expected) => {
    const { cli, tools, path } = await stack("echo one");
    expect(await cli.run(["logs", ...argv], { env: { PATH: path } })).toMatchObject({
      code: 0,
      stdout: "one\n",
      stderr: "",
    });
    expect(await asked(tools)).toEqual(expected);
  });

  it("are read on a host over SSH by Docker's command line there, with an end where the host falls silent", async () => {
    const { cli, tools, path } = await stack("exit 1", { remote: true });
    await tools.add("ssh", "echo one");
    expect(await cli.run(["logs", "--postgres"], { env: { PATH: path } })).toMatchObject({ code: 0, stdout: "one\n" });
    const words = await asked(tools);
    expect(words.slice(-5)).toEqual(["-l", "me", "--", "one.example.org", "docker logs --tail=100 lab-postgres"]);
    expect(words.join(" ")).toMatch(/ConnectTimeout=10 .*ServerAliveInterval=15 .*ServerAliveCountMax=4/);
  });

  it("are filtered here, and the newest are counted after that", async () => {
    const { cli, tools, path } = await stack(
      `echo '${ENTRY("first", "warn")}'; echo '${ENTRY("quiet")}'; echo '${ENTRY("second", "warn")}'; echo '${ENTRY("third", "error")}'; echo '${ENTRY("quiet")}'`,
    );
    const argv = ["logs", "--node", "nova-1", "--level", "warn", "-n", "2", "--json"];
    const { stdout } = await cli.run(argv, { env: { PATH: path } });
    expect(JSON.parse(stdout).entries.map(({ msg }: { msg: string }) => msg)).toEqual(["second", "third"]);
    expect(await asked(tools)).toEqual(["logs", "lab-nova-1"]);
  });

  it("are followed until they are interrupted, and the tool ends with it", async () => {
    const { cli, path } = await stack(`echo '${ENTRY("up")}'; exec sleep 600`);
    const child = cli.start(["logs", "--node", "nova-1", "--follow", "--json"], { env: { PATH: path } });
    await untilPrinted(child, '"up"');
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGINT");
    expect(await ended).toBe(130);
  });

  it("that cannot be read are an error with the tool's last words", async () => {
    const { cli, path } = await stack("echo 'Error response from daemon: No such container: lab-nova-1' >&2; exit 1");
    const { code, stdout } = await cli.run(["logs", "--node", "nova-1", "--json"], { env: { PATH: path } });
    expect(code).toBe(1);
    expect(JSON.parse(stdout).error).toMatchObject({
      code: "INFRA_FAILED",
      message: "The log of Node nova-1 cannot be read: Error response from daemon: No such container: lab-nova-1",
      hint: expect.stringContaining("`cairn infra up`"),
    });
  });

  it("without Docker's command line say so", async () => {
    const { cli } = await stack("true");
    const { code, stdout } = await cli.run(["logs", "--postgres", "--json"], { env: { PATH: cli.home } });
    expect(code).toBe(1);
    expect(JSON.parse(stdout).error).toMatchObject({ code: "INFRA_TOOL_MISSING" });
  });

  it("are wrong usage of a part that there is not", async () => {
    const { cli } = await stack("true");
    expect(await cli.run(["logs", "--node", "nova-9"])).toMatchObject({ code: 2 });
    expect(await cli.run(["logs", "--postgres", "--level", "warn"])).toMatchObject({ code: 2 });
    const here = await createCli();
    for (const argv of [
      ["logs", "--postgres"],
      ["logs", "--node", "a"],
    ]) {
      const { code, stderr } = await here.run(argv);
      expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("nothing is deployed") });
    }
  });
});

// Its output is the terminal's own: each runs in a process of its own.
describe("a host that is lost", () => {
  const GONE = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?";

  it.each([
    [["logs", "--node", "nova-1"]],
    [["logs", "--postgres", "--follow"]],
    [["exec", "--node", "nova-1", "--", "true"]],
    [["exec", "--postgres", "--", "psql"]],
  ])("is what %j names, with what to do: over SSH", async (argv) => {
    const { cli, tools, path } = await stack("exit 1", { remote: true });
    await tools.add("ssh", "echo 'Connection to one.example.org port 22 timed out' >&2; exit 255");
    const { code, stderr } = await cli.run(argv, { env: { PATH: path } });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Error: one\.example\.org cannot be reached over SSH: .*timed out/m);
    expect(stderr).toContain("See that `ssh me@one.example.org` works.");
  });

  it("is the engine of a host that answers, where that engine does not run", async () => {
    const { cli, tools, path } = await stack("exit 1", { remote: true });
    await tools.add("ssh", `echo '${GONE}' >&2; exit 1`);
    const { stderr } = await cli.run(["logs", "--node", "nova-1"], { env: { PATH: path } });
    expect(stderr).toMatch(
      /^Error: The Docker engine at ssh:\/\/me@one\.example\.org cannot be reached: Cannot connect/,
    );
  });

  it("is the engine of this machine, where that does not run", async () => {
    const { cli, path } = await stack(`echo '${GONE}' >&2; exit 1`);
    const { stderr } = await cli.run(["logs", "--node", "nova-1"], { env: { PATH: path } });
    expect(stderr).toMatch(/^Error: The Docker engine of this machine cannot be reached/);
    const { code, stderr: said } = await cli.run(["exec", "--", "true"], { env: { PATH: path } });
    expect({ code, said }).toMatchObject({
      code: 1,
      said: expect.stringContaining("Error: The Docker engine of this"),
    });
  });

  it("is not what a command has failed of, whose exit code stays", async () => {
    const { cli, path } = await stack('case "$*" in *exec*) exit 1 ;; esac');
    const { code, stderr } = await cli.run(["exec", "--node", "nova-1", "--", "false"], { env: { PATH: path } });
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
  });
});

describe("exec", () => {
  it("runs the command beside the node with its streams, and ends with its exit code", async () => {
    const { cli, tools, path } = await stack("cat; echo out; echo err >&2; exit 7");
    const argv = ["exec", "--node", "nova-2", "--", "sh", "-c", "echo $HOME", "--json"];
    const { code, stdout, stderr } = await cli.runInOwnProcess(argv, { env: { PATH: path }, input: "typed\n" });
    expect({ code, stdout, stderr }).toEqual({ code: 7, stdout: "typed\nout\n", stderr: "err\n" });
    expect(await asked(tools)).toEqual(["exec", "-i", "lab-nova-2", "sh", "-c", "echo $HOME", "--json"]);
  });

  it("runs beside the first node, and says which that is, or beside the database", async () => {
    const { cli, tools, path } = await stack("true");
    const first = await cli.runInOwnProcess(["exec", "--", "true"], { env: { PATH: path } });
    expect(first).toMatchObject({ code: 0, stderr: "Node nova-1; --node names another one (nova-2).\n" });
    expect(await asked(tools)).toEqual(["exec", "-i", "lab-nova-1", "true"]);
    await cli.runInOwnProcess(["exec", "--postgres", "--", "psql", "-U", "postgres"], { env: { PATH: path } });
    expect(await asked(tools)).toEqual(["exec", "-i", "lab-postgres", "psql", "-U", "postgres"]);
  });

  it("needs a command, and a node that there is", async () => {
    const { cli } = await stack("true");
    expect(await cli.runInOwnProcess(["exec"])).toMatchObject({ code: 2, stderr: expect.stringContaining("COMMAND") });
    expect(await cli.runInOwnProcess(["exec", "--node", "x", "--", "true"])).toMatchObject({ code: 2 });
  });

  it("says what to do for a node of this machine", async () => {
    const cli = await createCli();
    await writeFile(join(cli.home, "x"), "");
    const { code, stderr } = await cli.runInOwnProcess(["exec", "--", "ls"]);
    expect(code).toBe(2);
    expect(stderr).toContain("its node runs on this machine");
    expect(stderr).toContain("Run the command itself here");
  });
});
