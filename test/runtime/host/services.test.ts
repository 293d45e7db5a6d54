import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { type Service, Services } from "../../../runtime/host/services.ts";

/** Notes what is done to it; `fails` names the steps that throw. */
function noted(log: string[], name: string, ...fails: readonly (keyof Service)[]): Service {
  const step = (which: keyof Service) => async () => {
    log.push(`${which} ${name}`);
    if (fails.includes(which)) throw new Error(`${name} cannot ${which}`);
  };
  return { name, start: step("start"), drain: step("drain"), stop: step("stop") };
}

const quiet = () => new Services(pino({ level: "silent" }));

describe("services", () => {
  it("start in order, drain all in reverse before the first one stops, and stop in reverse", async () => {
    const log: string[] = [];
    const services = quiet();
    await services.start([noted(log, "store"), noted(log, "turns")]);
    await services.start([noted(log, "channels")]);
    expect(log).toEqual(["start store", "start turns", "start channels"]);
    log.length = 0;
    await services.stop();
    expect(log).toEqual(["drain channels", "drain turns", "drain store", "stop channels", "stop turns", "stop store"]);
  });

  it("stops those that run when one fails to start, and reports its error rather than theirs", async () => {
    const log: string[] = [];
    const services = quiet();
    services.add(noted(log, "home"));
    await services.start([noted(log, "store", "stop")]);
    const starting = services.start([noted(log, "turns"), noted(log, "channels", "start"), noted(log, "never")]);
    await expect(starting).rejects.toThrow("channels cannot start");
    expect(log.slice(log.indexOf("start channels") + 1)).toEqual([
      "drain turns",
      "drain store",
      "drain home",
      "stop turns",
      "stop store",
      "stop home",
    ]);
  });

  it("stops every service although one fails to drain and one to stop, and then says what failed first", async () => {
    const log: string[] = [];
    const services = quiet();
    await services.start([noted(log, "store"), noted(log, "server", "drain"), noted(log, "turns", "stop")]);
    await expect(services.stop()).rejects.toThrow("server cannot drain");
    expect(log.slice(3)).toEqual([
      "drain turns",
      "drain server",
      "drain store",
      "stop turns",
      "stop server",
      "stop store",
    ]);
  });

  it("ends a start that waits when it is asked to stop, and starts nothing after it", async () => {
    const log: string[] = [];
    const services = quiet();
    const begun = Promise.withResolvers<void>();
    const waits: Service = {
      name: "schema",
      start(signal) {
        begun.resolve();
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
      stop: () => void log.push("stop schema"),
    };
    const starting = services.start([noted(log, "store"), waits, noted(log, "turns")]);
    const refused = expect(starting).rejects.toThrow("aborted");
    await begun.promise;
    await services.stop();
    await refused;
    expect(log).toEqual(["start store", "drain store", "stop store"]);
  });

  it("ends once, however often it is asked", async () => {
    const log: string[] = [];
    const services = quiet();
    await services.start([noted(log, "store")]);
    await Promise.all([services.stop(), services.stop()]);
    await services.stop();
    expect(log).toEqual(["start store", "drain store", "stop store"]);
  });

  it("starts nothing after it has stopped", async () => {
    const log: string[] = [];
    const services = quiet();
    await services.stop();
    await expect(services.start([noted(log, "store")])).rejects.toThrow("aborted");
    expect(log).toEqual([]);
  });
});
