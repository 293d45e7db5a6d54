/** The SSH helper against Debian's own server: its refusals, its streams, and words that arrive as they were. */

import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { openSsh, type Ssh, type SshHost } from "../../../../control/deploy/ssh/ssh.ts";
import { commandLine, script } from "../../../../infra/components/proxmox/shell.ts";
import { closedPort } from "../../../support/ports.ts";
import { type SshServer, startSshd } from "../../../support/ssh/sshd.ts";

let server: SshServer;
let ssh: Ssh;
const never = new AbortController().signal;

beforeAll(async () => {
  server = await startSshd();
  ssh = await openSsh(server);
});
afterAll(async () => {
  await ssh?.close();
  await server?.stop();
});

async function failing(host: Partial<SshHost>, line = "true"): Promise<unknown> {
  const other = await openSsh({ ...server, ...host });
  try {
    return await other.run({ line, signal: never }).then(
      () => "no failure",
      (error: unknown) => error,
    );
  } finally {
    await other.close();
  }
}

describe("ssh", () => {
  it("hands each argument over as it was", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(argument(), { minLength: 1, maxLength: 20 }), async (args) => {
        const recorder = script('printf "%s\\0" "$@" | od -An -v -tx1', args);
        const { stdout } = await ssh.run({ line: commandLine(recorder), signal: never });
        const arrived = Buffer.from(stdout.replaceAll(/\s/g, ""), "hex").toString();
        expect(arrived.split("\0").slice(0, -1)).toEqual(args);
      }),
      { numRuns: 4, examples: [[["a; rm -rf /", "'", '"', "$(id)", "a\nb\n", "`id`", "\\", "*", "-n", ""]]] },
    );
  });

  it("refuses a host with another key than the pinned one", async () => {
    const error = await failing({ hostKey: server.otherKey });
    expect(error).toMatchObject({
      code: "INFRA_HOST_KEY_MISMATCH",
      message: expect.stringContaining("another host key"),
    });
  });

  it("refuses a host that has no key of the pinned kind", async () => {
    const rsa = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC7";
    expect(await failing({ hostKey: rsa })).toMatchObject({ code: "INFRA_HOST_KEY_MISMATCH" });
  });

  it("says that the key was refused", async () => {
    const error = await failing({ identityFile: server.strangerFile });
    expect(error).toMatchObject({
      code: "INFRA_HOST_UNREACHABLE",
      message: expect.stringContaining("refused the SSH key"),
    });
  });

  it("says that nobody listens", async () => {
    const error = await failing({ port: await closedPort() });
    expect(error).toMatchObject({ code: "INFRA_HOST_UNREACHABLE", message: expect.stringMatching(/refused|reached/) });
  });

  it("gives up a host that accepts and says nothing, at the deadline", async () => {
    const mute: Server = createServer(() => {}).listen(0, "127.0.0.1");
    await once(mute, "listening");
    const address = mute.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const other = await openSsh({ ...server, port });
    try {
      await expect(other.run({ line: "true", timeoutMs: 500, signal: never })).rejects.toMatchObject({
        code: "INFRA_HOST_UNREACHABLE",
        message: expect.stringContaining("0.5 s"),
      });
    } finally {
      await other.close();
      mute.close();
    }
  });

  it("reads the code that one of our scripts names", async () => {
    const line = commandLine(["/bin/sh", "-c", "echo 'cairn: INFRA_IMAGE_MISSING: no template' >&2; exit 1"]);
    expect(await failing({}, line)).toMatchObject({
      code: "INFRA_IMAGE_MISSING",
      message: expect.stringContaining("no template"),
    });
  });

  it("carries 50 MB of input", async () => {
    const chunk = Buffer.alloc(1024 * 1024, "x");
    const input = Readable.from(
      (function* () {
        for (let count = 0; count < 50; count += 1) yield chunk;
      })(),
    );
    const { stdout } = await ssh.run({ line: "wc -c", input, signal: never });
    expect(Number(stdout)).toBe(50 * 1024 * 1024);
  });

  it("fails when the input breaks in the middle", async () => {
    const input = Readable.from(
      (function* () {
        yield Buffer.alloc(1024);
        throw new Error("the disk is gone");
      })(),
    );
    await expect(ssh.run({ line: "cat >/dev/null", input, signal: never })).rejects.toMatchObject({
      code: "INFRA_FAILED",
    });
  });

  it("ends with its signal in the middle of a stream", async () => {
    const stopping = new AbortController();
    const input = new Readable({
      read() {
        this.push(Buffer.alloc(64 * 1024));
        setTimeout(() => stopping.abort(new Error("enough")), 300).unref();
      },
    });
    await expect(ssh.run({ line: "cat >/dev/null", input, signal: stopping.signal })).rejects.toThrow("enough");
  });

  it("leaves no file behind, also of what still runs when it is closed", async () => {
    const own = await mkdtemp(join(tmpdir(), "cairn-test-"));
    vi.stubEnv("TMPDIR", own);
    const other = await openSsh(server);
    await other.run({ line: "true", signal: never });
    const connecting = other.open("sleep 600");
    const running = other.open("echo runs; exec sleep 600");
    await once(running.stdout, "data");
    expect(await readdir(own)).toHaveLength(1);
    await other.close();
    expect(await Promise.all([connecting.ended, running.ended])).toEqual([null, null]);
    expect(await readdir(own)).toEqual([]);
    await rm(own, { recursive: true });
  });
});

/** Anything but NUL, which no argument of a process can hold. */
function argument(): fc.Arbitrary<string> {
  const unusual = fc.constantFrom(
    "a; rm -rf /",
    "'",
    "''",
    '"',
    "$(id)",
    "`id`",
    "\n",
    "\\",
    "-e",
    "",
    "~",
    "*",
    "é",
    "€ 😀",
  );
  return fc.oneof(unusual, fc.string({ unit: character() })).map((text) => text.replaceAll("\0", "").toWellFormed());
}

/** Of all of Unicode's first plane; the library's own units take seconds to be made. */
function character(): fc.Arbitrary<string> {
  return fc.integer({ min: 1, max: 0xffff }).map((code) => String.fromCharCode(code));
}
