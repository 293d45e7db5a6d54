import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { release } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { createWorkspaceGate } from "../../../../runtime/plugins/tools/shared/locate.ts";
import { createShellTool } from "../../../../runtime/plugins/tools/shell/index.ts";
import { SHELL_DEFAULTS, type ShellSettings } from "../../../../runtime/plugins/tools/shell/settings.ts";
import { lacks } from "../../../lanes/tools.ts";
import { commandsOfService, serviceKilledAtStart } from "./command-process.ts";
import { call, createPlace, newId, quietLogger, SECRET } from "./support.ts";

async function setUp(settings: Partial<ShellSettings> = {}, container = false) {
  const place = await createPlace();
  onTestFinished(() => place[Symbol.asyncDispose]());
  const protectedPaths = [join(place.base, ".env"), place.path("deploy.env"), place.home];
  const tool = createShellTool({
    gate: createWorkspaceGate({ protectedPaths }),
    settings: { ...SHELL_DEFAULTS, killGraceMs: 300, ...settings },
    container,
    protectedPaths,
    stateDirectory: place.home,
    hostEnv: {
      PATH: process.env["PATH"],
      HOME: place.home,
      SERVICE_API_TOKEN: SECRET,
      ANTHROPIC_API_KEY: SECRET,
      TZ: "UTC",
    },
    newId,
    logger: quietLogger,
  });
  return {
    place,
    run: (command: string, more: object = {}, signal?: AbortSignal) => call(tool, place, { command, ...more }, signal),
    /** In a workspace of their own, inside the service's home. */
    runAs: async (user: string, command: string) => {
      const workspace = join(place.home, "workspaces", "main", user);
      await mkdir(workspace, { recursive: true });
      return call(tool, { workspace }, { command }, undefined, { user, owner: false });
    },
    runForOthers: (command: string) => call(tool, place, { command }, undefined, { owner: false }),
  };
}

const bubblewrapWorks = lacks("bubblewrap") === undefined;

/** Landlock's scopes came with Linux 6.12. */
const SCOPES = release().localeCompare("6.12", "en", { numeric: true }) >= 0;

/** Processes on this machine whose command line holds the text. */
async function processesWith(text: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of await readdir("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (line.includes(text)) found.push(`${pid} ${line.replaceAll("\0", " ")}`);
  }
  return found;
}

/** A number of seconds that no other process sleeps, by which the test's own processes are told apart. */
const uniqueSleep = () => `${3_000 + Math.floor(Math.random() * 900_000)}.5`;

const expectGone = (text: string) => expect.poll(() => processesWith(text)).toEqual([]);

const modes: [string, Partial<ShellSettings>][] = [["without a sandbox", { sandbox: "none" }]];
if (bubblewrapWorks) modes.unshift(["in bubblewrap", { sandbox: "bubblewrap" }]);

describe.each(modes)("shell %s", (_, settings) => {
  it("runs in the workspace and reports output in order, exit code and signal", async () => {
    const { place, run } = await setUp(settings);
    expect(await run("pwd; echo to-error >&2; echo again")).toEqual({
      content: `exit code: 0\n${place.workspace}\nto-error\nagain`,
    });
    expect(await run("exit 3")).toEqual({ content: "exit code: 3\n(no output)", isError: true });
    expect((await run("kill -TERM $$")).content).toMatch(/signal: SIGTERM|exit code: 143/);
    expect((await run("echo $BASH_VERSION")).content).toMatch(/exit code: 0\n\d/);
  });

  it("runs in a directory of the workspace and in no other", async () => {
    const { place, run } = await setUp(settings);
    await mkdir(place.path("sub"));
    await writeFile(place.path("file"), "");
    await symlink(place.outside, place.path("out"));
    expect((await run("pwd", { cwd: "sub" })).content).toContain(place.path("sub"));
    for (const cwd of ["..", "/", "out", place.outside]) {
      expect((await run("pwd", { cwd })).content, cwd).toMatch(/^TOOL_OUTSIDE_WORKSPACE/);
    }
    expect((await run("pwd", { cwd: "file" })).content).toContain("not a directory");
    expect((await run("pwd", { cwd: "missing" })).content).toContain("not a directory");
  });

  it("works for another user in a workspace inside the service's home", async () => {
    const { place, runAs } = await setUp({ ...settings, networkForOthers: true });
    const written = await runAs("ann", "echo hello > notes.md && cat notes.md && pwd");
    expect(written.content).toBe(`exit code: 0\nhello\n${join(place.home, "workspaces", "main", "ann")}`);
  });

  it("closes standard input", async () => {
    const { run } = await setUp(settings);
    expect((await run("cat; read x; echo got=$x")).content).toBe("exit code: 0\ngot=");
  });

  it("passes nothing of the service's environment on, but what was configured", async () => {
    const { run } = await setUp({ ...settings, env: { MY_TOOL: "yes" } });
    const { content } = await run("env");
    expect(content).not.toContain(SECRET);
    expect(content).toContain("MY_TOOL=yes");
    const names = content
      .split("\n")
      .slice(1)
      .map((line) => line.split("=")[0])
      .sort();
    expect(names).toEqual(
      [
        ..."CAIRN_COMMAND GIT_PAGER GIT_TERMINAL_PROMPT HOME LANG MY_TOOL PAGER PATH PWD SHELL SHLVL TERM TMPDIR TZ _".split(
          " ",
        ),
        ...(settings.sandbox === "none" ? ["OLDPWD"].filter((name) => names.includes(name)) : []),
      ].sort(),
    );
  });

  it("keeps the beginning and the end of a long output", async () => {
    const { run } = await setUp({ ...settings, maxOutputBytes: 2_000 });
    const { content } = await run("echo first; seq 100000; echo last");
    expect(content.length).toBeLessThan(2_200);
    expect(content).toMatch(/^exit code: 0\nfirst\n1\n/);
    expect(content).toMatch(/last$/);
    expect(content).toMatch(/\n\.\.\. \(58\d{4} bytes of 588906 left out here\) \.\.\.\n/);
  });

  it("ends a command at its deadline with everything that it started, and keeps its output", async () => {
    const { run } = await setUp(settings);
    const mark = uniqueSleep();
    const command = `echo started; sleep ${mark} & (setsid sleep ${mark} &) ; sh -c 'sleep ${mark}; :'`;
    let result = { content: "" };
    let timeout_s = 1;
    // On a busy machine a command may be over before it has begun.
    for (; !result.content.includes("started") && timeout_s < 100; timeout_s *= 4) {
      result = await run(command, { timeout_s });
      await expectGone(mark);
    }
    expect(result).toEqual({
      // The shell may have time to say that its child was ended.
      content: expect.stringMatching(
        /^The command did not end within \d+ s and was killed with all its children\.\nstarted(?:\nTerminated)?$/,
      ),
      isError: true,
    });
  });

  it("kills what ignores SIGTERM", async () => {
    const { run } = await setUp(settings);
    const mark = uniqueSleep();
    await run(`trap '' TERM; sh -c 'trap "" TERM; while :; do sleep ${mark}; done'`, { timeout_s: 1 });
    await expectGone(mark);
  });

  it("lets a program that minds SIGTERM clean up", async () => {
    const { place, run } = await setUp({ ...settings, killGraceMs: 60_000 });
    const controller = new AbortController();
    const running = run(
      "trap 'echo tidy > cleaned; exit' TERM; echo ready > ready; while :; do sleep 0.05; done",
      {},
      controller.signal,
    );
    while (!(await readdir(place.workspace)).includes("ready")) await delay(10);
    controller.abort();
    await running;
    expect(await readFile(place.path("cleaned"), "utf8")).toBe("tidy\n");
  });

  it("ends a command when the turn is aborted, with everything that it started", async () => {
    const { place, run } = await setUp(settings);
    const mark = uniqueSleep();
    const controller = new AbortController();
    const running = run(`echo up > up; setsid nohup sleep ${mark} & sleep ${mark}`, {}, controller.signal);
    while (!(await readdir(place.workspace)).includes("up")) await delay(10);
    controller.abort();
    expect((await running).content).toMatch(/^TOOL_ABORTED/);
    await expectGone(mark);
    expect((await run("true", {}, AbortSignal.abort())).content).toMatch(/^TOOL_ABORTED/);
  });

  it("leaves nothing running in the background of a command that has ended", async () => {
    const { run } = await setUp(settings);
    const mark = uniqueSleep();
    expect((await run(`(setsid sleep ${mark} &); sleep ${mark} & echo done`)).content).toBe("exit code: 0\ndone");
    await expectGone(mark);
  });
});

it.each(modes)("refuses a command that cannot be started for want of files, and goes on %s", async (_, settings) => {
  const freeDescriptors = [...Array.from({ length: 24 }, (__, index) => index), 200];
  const launcher = 'ulimit -n 1000; exec "$@"';
  const { results } = await commandsOfService(settings, ["true"], { launcher, freeDescriptors });
  const said = results.slice(1).map(({ content }) => content);
  expect(said).toContain("TOOL_FAILED");
  expect(said.at(-1)).toBe("exit code: 0\nstarted");
});

describe.skipIf(lacks("bubblewrap"))("the walls of the sandbox", () => {
  it.each(["at once", "behind it"] as const)(
    "end with a service that is killed before they stand (%s)",
    async (dies) => {
      for (let round = 0; round < 3; round += 1) {
        const mark = uniqueSleep();
        await serviceKilledAtStart({ sandbox: "bubblewrap" }, `sleep ${mark}`, dies);
        await expectGone(mark);
      }
    },
  );

  it("do not show the service's home, its .env, other directories or its processes", async () => {
    const { place, run } = await setUp();
    for (const command of [
      `cat ${place.home}/node.key`,
      `cat ${place.base}/.env`,
      `cat ../.env ../home/node.key ../ws-evil/secret.txt`,
      `cat /proc/${process.pid}/environ`,
      `find /home /root /opt /srv /var /tmp /etc -name node.key -o -name .env 2>/dev/null | xargs cat`,
      "cat /etc/shadow",
    ]) {
      const { content } = await run(command);
      expect(content, command).not.toContain(SECRET);
      expect(content, command).not.toContain("root:");
    }
    expect(
      (await run(`ls -A ${place.base} /home /root /srv 2>/dev/null; ls /proc | grep -c '^[0-9]'`)).content,
    ).toMatch(new RegExp(`^exit code: 0\n(${place.base}:\n)?ws\n+\\d$`));
  });

  it("cover the service's files where they lie inside the workspace", async () => {
    const { place, run } = await setUp();
    await writeFile(place.path("deploy.env"), SECRET);
    const { content } = await run("cat deploy.env; mv deploy.env x; rm -f deploy.env; echo y > deploy.env; cat x");
    expect(content).not.toContain(SECRET);
    expect(await readFile(place.path("deploy.env"), "utf8")).toBe(SECRET);
  });

  it("let nothing be written outside the workspace", async () => {
    const { place, run } = await setUp();
    await symlink(place.outside, place.path("out"));
    await run(
      `echo x > ../ws-evil/new; echo x > out/new; echo x > ${place.home}/new; mkdir -p ${place.outside}; echo x > ${place.outside}/new`,
    );
    await run("touch /usr/bin/new /etc/new /bin/new; mount -o remount,rw /usr; echo x > /proc/sys/kernel/hostname");
    expect(await readdir(place.outside)).toEqual(["secret.txt"]);
    expect(await readdir(place.home)).toEqual(["node.key"]);
    expect((await run("touch /usr/bin/new /etc/new")).isError).toBe(true);
    expect((await run("echo kept > file; cat file")).content).toContain("kept");
    expect(await readFile(place.path("file"), "utf8")).toBe("kept\n");
  });

  it("give a private /tmp that is empty again in the next call, and a home that can be written", async () => {
    const { run } = await setUp();
    expect((await run("echo x > /tmp/a && echo y > ~/b && ls /tmp")).content).toContain("a");
    expect((await run("ls -A /tmp ~")).content).toMatch(
      /^exit code: 0\n\/tmp:\ncairn-tools-\w+\nhome\n\n\/tmp\/home:$/,
    );
  });

  it("leave no capability and no way to new namespaces", async () => {
    const { run } = await setUp();
    expect((await run("grep -E 'Cap(Eff|Prm|Bnd|Amb)' /proc/self/status | awk '{print $2}' | sort -u")).content).toBe(
      "exit code: 0\n0000000000000000",
    );
    expect((await run("unshare -Ur true")).isError).toBe(true);
    expect((await run("mount -t tmpfs none /mnt")).isError).toBe(true);
  });

  it("close the network when it is switched off, and leave it open otherwise", async () => {
    const interfaces = "cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' ' | sort | tr '\\n' ' '";
    const closed = await setUp({ network: false });
    expect((await closed.run(interfaces)).content).toBe("exit code: 0\nlo");
    const open = await setUp({ network: true });
    const host = execFileSync("sh", ["-c", interfaces], { encoding: "utf8" }).trim();
    expect((await open.run(interfaces)).content).toBe(`exit code: 0\n${host}`);
  });

  it("close the network in turns of others than the owner, unless it was opened for them", async () => {
    const interfaces = "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '";
    const { run, runForOthers } = await setUp();
    expect((await runForOthers(interfaces)).content).toBe("exit code: 0\nlo");
    const owners = (await run(interfaces)).content;
    expect(owners).toBe(`exit code: 0\n${execFileSync("sh", ["-c", interfaces], { encoding: "utf8" }).trim()}`);
    const opened = await setUp({ networkForOthers: true });
    expect((await opened.runForOthers(interfaces)).content).toBe(owners);
    const shut = await setUp({ network: false, networkForOthers: true });
    expect((await shut.runForOthers(interfaces)).content).toBe("exit code: 0\nlo");
  });

  it("reach no server of this machine in turns of others, by address or by abstract socket", async () => {
    const server = createServer((socket) => socket.end("reached"));
    const abstract = createServer((socket) => socket.end("reached"));
    const name = `cairn-test-${newId()}`;
    await once(server.listen(0, "127.0.0.1"), "listening");
    await once(abstract.listen(`\0${name}`), "listening");
    onTestFinished(() => {
      server.close();
      abstract.close();
    });
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const { run, runForOthers } = await setUp();
    const byAddress = `exec 9<>/dev/tcp/127.0.0.1/${port} && cat <&9`;
    const byName = `perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0); connect(S, pack("S a*", AF_UNIX, "\0${name}")) or die "$!\n"; print <S>'`;
    expect((await run(byAddress)).content).toContain("reached");
    for (const command of [byAddress, byName]) {
      expect((await runForOthers(command)).content, command).not.toContain("reached");
    }
    // Landlock's scopes keep the owner's commands from abstract sockets, too.
    if (SCOPES) expect((await run(byName)).content).not.toContain("reached");
  });

  it("stand around a workspace that is named by a link, under both of its names", async () => {
    const { place } = await setUp();
    const named = join(place.base, "a workspace's name");
    await symlink(place.workspace, named);
    await writeFile(place.path("file"), "here");
    const tool = createShellTool({
      gate: createWorkspaceGate({ protectedPaths: [] }),
      settings: SHELL_DEFAULTS,
      container: false,
      protectedPaths: [],
      stateDirectory: place.home,
      hostEnv: {},
      newId,
      logger: quietLogger,
    });
    const command = `cat "${named}/file" ${place.workspace}/file; ls ${place.outside}`;
    expect((await call(tool, { workspace: named }, { command }, undefined, { owner: true })).content).toMatch(
      /^exit code: 2\nherehere.*No such file/,
    );
  });

  it("are built with a bubblewrap that cannot do everything, too", async () => {
    const { place } = await setUp();
    const old = join(place.base, "bwrap");
    const script = `#!/bin/sh\nfor arg; do case $arg in --disable-userns|--size) echo "Unknown option $arg" >&2; exit 1;; esac; done\nexec bwrap "$@"\n`;
    await writeFile(old, script, { mode: 0o755 });
    const { run } = await setUp({ sandbox: "bubblewrap", bubblewrapPaths: [old] });
    expect((await run(`ls ${place.home}; echo ran`)).content).toMatch(/No such file[\s\S]*ran$/);
  });

  it.each([
    ["hidden", false],
    ["in a directory that is shown", true],
  ])("keep users apart whose workspaces are inside the service's home (%s)", async (_, shown) => {
    const base = await setUp();
    const { place, runAs } = shown ? await setUp({ readOnlyPaths: ["/tmp"] }) : base;
    await runAs("bob", "echo what bob said > notes.md");
    const written = await runAs("ann", `ls -A; ls ..; cat ../bob/notes.md ${place.home}/node.key ${place.base}/.env`);
    expect(written.content).not.toContain("bob said");
    expect(written.content).not.toContain(SECRET);
    for (const path of [`${place.home}/workspaces/main/bob/planted`, `${place.home}/planted`, place.path("planted")]) {
      await runAs("ann", `mkdir -p ${place.home}/workspaces/main/bob ${place.workspace}; echo planted > ${path}`);
      expect(await stat(path).catch(() => null)).toBeNull();
    }
    expect(await readFile(join(place.home, "workspaces", "main", "bob", "notes.md"), "utf8")).toBe("what bob said\n");
  });

  it("cover the service's files, too, where a further directory that is shown is a link to what they are in", async () => {
    const linked = join((await setUp()).place.base, "linked");
    const { place, run } = await setUp({ readOnlyPaths: [linked] });
    await symlink(place.base, linked);
    await writeFile(place.path("deploy.env"), SECRET);
    await writeFile(place.path("notes.md"), "the agent's own");
    const names = ["ws/notes.md", ".env", "home/node.key", "ws/deploy.env"];
    const { content } = await run(`cd ${linked} && cat ${names.join(" ")}; ls -A home`);
    expect(content).toContain("the agent's own");
    expect(content).not.toContain(SECRET);
    expect(content.match(/Permission denied|No such file/g)).toHaveLength(3);
  });

  it("show further directories read-only when they are configured", async () => {
    const { place } = await setUp();
    const { run } = await setUp({ readOnlyPaths: [place.outside] });
    expect((await run(`cat ${place.outside}/secret.txt`)).content).toContain(SECRET);
    expect((await run(`echo x >> ${place.outside}/secret.txt`)).isError).toBe(true);
  });
});

describe("a machine without bubblewrap", () => {
  const bubblewrapPaths = ["/nowhere/bwrap"];

  it("says what bubblewrap said", async () => {
    const { place } = await setUp();
    const broken = join(place.base, "bwrap");
    await writeFile(broken, "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2; exit 1\n", {
      mode: 0o755,
    });
    const { run } = await setUp({ bubblewrapPaths: [broken] });
    expect((await run("true")).content).toBe(
      "TOOL_SANDBOX_MISSING: Commands cannot be run safely here: bwrap: setting up uid map: Permission denied.",
    );
    await rm(broken);
    await symlink("/usr/bin/bwrap", broken);
    if (bubblewrapWorks) expect((await run("echo works now")).content).toContain("works now");
  });

  it.each<{ settings: Partial<ShellSettings>; container: boolean }>([
    { settings: { sandbox: "auto" }, container: false },
    { settings: { sandbox: "bubblewrap" }, container: true },
    { settings: { sandbox: "auto", network: false, setprivPaths: [] }, container: true },
    { settings: { sandbox: "none", network: false }, container: false },
  ])("refuses commands and says what to do (%o)", async ({ settings, container }) => {
    const { run } = await setUp({ ...settings, bubblewrapPaths }, container);
    expect((await run("echo ran > ran")).content).toMatch(/^TOOL_SANDBOX_MISSING/);
  });

  it.each<{ settings: Partial<ShellSettings>; container: boolean }>([
    { settings: { sandbox: "none" }, container: false },
    { settings: { sandbox: "auto", setprivPaths: [] }, container: true },
  ])("refuses commands of others where it cannot take the network from them (%o)", async ({ settings, container }) => {
    const { run, runForOthers } = await setUp({ ...settings, bubblewrapPaths }, container);
    expect((await runForOthers("echo ran")).content).toBe(
      "TOOL_SANDBOX_MISSING: Commands cannot be run here: commands of others than the owner have no network, which cannot be enforced here.",
    );
    expect((await run("echo ran")).content).toContain("ran");
    const opened = await setUp({ ...settings, bubblewrapPaths, networkForOthers: true }, container);
    const { content } = await opened.runForOthers("echo ran");
    // A container without Landlock has no place of their own for them either.
    expect(content).toMatch(container ? /^TOOL_SANDBOX_MISSING.*Landlock/ : /^exit code: 0\nran/);
  });

  it("puts what it has in front of a command in a container", async () => {
    const { place, run } = await setUp({ bubblewrapPaths, setprivPaths: [] }, true);
    const setpriv = join(place.base, "setpriv");
    // Plays Landlock: what is not named by a rule cannot be read.
    const script = '#!/bin/sh\nfor last; do :; done\ncase "$last" in *passwd*) exit 0 ;; esac\necho "$@"\n';
    await writeFile(setpriv, script, { mode: 0o755 });
    const walls = await setUp({ bubblewrapPaths, setprivPaths: [setpriv] }, true);
    expect((await run("echo no walls")).content).toContain("no walls");
    const { content } = await walls.run("echo behind");
    expect(content).toContain("--landlock-rule path-beneath:read-file,execute,read-dir:/usr --");
    expect(content).toContain(`--landlock-rule path-beneath::${walls.place.path(".")}`.replace(/\/\.?$/, ""));
    // The home of this test lies below /tmp, which is therefore not opened.
    expect(content).not.toMatch(new RegExp(`path-beneath:[^ ]*:(?:/tmp|${walls.place.home}) `));

    // Others share no directory with the owner's commands; temporary files go into their workspace.
    const ann = join(walls.place.home, "workspaces", "main", "ann");
    const others = (await walls.runAs("ann", 'echo "$TMPDIR"')).content;
    expect(others).toContain(`--landlock-rule path-beneath::${ann} `);
    expect(others).not.toMatch(/path-beneath:[^ ]*:\/(?:tmp|dev\/shm|srv\/shared) /);

    await writeFile(walls.place.path("deploy.env"), "a secret that walls cannot leave out");
    expect((await walls.run("echo behind")).content).toMatch(/^TOOL_SANDBOX_MISSING.*inside the workspace/);
  });

  it("refuses commands of others in a container that has Landlock and loads no filter", async () => {
    const { place } = await setUp();
    const setpriv = join(place.base, "setpriv");
    const script =
      '#!/bin/sh\nfor last; do :; done\ncase "$*" in *--seccomp-filter*) exit 1 ;; esac\ncase "$last" in *passwd*) exit 0 ;; esac\necho "$@"\n';
    await writeFile(setpriv, script, { mode: 0o755 });
    const { run, runAs } = await setUp({ bubblewrapPaths, setprivPaths: [setpriv], networkForOthers: true }, true);
    expect((await run("echo behind")).content).toMatch(/^exit code: 0\n.*--landlock-rule/);
    expect((await runAs("ann", "echo behind")).content).toMatch(/^TOOL_SANDBOX_MISSING.*filter of system calls/);
  });

  it("refuses commands of others in a container without Landlock", async () => {
    const { run, runAs } = await setUp({ bubblewrapPaths, setprivPaths: [], networkForOthers: true }, true);
    expect((await run("echo ran")).content).toContain("ran");
    expect((await runAs("ann", "echo ran")).content).toMatch(/^TOOL_SANDBOX_MISSING.*Landlock/);
  });

  it.each<{ settings: Partial<ShellSettings>; container: boolean }>([
    { settings: { sandbox: "none" }, container: false },
    { settings: { sandbox: "auto", setprivPaths: ["/nowhere"] }, container: true },
  ])("runs commands all the same when the owner said so (%o)", async ({ settings, container }) => {
    const { run } = await setUp({ ...settings, bubblewrapPaths }, container);
    expect((await run("echo ran")).content).toContain("ran");
  });
});
