import { X509Certificate } from "node:crypto";
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { certificatePin } from "../../../runtime/contracts/certificates.ts";
import type { Logger } from "../../../runtime/contracts/ports.ts";
import { homePaths } from "../../../runtime/host/home.ts";
import { checkOwnCertificate, ownCertificate } from "../../../runtime/host/own-certificate.ts";
import { identity } from "../../support/certificates.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

const DAY_MS = 86_400_000;
const NOW = new Date();
const later = (days: number) => new Date(NOW.getTime() + days * DAY_MS);

/** A home, and a start of its node at some time under some names. */
async function home(path?: string) {
  const files = homePaths(path ?? (await temporaryDirectory()));
  const said: string[] = [];
  const logger: Logger = {
    debug: () => {},
    info: (_fields, message) => void said.push(`info ${message}`),
    warn: (_fields, message) => void said.push(`warn ${message}`),
    error: () => {},
    child: () => logger,
  };
  const start = async (now = NOW, hosts: readonly string[] = ["127.0.0.1"]) => {
    const made = await ownCertificate({ files, hosts, now, logger });
    return { ...made, pin: certificatePin(made.cert) };
  };
  return { files, said, start };
}

describe("a certificate of the node's own", () => {
  it("is made at the first start, for loopback and the names that the node has, and kept", async () => {
    const { files, said, start } = await home();
    const made = await start(NOW, ["0.0.0.0", "Box.Example.org", "[fd00::1%eth0]", "10.0.0.5"]);
    const certificate = new X509Certificate(made.cert);
    for (const name of ["localhost", "box.example.org"]) expect(certificate.checkHost(name)).toBe(name);
    for (const ip of ["127.0.0.1", "::1", "fd00::1", "10.0.0.5"]) expect(certificate.checkIP(ip)).toBe(ip);
    expect(certificate.checkIP("0.0.0.0")).toBeUndefined();
    expect({
      ca: certificate.ca,
      use: certificate.keyUsage,
      curve: certificate.publicKey.asymmetricKeyDetails,
    }).toEqual({
      ca: false,
      use: ["1.3.6.1.5.5.7.3.1"],
      curve: { namedCurve: "prime256v1" },
    });
    expect(((await stat(files.certificateKeys)).mode & 0o777).toString(8)).toBe("600");
    expect(await readFile(files.certificates, "utf8")).not.toContain("PRIVATE");
    // Names that are no more the node's do no harm: a pin is not given up for them.
    expect(await start()).toEqual(made);
    expect(said).toEqual(["info a certificate was made for the node"]);
  });

  it("is followed by the one that was announced before, and by none that was not", async () => {
    const { files, said, start } = await home();
    const first = await start();
    const bundle = await readFile(files.certificates, "utf8");
    expect(bundle.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
    const renewed = await start(later(500));
    expect(renewed.pin).toBe(first.nextPin);
    expect(bundle).toContain(renewed.cert);
    expect(await readFile(files.certificates, "utf8")).toContain(renewed.cert);
    expect(await start(later(501))).toEqual(renewed);
    expect((await start(later(3_000))).pin).not.toBe(renewed.nextPin);
    expect(said.map((line) => line.split(":")[0])).toEqual([
      "info a certificate was made for the node",
      "info the certificate of the node was renewed",
      "warn the certificate of the node was made anew, for other names or after its time",
    ]);
  });

  it("is another one under another name, and still one for a restored home", async () => {
    const { files, start } = await home();
    const first = await start();
    const named = await start(NOW, ["box.example.org"]);
    expect(named.pin).not.toBe(first.pin);
    expect(new X509Certificate(named.cert).checkHost("box.example.org")).toBeDefined();
    const restored = await home();
    await writeFile(restored.files.certificateKeys, await readFile(files.certificateKeys));
    expect(await restored.start(NOW, ["box.example.org"])).toEqual(named);
    expect(await readFile(restored.files.certificates, "utf8")).toContain(named.cert);
  });

  it.each([
    ["cut in half", (text: string) => text.slice(0, text.length / 2)],
    ["empty", () => ""],
    [
      "with the key of another one",
      (text: string, other: string) => other + text.slice(text.indexOf("-----BEGIN CERT")),
    ],
  ])("is made anew where its file is damaged: %s", async (_how, damage) => {
    const { files, said, start } = await home();
    const first = await start();
    const text = await readFile(files.certificateKeys, "utf8");
    await writeFile(files.certificateKeys, damage(text, (await identity()).key));
    const again = await start();
    expect(again.pin).not.toBe(first.pin);
    expect(await start()).toEqual(again);
    expect(said[1]).toContain("warn the certificate of the node was damaged");
  });

  it("is kept where an editor changed nothing but the ends of its lines, and its public copy comes back", async () => {
    const { files, start } = await home();
    const first = await start();
    await writeFile(files.certificateKeys, (await readFile(files.certificateKeys, "utf8")).trimEnd());
    await rm(files.certificates);
    expect(await start()).toEqual(first);
    expect(await readFile(files.certificates, "utf8")).toContain(first.cert);
  });

  it("is refused where the file cannot be read: that is nothing a new one would mend", async () => {
    const { files, start } = await home();
    await mkdir(files.certificateKeys);
    const refused = { code: "CONFIG_UNREADABLE", message: expect.stringContaining(files.certificateKeys) };
    await expect(start()).rejects.toMatchObject(refused);
    await expect(checkOwnCertificate(files)).rejects.toMatchObject(refused);
  });

  it("is not made by a look at it", async () => {
    const { files } = await home();
    await checkOwnCertificate(files);
    await expect(stat(files.certificateKeys)).rejects.toMatchObject({ code: "ENOENT" });
  });
});
