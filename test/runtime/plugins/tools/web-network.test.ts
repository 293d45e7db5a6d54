/** Lookups of the web tools, which cannot be aborted: how many are under way at once. */

import { expect, it } from "vitest";
import { createSystemNetwork } from "../../../../runtime/plugins/tools/index.ts";

it("has two lookups under way, and those that wait for one end with their signal", async () => {
  const started = new Map<string, PromiseWithResolvers<readonly string[]>>();
  const network = createSystemNetwork((host) => {
    const lookup = Promise.withResolvers<readonly string[]>();
    started.set(host, lookup);
    return lookup.promise;
  });
  const calls = new AbortController();
  const never = new AbortController().signal;
  const first = network.resolve("a.example", calls.signal);
  const second = network.resolve("b.example", never);
  const third = network.resolve("c.example", calls.signal);
  const fourth = network.resolve("d.example", never);
  await expect.poll(() => [...started.keys()]).toEqual(["a.example", "b.example"]);
  calls.abort(new Error("stopped"));
  await expect(third).rejects.toThrow("stopped");
  expect([...started.keys()]).toEqual(["a.example", "b.example"]);
  started.get("a.example")?.resolve(["192.0.2.1"]);
  expect(await first).toEqual(["192.0.2.1"]);
  await expect.poll(() => [...started.keys()]).toEqual(["a.example", "b.example", "d.example"]);
  started.get("b.example")?.reject(Object.assign(new Error("none"), { code: "ENOTFOUND" }));
  await expect(second).rejects.toThrow("none");
  started.get("d.example")?.resolve([]);
  expect(await fourth).toEqual([]);
});
