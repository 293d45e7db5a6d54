import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { lacks } from "../../lanes/tools.ts";
import { createCli, endNodeOf } from "../../support/cli.ts";
import { MINIMAL } from "../../support/deployment.ts";

/** Two deployment directories of one user, who has set nothing else. */
async function twoDeployments() {
  const cli = await createCli({ configured: false });
  const [one, two] = [join(cli.home, "one"), join(cli.home, "two")];
  for (const dir of [one, two]) {
    await mkdir(dir);
    onTestFinished(() => endNodeOf(join(dir, ".cairn")));
    await writeFile(join(dir, "cairn.yaml"), `${MINIMAL}runtime:\n  listen: 127.0.0.1:0\n`);
  }
  const env = { SERVICE_HOME: "", SERVICE_LISTEN: "" };
  const run = (dir: string, ...argv: string[]) => cli.run([...argv, "--dir", dir], { env });
  const json = async (dir: string, ...argv: string[]) => JSON.parse((await run(dir, ...argv, "--json")).stdout);
  return { cli, one, two, run, json };
}

describe("two deployments of one machine", () => {
  it("run side by side, and no command reaches the other's node", async () => {
    const { one, two, run, json } = await twoDeployments();
    const first = await json(one, "start", "--detach");
    expect(first).toMatchObject({ dir: one, home: join(one, ".cairn") });
    expect(await json(two, "status")).toMatchObject({ running: false, home: join(two, ".cairn") });
    expect(await json(two, "stop")).toMatchObject({ was_running: false });
    expect(await run(two, "chat", "hello")).toMatchObject({ code: 1, stdout: "" });

    const second = await json(two, "start", "--detach");
    expect(second.pid).not.toBe(first.pid);
    expect((await run(two, "chat", "hello")).stdout).toBe("you said: hello\n");
    expect(await json(two, "stop")).toMatchObject({ was_running: true, pid: second.pid });
    expect(await json(one, "status")).toMatchObject({ running: true, pid: first.pid });
    expect(await json(one, "stop")).toMatchObject({ pid: first.pid });
  });

  it("do not share a home that SERVICE_HOME names: the refusal names the other one", async () => {
    const { cli, one, two } = await twoDeployments();
    const home = join(cli.home, "shared");
    await mkdir(home);
    await writeFile(join(home, "home.json"), JSON.stringify({ dir: one }));
    for (const argv of [["stop"], ["start", "--detach"], ["chat", "hello"], ["memory", "stats"], ["logs"]]) {
      const { code, stderr } = await cli.run([...argv, "--dir", two], { env: { SERVICE_HOME: home } });
      expect(code, argv.join(" ")).toBe(1);
      expect(stderr, argv.join(" ")).toContain(`belongs to the deployment in ${one}`);
    }
    const { stdout } = await cli.run(["doctor", "--only", "system.home", "--dir", two], {
      env: { SERVICE_HOME: home },
    });
    expect(stdout).toContain(`belongs to the deployment in ${one}`);
  });

  it("are not taken for one whose directory does not exist", async () => {
    const { cli } = await twoDeployments();
    const missing = join(cli.home, "missing");
    for (const argv of [["memory", "stats"], ["token", "list"], ["chat", "hello"], ["test"]]) {
      const { code, stderr } = await cli.run([...argv, "--dir", missing]);
      expect(code, argv.join(" ")).toBe(1);
      expect(stderr, argv.join(" ")).toContain(`There is no directory ${missing}.`);
    }
  });

  it("are told from each other where they name the same address", async () => {
    const { one, two, run, json } = await twoDeployments();
    const { url } = await json(one, "start", "--detach");
    const listen = new URL(url).host;
    await writeFile(join(two, "cairn.yaml"), `${MINIMAL}runtime:\n  listen: ${listen}\n`);
    for (const argv of [
      ["start", "--detach"],
      ["chat", "hello"],
    ]) {
      const { code, stderr } = await run(two, ...argv);
      expect(code, argv.join(" ")).toBe(1);
      expect(stderr, argv.join(" ")).toContain(`the node of ${one}`);
    }
    await run(one, "stop");
  });

  it("are not started where another program has the port, which is said in one sentence", async () => {
    const { one, run } = await twoDeployments();
    const other = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void other.close());
    await once(other, "listening");
    const address = other.address();
    const listen = `127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    await writeFile(join(one, "cairn.yaml"), `${MINIMAL}runtime:\n  listen: ${listen}\n`);
    for (const argv of [["start"], ["start", "--detach"]]) {
      const { code, stderr } = await run(one, ...argv);
      expect(code, argv.join(" ")).toBe(1);
      expect(stderr, argv.join(" ")).toBe(
        `Error: ${listen} is taken by another process.\n` +
          "Hint: Set runtime.listen in cairn.yaml (or SERVICE_LISTEN) to another HOST:PORT, or stop the other process.\n" +
          "Code: RUNTIME_ALREADY_RUNNING\n",
      );
    }
  });

  it("are one where a link leads from one name to the other", async () => {
    const { cli, one, json } = await twoDeployments();
    const { url } = await json(one, "start", "--detach");
    await writeFile(join(one, "cairn.yaml"), `${MINIMAL}runtime:\n  listen: ${new URL(url).host}\n`);
    const alias = join(cli.home, "alias");
    await symlink(one, alias);
    const again = await json(alias, "restart");
    expect(again).toMatchObject({ stopped: { was_running: true } });
    expect(await json(one, "stop")).toMatchObject({ was_running: true, pid: again.pid });
  });

  it("print commands that lead back to the directory they were started with", async () => {
    const { one, run } = await twoDeployments();
    const { stdout } = await run(one, "start", "--detach");
    expect(stdout).toContain(`\`cairn stop --dir ${one}\``);
    expect(stdout).toContain(`\`cairn chat --agent main --dir ${one}\``);
    await run(one, "stop");
    expect((await run(one, "chat", "hello")).stderr).toContain(`\`cairn start --detach --dir ${one}\``);
  });
});

it.skipIf(lacks("git"))("a token that is written before the first start is none that git takes", async () => {
  const { one, run } = await twoDeployments();
  const token = join(one, "..", "token");
  await writeFile(token, "cairn_capture-token\n");
  const given = ["--url", "https://node.example:7433", "--token-file", token];
  expect(await run(one, "capture", "install", "claude-code", ...given)).toMatchObject({ code: 0 });
  const git = (...args: string[]) => execFileSync("git", ["-C", one, ...args], { encoding: "utf8" });
  git("init", "-q");
  git("add", "-A");
  expect(git("ls-files")).toBe("cairn.yaml\n");
});

describe("what an earlier version left in ~/.cairn", () => {
  async function earlier(files: Readonly<Record<string, string>>) {
    const paths = await twoDeployments();
    const shared = join(paths.cli.home, ".cairn");
    await mkdir(join(shared, "store"), { recursive: true });
    onTestFinished(() => endNodeOf(shared));
    for (const [name, text] of Object.entries(files)) await writeFile(join(shared, name), text);
    for (const dir of [paths.one, paths.two]) await writeFile(join(dir, ".env"), "", { mode: 0o600 });
    return { ...paths, shared };
  }

  it("stays the home of the directory that used it", async () => {
    const { one, json, shared } = await earlier({});
    expect(await json(one, "start", "--detach")).toMatchObject({ home: shared });
    expect(await json(one, "stop")).toMatchObject({ was_running: true });
  });

  it("stays the default directory's where that has a configuration, and the other one is told of it", async () => {
    const { one, run, json, shared } = await earlier({ "cairn.yaml": MINIMAL });
    const { stderr } = await run(one, "start", "--detach");
    expect(stderr).toContain(`a home of its own now, ${join(one, ".cairn")}`);
    expect(stderr).toContain(shared);
    expect(await json(one, "stop")).toMatchObject({ was_running: true });
  });
});
