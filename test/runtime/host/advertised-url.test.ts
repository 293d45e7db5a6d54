import { expect, it } from "vitest";
import { advertisedHost, advertisedUrl } from "../../../runtime/host/settings.ts";
import { inspectText } from "../../support/deployment.ts";

it.each([
  ["node-2.example.org:8000", "auto", "https://node-2.example.org:8000", "node-2.example.org"],
  ["node-2.example.org", "auto", "https://node-2.example.org:7433", "node-2.example.org"],
  ["node-2.example.org", "off", "http://node-2.example.org:7433", "node-2.example.org"],
  ["'[fd00::5]'", "auto", "https://[fd00::5]:7433", "[fd00::5]"],
  ["https://cairn.example.org", "off", "https://cairn.example.org", "cairn.example.org"],
])("%s with runtime.tls %s is %s", async (advertise, tls, url, host) => {
  const { loaded } = await inspectText(
    `version: 1\nagents: { main: {} }\nproviders: { offline: {} }\nruntime: { tls: ${tls} }\nmesh: { advertise: ${advertise} }\n`,
  );
  if (!loaded) throw new Error("the configuration is not valid");
  expect([advertisedUrl(loaded), advertisedHost(loaded)]).toEqual([url, host]);
});
