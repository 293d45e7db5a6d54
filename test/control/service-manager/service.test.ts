import { spawnSync } from "node:child_process";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { installService, type Machine, uninstallService } from "../../../control/service-manager/install.ts";
import { escapeXml, launchdPlist } from "../../../control/service-manager/launchd.ts";
import { type ServiceDescription, stopSeconds } from "../../../control/service-manager/service.ts";
import { serviceName } from "../../../control/service-manager/service-name.ts";
import { systemdUnit } from "../../../control/service-manager/systemd.ts";
import { userUnits } from "../../../control/service-manager/unit-folders.ts";
import { RuntimeError } from "../../../runtime/contracts/errors.ts";
import { lacks } from "../../lanes/tools.ts";
import { createCli } from "../../support/cli.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

const TEMPLATES = new URL("../../../templates/service/", import.meta.url);
const example: ServiceDescription = {
  name: "cairn",
  command: [process.execPath, "/opt/cairn/main.js", "--dir", "/srv/a b/100% $HOME"],
  dir: "/tmp",
  writable: ["/tmp", "/srv/a b/100% $HOME"],
  environment: { SERVICE_HOME: "/srv/home dir", PATH: "/usr/bin:/bin" },
  stopSeconds: 90,
  scope: "system",
  user: null,
};
const ignore = new AbortController().signal;

async function machineOf(platform: NodeJS.Platform = "linux"): Promise<Machine & { root: string }> {
  const root = await temporaryDirectory();
  return { platform, uid: 501, home: join(root, "home"), root };
}

function recorder() {
  const calls: string[] = [];
  return { calls, run: async (command: readonly string[]) => void calls.push(command.join(" ")) };
}

describe("the unit for systemd", () => {
  it.skipIf(lacks("systemd"))("is one that systemd accepts", async () => {
    const template = await readFile(new URL("cairn.service", TEMPLATES), "utf8");
    const file = join(await temporaryDirectory(), "cairn.service");
    await writeFile(file, systemdUnit(template, example));
    const checked = spawnSync("systemd-analyze", ["verify", "--man=no", file], { encoding: "utf8" });
    expect(checked.stderr.split("\n").filter((line) => line.includes("cairn.service"))).toEqual([]);
  });

  /** The machine's service of a user, its home directory below /home. */
  async function machineUnit(): Promise<string> {
    const template = await readFile(new URL("cairn.service", TEMPLATES), "utf8");
    return systemdUnit(template, { ...example, user: "ada", writable: ["/home/ada/agents", "/home/ada/.cairn"] });
  }

  it.skipIf(lacks("systemd"))("is exposed less than 4.0 by systemd's own count", async () => {
    const file = join(await temporaryDirectory(), "cairn.service");
    await writeFile(file, await machineUnit());
    const analysed = spawnSync(
      "systemd-analyze",
      ["security", "--offline=true", "--no-pager", "--threshold=39", file],
      {
        encoding: "utf8",
      },
    );
    const exposure = Number(/Overall exposure level for cairn\.service: ([\d.]+)/.exec(analysed.stdout)?.[1]);
    expect(exposure).toBeGreaterThan(0);
    expect(exposure).toBeLessThan(4);
    expect(analysed.status).toBe(0);
  });

  it("writes where the node does and nowhere else, without a capability beyond ports below 1024", async () => {
    const lines = (await machineUnit()).split("\n");
    for (const line of [
      "NoNewPrivileges=true",
      "CapabilityBoundingSet=CAP_NET_BIND_SERVICE",
      "ProtectSystem=strict",
      "ProtectHome=read-only",
      'ReadWritePaths="/home/ada/agents"',
      'ReadWritePaths="/home/ada/.cairn"',
      "SystemCallErrorNumber=EPERM",
    ]) {
      expect(lines).toContain(line);
    }
  });

  it("leaves the sandbox of commands possible: /proc is whole, namespaces and mounts are allowed, code may be compiled", async () => {
    const unit = await machineUnit();
    for (const name of [
      "ProtectKernelTunables",
      "ProtectKernelLogs",
      "ProcSubset",
      "ProtectHostname",
      "RestrictNamespaces",
      "MemoryDenyWriteExecute",
      "InaccessiblePaths",
    ]) {
      expect(unit).not.toMatch(new RegExp(`^${name}=`, "m"));
    }
    expect(unit).toMatch(/^SystemCallFilter=.*@mount/m);
  });

  it("asks of a user's own manager nothing that only the machine's can do", async () => {
    const template = await readFile(new URL("cairn.service", TEMPLATES), "utf8");
    const unit = systemdUnit(template, { ...example, scope: "user" });
    expect(unit).toContain("SystemCallFilter=@system-service");
    expect(unit).not.toMatch(/^(?:CapabilityBoundingSet|ProtectSystem|ProtectHome|ReadWritePaths|PrivateDevices)=/m);
  });

  it("gives every word to the program as it is", async () => {
    const template = await readFile(new URL("cairn.service", TEMPLATES), "utf8");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are refused, see below
    const word = fc.string({ minLength: 1, unit: "grapheme" }).filter((text) => !/[\u0000-\u001f\u007f]/.test(text));
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), (words) => {
        const unit = systemdUnit(template, { ...example, command: [process.execPath, ...words] });
        const line = unit.split("\n").find((line) => line.startsWith("ExecStart=")) ?? "";
        expect(readWords(line.slice("ExecStart=".length)).slice(1)).toEqual(words);
      }),
      // For systemd these end no line, for a regular expression they do.
      { examples: [[["\u2028 ", "\u0085"]]] },
    );
  });

  it.each(["a\nUser=root", "a\u0000b"])("refuses %j, which would begin another line", async (path) => {
    const template = await readFile(new URL("cairn.service", TEMPLATES), "utf8");
    expect(() => systemdUnit(template, { ...example, dir: path })).toThrow(/control characters/);
    expect(() => systemdUnit(template, { ...example, command: ["/bin/true", path] })).toThrow(/control characters/);
  });
});

describe("the property list for launchd", () => {
  it("holds whatever stands in paths", async () => {
    const template = await readFile(new URL("cairn.plist", TEMPLATES), "utf8");
    const plist = launchdPlist(template, { ...example, dir: "/Users/a & b/<c>" });
    expect(plist).toContain("<string>/Users/a &amp; b/&lt;c&gt;</string>");
    expect(plist).toContain("<integer>90</integer>");
    expect(plist).not.toContain("{{");
    expect(() => escapeXml("a\u0001")).toThrow();
  });
});

describe("installing", () => {
  let service: ServiceDescription;
  beforeEach(async () => {
    const dir = await temporaryDirectory();
    service = { ...example, dir, writable: [dir, join(dir, "a b/100% $HOME")] };
  });

  it("writes the unit, enables and starts it, and changes nothing the second time", async () => {
    const machine = await machineOf();
    const { calls, run } = recorder();
    const first = await installService(service, machine, { start: true, signal: ignore, run });
    expect(first).toMatchObject({ changed: true, started: true, manager: "systemd" });
    expect(first.file).toBe(join(machine.root, "etc/systemd/system/cairn.service"));
    expect(calls).toEqual([
      "systemctl daemon-reload",
      "systemctl enable cairn.service",
      "systemctl restart cairn.service",
    ]);
    const unit = await readFile(first.file, "utf8");
    expect(unit).toContain("TimeoutStopSec=90\n");
    expect(unit).not.toMatch(/^User=/m);
    expect((await installService(service, machine, { start: false, signal: ignore, run })).changed).toBe(false);
  });

  it("as a user goes into the user's own folder and asks the user's own manager", async () => {
    const machine = await machineOf();
    const { calls, run } = recorder();
    const own = { ...service, scope: "user" } as const;
    const { file } = await installService(own, machine, { start: false, signal: ignore, run });
    expect(file).toBe(join(machine.home, ".config/systemd/user/cairn.service"));
    expect(calls.every((call) => call.startsWith("systemctl --user "))).toBe(true);
    expect(await readFile(file, "utf8")).toContain("WantedBy=default.target");
  });

  it.each([
    ["", ".config"],
    ["config", ".config"],
    ["/srv/config", null],
  ])("takes XDG_CONFIG_HOME %j only when it is an absolute path", (configHome, below) => {
    const folder = below === null ? configHome : join("/home/me", below);
    expect(userUnits("/home/me", configHome)).toBe(join(folder, "systemd/user"));
  });

  it("waits for the manager longer than the node may take to stop", async () => {
    const machine = await machineOf();
    const deadlines: number[] = [];
    const run = async (_command: unknown, _signal: unknown, deadlineMs: number) => void deadlines.push(deadlineMs);
    const patient = { ...service, stopSeconds: 900 };
    await installService(patient, machine, { start: true, signal: ignore, run });
    await uninstallService(patient, machine, { signal: ignore, run });
    expect(deadlines.slice(0, 4).every((deadlineMs) => deadlineMs > 900_000)).toBe(true);
  });

  it("is not undone where the manager cannot be reached, and says how to go on", async () => {
    const machine = await machineOf();
    const { file } = await installService(service, machine, { start: true, signal: ignore, run: recorder().run });
    const enabled = join(dirname(file), "multi-user.target.wants");
    await mkdir(enabled);
    await symlink(file, join(enabled, "cairn.service"));
    const run = async () => {
      throw new RuntimeError("RUNTIME_START_FAILED", "no bus");
    };
    await expect(uninstallService(service, machine, { signal: ignore, run })).rejects.toMatchObject({
      details: { hint: expect.stringContaining("Nothing was removed") },
    });
    expect(await readFile(file, "utf8")).toContain("TimeoutStopSec");
  });

  it("is removed where the manager cannot be reached and never had it", async () => {
    const machine = await machineOf();
    const { file } = await installService(service, machine, { start: true, signal: ignore, run: recorder().run });
    const run = async () => {
      throw new RuntimeError("RUNTIME_START_FAILED", "no bus");
    };
    expect(await uninstallService(service, machine, { signal: ignore, run })).toMatchObject({ changed: true });
    await expect(readFile(file)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it.each(["daemon-reload", "enable", "restart"])("leaves nothing behind where %s fails", async (step) => {
    const machine = await machineOf();
    const calls: string[] = [];
    let fails = true;
    const run = async (command: readonly string[]) => {
      calls.push(command.join(" "));
      if (fails && command.includes(step)) {
        fails = false;
        throw new RuntimeError("RUNTIME_START_FAILED", "no bus");
      }
    };
    const options = { start: true, signal: ignore, run };
    await expect(installService(service, machine, options)).rejects.toThrow("no bus");
    const file = join(machine.root, "etc/systemd/system/cairn.service");
    await expect(readFile(file)).rejects.toMatchObject({ code: "ENOENT" });
    expect(calls.slice(-2)).toEqual(["systemctl disable --now cairn.service", "systemctl daemon-reload"]);

    // And a unit that was there is there again.
    await installService(service, machine, options);
    const before = await readFile(file, "utf8");
    fails = true;
    await expect(installService({ ...service, stopSeconds: 900 }, machine, options)).rejects.toThrow("no bus");
    expect(await readFile(file, "utf8")).toBe(before);
  });

  it("names the user of a machine's service", async () => {
    const machine = await machineOf();
    const { run } = recorder();
    const { file } = await installService({ ...service, user: "cairn" }, machine, {
      start: false,
      signal: ignore,
      run,
    });
    expect(await readFile(file, "utf8")).toMatch(/^User=cairn$/m);
  });

  it("leaves the service of another deployment alone, and names its directory", async () => {
    const { dir, ...another } = service;
    for (const platform of ["linux", "darwin"] as const) {
      const machine = { ...(await machineOf()), platform };
      const { calls, run } = recorder();
      const options = { start: true, signal: ignore, run };
      // launchd's folder of the machine is not below a test's root.
      const own = { ...service, scope: "user" } as const;
      const { file } = await installService(own, machine, options);
      const before = await readFile(file, "utf8");
      const done = calls.length;
      await expect(
        installService({ ...another, scope: "user", dir: "/srv/other" }, machine, options),
      ).rejects.toMatchObject({ code: "RUNTIME_CONFLICT", message: expect.stringContaining(dir) });
      await expect(
        uninstallService({ name: own.name, scope: "user", dir: "/srv/other" }, machine, options),
      ).rejects.toMatchObject({
        code: "RUNTIME_CONFLICT",
        details: { hint: expect.stringContaining(`cairn service uninstall --user --name ${own.name} --dir `) },
      });
      expect([await readFile(file, "utf8"), calls.length]).toEqual([before, done]);
    }
  });

  it.each(["linux", "darwin"] as const)(
    "on %s knows its deployment again, whatever its path holds",
    async (platform) => {
      const machine = { ...(await machineOf()), platform };
      const { run } = recorder();
      const options = { start: false, signal: ignore, run };
      const own = { ...service, scope: "user", dir: "/srv/it's 100% <b>&amp;" } as const;
      await installService(own, machine, options);
      expect((await installService(own, machine, options)).changed).toBe(false);
      expect((await uninstallService(own, machine, options)).changed).toBe(true);
    },
  );

  it("knows its deployment by another name of the directory", async () => {
    const [machine, dir] = [await machineOf(), await temporaryDirectory()];
    const alias = join(await temporaryDirectory(), "alias");
    await symlink(dir, alias);
    const options = { start: false, signal: ignore, run: recorder().run };
    await installService({ ...service, scope: "user", dir }, machine, options);
    expect((await installService({ ...service, scope: "user", dir: alias }, machine, options)).changed).toBe(true);
    expect((await uninstallService({ ...service, scope: "user", dir }, machine, options)).changed).toBe(true);
  });

  it("leaves a file of somebody else alone", async () => {
    const machine = await machineOf();
    const file = join(machine.root, "etc/systemd/system/cairn.service");
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, "[Unit]\n");
    const { calls, run } = recorder();
    const options = { start: true, signal: ignore, run };
    await expect(installService(service, machine, options)).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
    await expect(uninstallService(service, machine, options)).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
    expect(await readFile(file, "utf8")).toBe("[Unit]\n");
    expect(calls).toEqual([]);
  });

  it("is undone by uninstalling, which does nothing the second time", async () => {
    const machine = await machineOf("darwin");
    const { calls, run } = recorder();
    const user = { ...service, scope: "user" } as const;
    const { file } = await installService(user, machine, { start: true, signal: ignore, run });
    expect(file).toBe(join(machine.home, "Library/LaunchAgents/cairn.plist"));
    expect((await uninstallService(user, machine, { signal: ignore, run })).changed).toBe(true);
    await expect(readFile(file)).rejects.toMatchObject({ code: "ENOENT" });
    expect(calls).toEqual([`launchctl bootstrap gui/501 ${file}`, "launchctl bootout gui/501/cairn"]);
    expect((await uninstallService(user, machine, { signal: ignore, run })).changed).toBe(false);
  });

  it("says what to do on a machine without a known manager", async () => {
    const machine = await machineOf("freebsd");
    await expect(installService(service, machine, { start: true, signal: ignore })).rejects.toMatchObject({
      details: { hint: expect.stringContaining("--detach") },
    });
  });
});

it("kills above the drain deadline, whatever is configured", () => {
  expect(stopSeconds(60_000, undefined)).toBe(90);
  expect(stopSeconds(60_000, 10_000)).toBe(90);
  expect(stopSeconds(60_000, 600_000)).toBe(600);
});

it.each(["../x", "a b", "", "-x", "a;b"])("refuses %j as a service's name", (name) => {
  expect(() => serviceName(name)).toThrow(/no name of a service/);
});

it("on the command line writes a unit for the deployment and runs the user's manager", async () => {
  const cli = await createCli();
  const bin = await temporaryDirectory();
  const log = join(bin, "calls");
  await writeFile(join(bin, "systemctl"), `#!/bin/sh\necho "$@" >> ${log}\n`, { mode: 0o755 });
  const env = { PATH: `${bin}:${process.env.PATH}`, XDG_CONFIG_HOME: join(bin, "config") };
  const { code, stdout } = await cli.run(["service", "install", "--user", "--json"], { env });
  expect(code).toBe(0);
  const result = JSON.parse(stdout);
  expect(result).toMatchObject({ name: "cairn", scope: "user", changed: true, started: true });
  const unit = await readFile(result.file, "utf8");
  expect(unit).toContain(`WorkingDirectory=${cli.home}`);
  expect(unit).toContain(`"SERVICE_HOME=${cli.home}"`);
  expect(await readFile(log, "utf8")).toBe(
    "--user daemon-reload\n--user enable cairn.service\n--user restart cairn.service\n",
  );
});

/** Splits a command line as systemd does: quotes, C-style escapes, `%%`, `$$`. */
function readWords(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, body = ""]) =>
    body.replaceAll(/\\(.)/g, "$1").replaceAll("%%", "%").replaceAll("$$", "$"),
  );
}
