import { describe, expect, test, vi } from "vitest";
import { assertSafeListen, isLoopback, listenOn } from "../../../runtime/http/index.ts";
import { OWNER_TOKEN } from "../../support/fake-application.ts";
import { listening, startServer } from "../../support/http-server.ts";

describe("where the server listens", () => {
  test("localhost is one address, so that no second server is made without our limits", async () => {
    const { server } = startServer();
    const listen = vi.spyOn(server, "listen");
    const { url } = await listenOn(server, { host: "localhost", port: 0 }, OWNER_TOKEN);
    expect(listen.mock.calls[0]?.[0]).toMatchObject({ host: expect.stringMatching(/^(127\.0\.0\.1|::1)$/) });
    expect(server.addresses()).toHaveLength(1);
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
  });

  test.each([
    ["127.0.0.1", true],
    ["127.8.9.1", true],
    ["localhost", true],
    ["LOCALHOST", true],
    ["::1", true],
    ["[::1]", true],
    ["::ffff:127.0.0.1", true],
    ["0.0.0.0", false],
    ["::", false],
    ["192.168.0.2", false],
    ["127.0.0.1.evil.example", false],
    ["cairn.example", false],
  ])("%s is loopback: %s", (host, loopback) => {
    expect(isLoopback(host)).toBe(loopback);
  });

  test("never with a token that could be guessed, and beyond loopback not without one", () => {
    const unsafe = expect.objectContaining({ code: "RUNTIME_UNSAFE_LISTEN" });
    for (const host of ["0.0.0.0", "127.0.0.1", "localhost", "::1"]) {
      for (const token of ["abc", "fifteen-letters"]) expect(() => assertSafeListen(host, token)).toThrow(unsafe);
      for (const token of ["sixteen--letters", OWNER_TOKEN]) expect(() => assertSafeListen(host, token)).not.toThrow();
    }
    for (const token of [undefined, ""]) {
      expect(() => assertSafeListen("0.0.0.0", token)).toThrow(unsafe);
      expect(() => assertSafeListen("127.0.0.1", token)).not.toThrow();
    }
  });

  test("an open address without a token is never bound", async () => {
    const { server } = startServer();
    await expect(listenOn(server, { host: "0.0.0.0", port: 0 }, undefined)).rejects.toMatchObject({
      code: "RUNTIME_UNSAFE_LISTEN",
    });
    expect(server.server.listening).toBe(false);
  });

  test("a port that is taken is named", async () => {
    const { port } = new URL(await listening(startServer()));
    const { server } = startServer();
    const second = listenOn(server, { host: "127.0.0.1", port: Number(port) }, undefined);
    await expect(second).rejects.toMatchObject({
      code: "RUNTIME_ALREADY_RUNNING",
      message: expect.stringContaining(port),
    });
  });

  test("an address of another machine is a mistake in the configuration", async () => {
    const { server } = startServer();
    await expect(listenOn(server, { host: "192.0.2.1", port: 0 }, OWNER_TOKEN)).rejects.toMatchObject({
      code: "CONFIG_INVALID",
    });
  });
});
