/** Every value reaches a command as exactly one argument, through each of the layers, read by the real shell. */

import { execFileSync } from "node:child_process";
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ensureContainer } from "../../../../infra/components/proxmox/container-scripts.ts";
import type { CtSpec } from "../../../../infra/components/proxmox/ct.ts";
import { ensureCt } from "../../../../infra/components/proxmox/ct-scripts.ts";
import { ensureImage, inCt } from "../../../../infra/components/proxmox/docker-scripts.ts";
import { remoteLine } from "../../../../infra/components/proxmox/member.ts";
import { commandLine, locked, quote } from "../../../../infra/components/proxmox/shell.ts";

/** Writes how many arguments it has, its name and them, a NUL after each, and answers what the scripts ask. */
const RECORDER = `#!/bin/sh
printf '%s\\0' "$#" "\${0##*/}" "$@" >>"$RECORD"
case "\${0##*/} $1" in
  'pct config') exit 2 ;;
  'pct status') [ ! -e "$RECORD.started" ] || echo 'status: running' ;;
  'pct start') : >"$RECORD.started" ;;
  'pveam list') printf '%s  1MB\\n' "$TEMPLATE" ;;
  'sudo '*) shift 2; exec "$@" ;;
  # As sshd does: a shell reads the last argument.
  'ssh '*) for line; do :; done; exec /bin/sh -c "$line" ;;
esac
exit 0
`;
const PROGRAMS = ["pct", "pveam", "pvesh", "sudo", "ssh", "record"];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cairn-shell-"));
  writeFileSync(join(folder, "input.txt"), "\n");
  for (const name of PROGRAMS) {
    writeFileSync(join(folder, name), RECORDER);
    chmodSync(join(folder, name), 0o755);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a line as sshd would, and returns what each program was given. */
function recorded(line: string, environment: Record<string, string> = {}): { program: string; args: string[] }[] {
  const record = join(folder, "record.txt");
  for (const path of [record, `${record}.started`]) rmSync(path, { force: true });
  // A file, not a pipe: what ends without reading would break it.
  const input = openSync(join(folder, "input.txt"), "r");
  try {
    execFileSync("/bin/sh", ["-c", line], {
      env: { PATH: `${folder}:/usr/bin:/bin`, RECORD: record, TEMPLATE: "local:vztmpl/t", ...environment },
      stdio: [input, "ignore", "pipe"],
    });
  } finally {
    closeSync(input);
  }
  const words = readFileSync(record, "utf8").split("\0").slice(0, -1);
  const calls: { program: string; args: string[] }[] = [];
  for (let at = 0; at < words.length; at += Number(words[at]) + 2) {
    calls.push({ program: words[at + 1] ?? "", args: words.slice(at + 2, at + 2 + Number(words[at])) });
  }
  return calls;
}

describe("values in shell text", () => {
  it("arrive as they were through quoting, sudo, the lock and pct exec", () => {
    fc.assert(
      fc.property(fc.array(argument(), { maxLength: 20 }), (args) => {
        const inner = inCt({ vmid: 700 }, ["record", ...args]);
        const line = remoteLine({ user: "ops", member: null }, locked(`test-${process.pid}`, inner));
        expect(recorded(line).at(-1)).toEqual({ program: "pct", args: ["exec", "700", "--", "record", ...args] });
      }),
      { numRuns: 8, examples: [[["a; rm -rf /", "'", "$(id)", "a\nb\n"]]] },
    );
  });

  it("arrive as they were through the hop to a member, which is this host", () => {
    const member = execFileSync("/bin/sh", ["-c", "uname -n | cut -d. -f1"], { encoding: "utf8" }).trim();
    fc.assert(
      fc.property(fc.array(argument(), { minLength: 1, maxLength: 12 }), (args) => {
        const line = remoteLine({ user: "root", member }, ["record", ...args]);
        expect(recorded(line)).toEqual([{ program: "record", args }]);
      }),
      { numRuns: 8 },
    );
  });

  it("arrive as they were on another member, reached by its address and its own key", () => {
    const cluster = join(folder, "cluster");
    mkdirSync(join(cluster, "nodes", "pve2"), { recursive: true });
    writeFileSync(join(cluster, "nodes", "pve2", "ssh_known_hosts"), "");
    const members = { pve1: { id: 1, online: 1, ip: "10.0.0.1" }, pve2: { id: 2, online: 1, ip: "10.0.0.2" } };
    const lines = Object.entries(members).map(
      ([name, member]) => `  "${name}": ${JSON.stringify(member).replaceAll(",", ", ")}`,
    );
    writeFileSync(join(cluster, ".members"), `{\n"nodename": "pve1",\n"nodelist": {\n${lines.join(",\n")}\n  }\n}\n`);
    fc.assert(
      fc.property(fc.array(argument(), { minLength: 1, maxLength: 12 }), (args) => {
        const [ssh, there] = recorded(remoteLine({ user: "root", member: "pve2", cluster }, ["record", ...args]));
        expect(ssh?.args).toEqual(
          expect.arrayContaining(["root@10.0.0.2", "HostKeyAlias=pve2", "StrictHostKeyChecking=yes"]),
        );
        expect(there).toEqual({ program: "record", args });
      }),
      { numRuns: 8 },
    );
    expect(() => recorded(remoteLine({ user: "root", member: "pve3", cluster }, ["record"]))).toThrow(
      /INFRA_HOST_UNREACHABLE/,
    );
  });

  it("of a CT's settings arrive at pct create as one argument each, and at nothing else", () => {
    const key = fc.constantFrom("hostname", "nameserver", "description", "tags");
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(key, argument(1)), { selector: ([name]) => name, minLength: 1 }), (pairs) => {
        const spec = ct(Object.fromEntries(pairs));
        const calls = recorded(commandLine(ensureCt(spec)));
        const create = calls.find(({ args }) => args[0] === "create");
        const options = Object.entries(spec.settings).flatMap(([name, value]) => [`--${name}`, value]);
        const fixed = ["create", "700", "local:vztmpl/t", "--rootfs", "s:8", "--unprivileged", "1"];
        expect(create?.args).toEqual([...fixed, ...options]);
        expect(new Set(calls.map(({ program }) => program))).toEqual(new Set(["pct", "pvesh", "pveam"]));
      }),
      { numRuns: 8 },
    );
  });

  it("of a container and of an image arrive inside the CT as they were", () => {
    fc.assert(
      fc.property(fc.array(argument(), { minLength: 1, maxLength: 12 }), argument(1), (args, name) => {
        const container = {
          name,
          configuration: "/c",
          fileGroup: 0,
          stopTimeoutS: 1,
          arguments: args,
        };
        const call = recorded(commandLine(ensureContainer(ct({}), container))).at(-1);
        expect(call?.args.slice(0, 5)).toEqual(["exec", "700", "--", "/bin/sh", "-c"]);
        expect(call?.args[7]).toBe(name);
        expect(call?.args.slice(-args.length)).toEqual(args);
        const image = recorded(commandLine(ensureImage(ct({}), { name, file: null, pull: name })))[0];
        expect(image?.args).toEqual(["exec", "700", "--", "docker", "image", "inspect", name]);
      }),
      { numRuns: 8 },
    );
  });

  it("are refused with a NUL, and when they are more than a host takes", () => {
    expect(() => quote("a\0b")).toThrow(expect.objectContaining({ code: "INFRA_PLAN_INVALID" }));
    expect(() => commandLine(["x".repeat(200_000)])).toThrow(expect.objectContaining({ code: "INFRA_PLAN_INVALID" }));
  });
});

function ct(settings: Record<string, string>): CtSpec {
  return {
    vmid: 700,
    member: null,
    stack: "s",
    role: "one",
    template: "local:vztmpl/t",
    storage: "s",
    diskGiB: 8,
    unprivileged: true,
    settings,
    directories: [],
    stopTimeoutS: 5,
    intentFile: join(folder, "intent", "x"),
    appliedFile: join(folder, "intent", "y"),
  };
}

/** Anything but NUL, which no argument of a process can hold. */
function argument(minLength = 0): fc.Arbitrary<string> {
  const unusual = fc.constantFrom(
    "a; rm -rf /",
    "'",
    "''",
    '"',
    "$(id)",
    "`id`",
    "\n",
    "a\n\n",
    "\\",
    "-e",
    "",
    "*",
    "é😀",
  );
  return fc
    .oneof(unusual, fc.string({ unit: character(), maxLength: 40 }))
    .map((text) => text.replaceAll("\0", "").toWellFormed())
    .filter((text) => text.length >= minLength);
}

/** Of all of Unicode's first plane; the library's own units take seconds to be made. */
function character(): fc.Arbitrary<string> {
  return fc.integer({ min: 1, max: 0xffff }).map((code) => String.fromCharCode(code));
}
