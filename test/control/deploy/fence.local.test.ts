/** The script that a node's host compares tokens with: what it refuses, that it waits for its turn, and its way through shells. */

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { fencedCommand, forgetCommand, throwIfFenced } from "../../../control/deploy/fence.ts";
import { remoteLine } from "../../../infra/components/proxmox/member.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

const token = (lease: number, command: number, fleet = "3a1f") => ({ fleet, lease, command });
const fence = (given: ReturnType<typeof token>, node = "a") => ({ stack: "lab", node, token: given });

async function newHost() {
  const home = await temporaryDirectory();
  const bin = join(home, "bin");
  mkdirSync(bin);
  const sudo = '#!/bin/sh\n[ "$1 $2" = "-n --" ] || exit 9\nshift 2\nHOME=$ROOT_HOME exec "$@"\n';
  writeFileSync(join(bin, "sudo"), sudo, { mode: 0o755 });
  const env = { PATH: `${bin}:${process.env.PATH}`, HOME: home, ROOT_HOME: join(home, "root") };
  const run = (words: readonly string[]): string => {
    const [program = "", ...args] = words;
    return execFileSync(program, args, { encoding: "utf8", env });
  };
  return { home, env, run };
}

describe("a command with a token", () => {
  it("runs, unless a newer token of the same fleet was there for the same node", async () => {
    const { home, run } = await newHost();
    const file = join(home, "ran");
    const act = (given: ReturnType<typeof token>, node = "a") => {
      writeFileSync(file, "no");
      const stdout = run(fencedCommand(fence(given, node), ["sh", "-c", 'printf yes >"$1"; echo noise', "x", file]));
      throwIfFenced(stdout, { node });
      return readFileSync(file, "utf8");
    };
    expect(act(token(3, 7))).toBe("yes");
    // A repetition of the same command.
    expect(act(token(3, 7))).toBe("yes");
    for (const older of [token(3, 6), token(2, 99)]) {
      expect(() => act(older)).toThrow(expect.objectContaining({ code: "INFRA_LOCKED" }));
      expect(readFileSync(file, "utf8")).toBe("no");
    }
    expect(act(token(3, 6), "b")).toBe("yes");
    expect(act(token(1, 1, "77c0"))).toBe("yes");
    expect(act(token(4, 1))).toBe("yes");
  });

  it("is refused also where a login shell writes lines of its own before", () => {
    const shell = "Welcome to the host\n";
    for (const [said, code] of [
      ["cairn-fence: older", "INFRA_LOCKED"],
      ["cairn-fence: busy", "INFRA_HOST_UNREACHABLE"],
    ]) {
      const act = () => throwIfFenced(`${shell}${said}\n`, { node: "a" });
      expect(act).toThrow(expect.objectContaining({ code }));
    }
    expect(() => throwIfFenced(shell, { node: "a" })).not.toThrow();
  });

  it("is forgotten with its node, and with no other one", async () => {
    const { home, run } = await newHost();
    for (const node of ["a", "a.b"]) run(fencedCommand(fence(token(3, 7), node), ["true"]));
    run(forgetCommand({ stack: "lab", node: "a" }));
    expect(readdirSync(join(home, ".local/state/cairn/fences")).sort()).toEqual(["lab.a.b", "lab.a.b.lock"]);
    run(forgetCommand({ stack: "lab", node: "never" }));
  });

  it("waits until the one before it has ended", async () => {
    const { home, env } = await newHost();
    const file = join(home, "order");
    const start = (lease: number, script: string) => {
      const [program = "", ...args] = fencedCommand(fence(token(lease, 1)), ["sh", "-c", script, "x", file]);
      return spawn(program, args, { env, stdio: ["pipe", "ignore", "pipe"] });
    };
    const first = start(1, 'echo one >>"$1"; echo began >&2; read -r _; echo two >>"$1"');
    await once(first.stderr, "data");
    const second = start(2, 'echo three >>"$1"');
    const ended = once(second, "exit");
    await sleep(500);
    first.stdin.end("go on\n");
    expect(await ended).toEqual([0, null]);
    expect(readFileSync(file, "utf8")).toBe("one\ntwo\nthree\n");
  });

  it("goes whole through sudo and the shell of another member of a cluster", async () => {
    const { home, run } = await newHost();
    const file = join(home, "words");
    const unusual = ["it's", 'a "b"', "$HOME", "a\nb", "*"];
    const words = fencedCommand(fence(token(1, 1)), [
      "sh",
      "-c",
      'f=$1; shift; printf "%s|" "$@" >"$f"',
      "x",
      file,
      ...unusual,
    ]);
    const member = hostname().split(".")[0] ?? "";
    for (const place of [
      { user: "ops", member: null },
      { user: "ops", member },
      { user: "root", member },
    ]) {
      writeFileSync(file, "");
      expect(run(["sh", "-c", remoteLine(place, words)])).toBe("");
      expect(readFileSync(file, "utf8")).toBe(`${unusual.join("|")}|`);
    }
    // Root's own: whichever user the operator logs in as, the host has one newest token.
    expect(readFileSync(join(home, "root/.local/state/cairn/fences/lab.a"), "utf8")).toBe("3a1f 1 1\n");
  });
});
