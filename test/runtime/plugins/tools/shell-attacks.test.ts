/** What a command must not be able to take or leave behind: attacks by the shell tool of a service with an ordinary user. */

import { execFileSync } from "node:child_process";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  bubblewrapArguments,
  HARDENINGS,
  type ProtectedPath,
  type SandboxLayout,
} from "../../../../runtime/plugins/tools/shell/bubblewrap.ts";
import type { ShellSettings } from "../../../../runtime/plugins/tools/shell/settings.ts";
import { lacks } from "../../../lanes/tools.ts";
import { commandsOfService } from "./command-process.ts";

const MIB = 1024 ** 2;

const bubblewrapWorks = lacks("bubblewrap") === undefined;

const modes: [string, Partial<ShellSettings>][] = [["without a sandbox", { sandbox: "none" }]];
if (bubblewrapWorks) modes.unshift(["in bubblewrap", { sandbox: "bubblewrap" }]);

/** Starts processes that sleep until it cannot any more, and says how many there were. They end with it. */
const FORKS = `node -e '
  const { spawn } = require("node:child_process");
  let started = 0;
  const next = () => {
    const child = spawn("sleep", ["30"], { stdio: "ignore" });
    child.once("error", () => { console.log("started", started); process.exit(); });
    if (child.pid && (started += 1) < 1500) setImmediate(next);
    else if (child.pid) { console.log("started", started); process.exit(); }
  };
  next();
'`;

describe.skipIf(lacks("ordinary-user")).each(modes)("a command %s", (_, settings) => {
  it("starts no more processes than its bound", async () => {
    const { results, warnings } = await commandsOfService({ ...settings, maxProcesses: 400 }, [FORKS]);
    const started = Number(/started (\d+)/.exec(results[0]?.content ?? "")?.[1]);
    expect(started, results[0]?.content).toBeGreaterThan(5);
    expect(started).toBeLessThan(400);
    expect(warnings).toBe("");
  });

  it("takes no more memory than its bound", async () => {
    const { results } = await commandsOfService({ ...settings, maxMemoryBytes: 1024 * MIB }, [
      "node -e 'const all = []; for (let i = 0; i < 70; i += 1) all.push(Buffer.alloc(20e6, 1)); console.log(\"took\", all.length)'",
      "node -e 'console.log(6 * 7)' && expr 40 + 4",
    ]);
    expect(results[0]?.content).not.toContain("took");
    expect(results[1]?.content).toMatch(/^exit code: 0\n42\n44$/);
  });

  it("lets programs that reserve much address space work within the default", async () => {
    const { results } = await commandsOfService(settings, [
      "node -e 'new WebAssembly.Memory({ initial: 1, maximum: 65536 }); console.log(6 * 7)'",
      'node -e \'for (let i = 0; i < 4; i += 1) new (require("node:worker_threads").Worker)("console.log(1)", { eval: true })\' | grep -c 1',
    ]);
    expect(results.map(({ content }) => content)).toEqual(["exit code: 0\n42", "exit code: 0\n4"]);
  });

  it("is ended before the service when memory runs out", async () => {
    const { results } = await commandsOfService(settings, ["cat /proc/self/oom_score_adj"]);
    expect(results[0]?.content).toBe("exit code: 0\n1000");
  });

  it("gets no descriptor that the service's launcher left open", async () => {
    const launcher = 'echo "a launcher\'s secret" > secret; exec 17<secret 40<secret 63<>secret; exec "$@"';
    const command = "cat <&17; cat <&40; echo changed >&63; ls -l /proc/self/fd";
    const { results, workspace } = await commandsOfService(settings, [command], { launcher });
    expect(results[0]?.content).not.toMatch(/a launcher's|secret/);
    expect(execFileSync("cat", [join(workspace, "../secret")], { encoding: "utf8" })).toBe("a launcher's secret\n");
  });
});

describe.skipIf(lacks("bubblewrap"))("a command in bubblewrap", () => {
  const settings: Partial<ShellSettings> = { sandbox: "bubblewrap" };

  it("fills neither memory through / and /dev nor more of /tmp and /dev/shm than their bounds", async () => {
    const fill = (path: string, mebibytes: number) =>
      `dd if=/dev/zero of=${path} bs=1M count=${mebibytes} 2>/dev/null; stat -c %s ${path}; rm -f ${path}`;
    const { results } = await commandsOfService(settings, [
      "for d in / /dev /var /etc /home /opt; do mkdir $d/x || echo x > $d/y; done; find / -xdev \\( -name x -o -name y \\) -newer /proc/self 2>/dev/null",
      fill("/tmp/x", 1024 + 64),
      fill("/dev/shm/x", 256 + 64),
    ]);
    expect(results[0]?.content.match(/Read-only file system|Permission denied|No such file/g)?.length).toBe(12);
    expect(results[1]?.content).toBe(`exit code: 0\n${1024 * MIB}`);
    expect(results[2]?.content).toBe(`exit code: 0\n${256 * MIB}`);
  });

  it("changes nothing in /proc, such as its own place when memory runs out, and redirects its output by it", async () => {
    const { results } = await commandsOfService(settings, [
      "echo 0 > /proc/self/oom_score_adj; cat /proc/self/oom_score_adj",
      "choom -n 0 -p $$; sh -c 'echo 0 > /proc/$PPID/oom_score_adj'; cat /proc/1/oom_score_adj /proc/$$/oom_score_adj",
      "(echo one > /dev/stdout; echo two > /proc/self/fd/1) | cat; cat <(echo three); exec 5> file; echo four > /dev/fd/5; cat file",
    ]);
    expect(results[0]?.content).toMatch(/^exit code: 0\n[\s\S]*\n1000$/);
    expect(results[1]?.content).toMatch(/^exit code: 0\n[\s\S]*\n1000\n1000$/);
    expect(results[2]?.content).toBe("exit code: 0\none\ntwo\nthree\nfour");
  });

  it("leaves no set-uid or set-gid file in the workspace", async () => {
    const { results, workspace } = await commandsOfService(settings, [
      "cp /bin/true a && chmod u+s a",
      "cp /bin/true b && chmod 6755 b",
      "python3 -c 'import os; os.close(os.open(\"c\", os.O_CREAT | os.O_WRONLY, 0o4755))'",
      "python3 -c 'import os; os.mknod(\"d\", 0o104755)'",
      "python3 -c 'import os; f = os.open(\"e\", os.O_CREAT | os.O_WRONLY); os.fchmod(f, 0o4755)'",
      "install -m 4755 /bin/true f",
      "echo '#!/bin/sh' > good && chmod 755 good && mkfifo pipe && mkdir -m 1777 shared && ls",
    ]);
    for (const { content } of results.slice(0, -1)) expect(content).toMatch(/not permitted/);
    expect(results.at(-1)?.content).toMatch(/^exit code: 0\n[\s\S]*good\npipe\nshared$/);
    for (const name of ["a", "b", "c", "d", "e", "f"]) {
      const mode = (await stat(join(workspace, name)).catch(() => null))?.mode ?? 0;
      expect(mode & 0o6000, name).toBe(0);
    }
  });

  it("makes no namespace, and reaches neither the kernel's keys nor other kinds of sockets", async () => {
    const { results } = await commandsOfService({ ...settings, maxProcesses: 400 }, [
      "grep ^Seccomp: /proc/self/status",
      "unshare --user true; unshare --net true; unshare --mount true; unshare --time true",
      'perl -e \'for my $n (250, 321, 425, 435, 165) { print syscall($n, 0, 0, 0, 0, 0), " ", $! + 0, "\\n" }\'',
      "python3 -c 'import socket\nfor family in (17, 38, 40): \n  try: socket.socket(family)\n  except OSError as e: print(e.errno)'",
      "python3 -c 'import socket; socket.socket(); socket.socket(socket.AF_INET6); socket.socketpair(); print(len(socket.if_nameindex()) > 0)'",
    ]);
    const [status, namespaces, calls, families, usual] = results.map(({ content }) => content);
    expect(status).toMatch(/Seccomp:\s+2$/);
    expect(namespaces?.match(/Operation not permitted/g)?.length).toBe(4);
    if (process.arch === "x64") expect(calls).toBe("exit code: 0\n-1 1\n-1 1\n-1 38\n-1 38\n-1 1");
    expect(families).toBe("exit code: 0\n97\n97\n97");
    expect(usual).toBe("exit code: 0\nTrue");
  });

  it("works as before for a service of root, whose log says that processes are not bounded", async () => {
    if (process.getuid?.() !== 0) return;
    const { results, warnings } = await commandsOfService(settings, ["id -u; echo 6 > x; cat x"], { asRoot: true });
    expect(results[0]?.content).toBe("exit code: 0\n0\n6");
    expect(warnings).toContain("the bound on processes does not hold");
  });
});

describe("the arguments of bubblewrap", () => {
  const [hardening] = HARDENINGS;
  const layoutWith = (protectedPaths: readonly ProtectedPath[]): SandboxLayout => ({
    ...{ system: [], readOnly: [], cwd: "/ws", network: true, filtered: false },
    hardening: hardening ?? { noNamespaces: false, boundedTmp: false },
    workspace: { source: "/ws", mountedAt: ["/ws", "/named"] },
    protectedPaths,
  });
  /** What is mounted where, in order, after the workspace itself. */
  const mounts = (layout: SandboxLayout) => {
    const args = bubblewrapArguments(layout, ["true"]);
    const found = args.flatMap((arg, at) => {
      if (arg === "--tmpfs") return [`nothing at ${args[at + 1]}`];
      return /^--(ro-)?bind$/.test(arg) ? [`${args[at + 1]} at ${args[at + 2]}`] : [];
    });
    return found.slice(found.indexOf("/ws at /named") + 1);
  };

  it("cover no path below a directory that is covered, in whatever order they come", () => {
    const paths: ProtectedPath[] = [
      { path: "/ws/deployment/home", kind: "directory" },
      { path: "/ws/deployment", kind: "directory" },
      { path: "/ws/deployment/.env", kind: "file" },
      { path: "/ws/deployment", kind: "directory" },
      { path: "/ws/deployment-key", kind: "file" },
    ];
    for (const order of [paths, paths.toReversed()]) {
      expect(new Set(mounts(layoutWith(order)))).toEqual(
        new Set(
          ["/ws", "/named"].flatMap((at) => [`nothing at ${at}/deployment`, `/dev/null at ${at}/deployment-key`]),
        ),
      );
      const args = bubblewrapArguments(layoutWith(order), ["true"]);
      expect(args.filter((_, at) => args[at - 1] === "--remount-ro").sort()).toEqual(
        ["/", "/dev", "/named/deployment", "/proc", "/ws/deployment"].sort(),
      );
    }
  });

  it("cover a path in the workspace, also when a directory around the workspace is covered", () => {
    const layout = layoutWith([
      { path: "/srv", kind: "directory" },
      { path: "/srv/ws/.env", kind: "file" },
    ]);
    const inside = {
      ...layout,
      readOnly: [{ path: "/", resolved: "/" }],
      workspace: { source: "/srv/ws", mountedAt: ["/srv/ws"] },
    };
    const args = bubblewrapArguments(inside, ["true"]).join(" ");
    expect(args).toMatch(/--tmpfs \/srv --bind \/srv\/ws \/srv\/ws --ro-bind \/dev\/null \/srv\/ws\/\.env/);
  });

  it("mount each directory above a cover onto itself, the outermost first", () => {
    expect(
      mounts(
        layoutWith([
          { path: "/ws/a/b/key", kind: "file" },
          { path: "/ws/a/home", kind: "directory" },
        ]),
      ),
    ).toEqual([
      ...["/ws/a at /ws/a", "/ws/a/b at /ws/a/b", "/ws/a at /named/a", "/ws/a/b at /named/a/b"],
      ...[
        "/dev/null at /ws/a/b/key",
        "nothing at /ws/a/home",
        "/dev/null at /named/a/b/key",
        "nothing at /named/a/home",
      ],
    ]);
  });
});

describe.skipIf(lacks("ordinary-user"))("a machine without what the bounds need", () => {
  it("says so in the log", async () => {
    const { results, warnings } = await commandsOfService({ sandbox: "none", prlimitPaths: ["/nowhere"] }, ["echo on"]);
    expect(results[0]?.content).toBe("exit code: 0\non");
    expect(warnings).toContain("agents' commands have no bounds on processes and memory");
  });
});
