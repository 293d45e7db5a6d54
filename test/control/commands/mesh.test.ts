import { existsSync } from "node:fs";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { writeJoinToken } from "../../../runtime/contracts/join-token.ts";
import { createCli } from "../../support/cli.ts";
import { MINIMAL } from "../../support/deployment.ts";

describe("mesh list", () => {
  it("shows who runs and hosts what, and which node answers", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stdout } = await cli.run(["mesh", "list"]);
    expect(code).toBe(0);
    expect(stdout).toBe(
      "NODE             STATE    VERSION  SCHEMA  HOSTS        ADDRESS\n" +
        "attic            offline  0.1.0    22      -            -\n" +
        "box\\u001b[31m *  online   0.1.0    22      main, other  https://box:7433\n",
    );
  });
});

describe("mesh ping", () => {
  it("says of each node how long it took, or why it has not answered, which fails", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stdout } = await cli.run(["mesh", "ping"]);
    expect(code).toBe(1);
    expect(stdout).toBe(
      "NODE   PING  CLOCK  REASON\n" + "attic  no    -      No node answers at https://attic:7433 (ECONNREFUSED).\n",
    );
  });

  it("names a node that there is not", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stderr } = await cli.run(["mesh", "ping", "shed"]);
    expect(code).toBe(1);
    expect(stderr).toContain("There is no other node shed in the fleet.");
  });
});

describe("mesh status", () => {
  it("shows what is wrong first, then every node", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stdout } = await cli.run(["mesh", "status"]);
    expect(code).toBe(1);
    const lines = stdout.split("\n");
    expect(lines[0]).toBe("attic: ended, or lost the database, without saying so");
    expect(lines[1]).toContain("cairn logs");
    expect(lines[3]).toMatch(/^NODE +STATE +VERSION +SCHEMA +HOSTS +HEARD +PING +ADDRESS +CERTIFICATE$/);
    expect(lines[4]).toMatch(/^attic +offline +0\.1\.0 +22 +- +2 min \d+ s ago +no +- +-$/);
    expect(lines[5]).toMatch(/^box\\u001b\[31m \* +online +0\.1\.0 +22 +main, other +now +- +https:\/\/box:7433 +-$/);
  });
});

const JOIN_TOKEN = writeJoinToken({
  url: "https://nova.example.org:7500",
  node: "0123456789abcdef0123456789abcdef",
  pins: [Array.from({ length: 32 }, () => "AB").join(":")],
  expires_at: "2100-01-01T00:00:00.000Z",
  secret: "s".repeat(43),
});

describe("mesh token", () => {
  it("prints the token alone, and says beside it where it is good, and until when", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stdout, stderr } = await cli.run(["mesh", "token"]);
    expect([code, stdout]).toEqual([0, "cairn-join-x\n"]);
    expect(stderr).toBe(
      "Lets one node join at https://box:7433 until 2030-01-01T00:00:00.000Z. It is shown only once.\n",
    );
  });

  it("needs a node that runs", async () => {
    const cli = await createCli();
    expect(await cli.run(["mesh", "token"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("No node is running"),
    });
  });
});

describe("mesh join", () => {
  it("sets a node up that does not run, which joins at its next start", async () => {
    const cli = await createCli();
    const { code, stdout } = await cli.run(
      ["mesh", "join", "nova", "--advertise", "iris:7433", "--name", "iris", "--token-file", "-"],
      { input: `${JOIN_TOKEN}\n` },
    );
    expect(code).toBe(0);
    expect(stdout).toContain("The node joins at its next start");
    expect(parse(await readFile(join(cli.home, "cairn.yaml"), "utf8")).mesh).toEqual({
      enabled: true,
      name: "iris",
      advertise: "iris:7433",
      seeds: ["nova:7500"],
    });
    const file = join(cli.home, "join.json");
    expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject({ token: JOIN_TOKEN, url: "https://nova:7500" });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it("joins at once where the node runs with the mesh on, and writes the other node among the seeds", async () => {
    const cli = await createCli();
    await writeFile(join(cli.home, "cairn.yaml"), `${MINIMAL}mesh: { enabled: true, advertise: "iris:7433" }\n`);
    await writeFile(join(cli.home, "token"), JOIN_TOKEN, { mode: 0o600 });
    await cli.node();
    const { code, stdout, stderr } = await cli.run(["mesh", "join", "--token-file", join(cli.home, "token")]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("Joined. The other members: nova.");
    expect(parse(await readFile(join(cli.home, "cairn.yaml"), "utf8")).mesh.seeds).toEqual(["nova.example.org:7500"]);
  });

  it("takes no token from an argument, and none that is none; without a terminal it asks nothing", async () => {
    const cli = await createCli();
    const token = ["mesh", "join", "nova", "--token-file", "-"];
    expect(await cli.run(["mesh", "join", "nova"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--token-file"),
    });
    const asArgument = [
      ["mesh", "join", "nova", JOIN_TOKEN],
      ["mesh", "join", JOIN_TOKEN],
      ["mesh", "join", "nova", "--token-file", JOIN_TOKEN],
      ["init", "--yes", "--join", "nova", "--token-file", JOIN_TOKEN],
      ["init", "--yes", "--join", JOIN_TOKEN, "--token-file", "-"],
    ];
    for (const argv of asArgument) {
      const { code, stdout, stderr } = await cli.run(argv);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toMatch(/other users of this machine can see it/);
      expect(stderr).toContain("--token-file FILE");
      expect(stderr).not.toContain(JOIN_TOKEN);
    }
    expect(await cli.run(token, { input: "cairn_other\n" })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("That is no token for joining"),
    });
    expect(await cli.run(["mesh", "join", "http://nova", "--token-file", "-"], { input: JOIN_TOKEN })).toMatchObject({
      code: 2,
    });
    expect(await readFile(join(cli.home, "cairn.yaml"), "utf8")).toBe(MINIMAL);
  });
});

describe("init --join", () => {
  it("makes a deployment whose node joins at its first start", async () => {
    const cli = await createCli({ configured: false });
    const argv = [
      "init",
      "--yes",
      "--provider",
      "offline",
      "--join",
      "nova:7600",
      "--join-as",
      "iris",
      "--token-file",
      "-",
    ];
    const { code, stdout } = await cli.run([...argv, "--advertise", "iris:7433", "--json"], { input: JOIN_TOKEN });
    expect(code).toBe(0);
    expect(JSON.parse(stdout).notes.join()).toContain("joins the mesh of nova:7600 at its first start");
    expect(JSON.parse(stdout).url).toMatch(/^https:/);
    const { mesh } = parse(await readFile(join(cli.home, "cairn.yaml"), "utf8"));
    expect(mesh).toEqual({ enabled: true, name: "iris", advertise: "iris:7433", seeds: ["nova:7600"] });
    expect(JSON.parse(await readFile(join(cli.home, "join.json"), "utf8"))).toMatchObject({ url: "https://nova:7600" });
  });

  it("writes nothing without a token, nor for nodes of a target", async () => {
    const cli = await createCli({ configured: false });
    const init = ["init", "--yes", "--join", "nova"];
    expect(await cli.run(init)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("The token cannot be asked for"),
    });
    expect(await cli.run([...init, "--target", "docker", "--token-file", "-"], { input: JOIN_TOKEN })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("share a database"),
    });
    expect(existsSync(join(cli.home, "cairn.yaml"))).toBe(false);
  });
});

describe("mesh leave and mesh revoke", () => {
  it("want the node's name once more, and change nothing for another one, or without a terminal", async () => {
    const cli = await createCli();
    await cli.node();
    expect(await cli.run(["mesh", "revoke", "attic"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--confirm attic"),
    });
    expect(await cli.run(["mesh", "revoke", "attic", "--confirm", "box"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("nothing was changed"),
    });
    expect(await cli.run(["mesh", "leave", "--confirm", "attic"])).toMatchObject({ code: 2 });
    const revoked = await cli.run(["mesh", "revoke", "attic", "--confirm", "attic"]);
    expect(revoked.stdout).toBe(
      `attic (${"1".repeat(32)}) is revoked. One member knows of it; the others hear of it from them.\n` +
        "It had admitted nova, shed, who stay: revoke whom you do not know as well.\n",
    );
  });
});
