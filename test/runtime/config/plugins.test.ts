/** Plugins in the configuration: kinds that they bring, and settings that their own schema decides. */

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { inspectText, temporaryDirectory } from "../../support/deployment.ts";
import { type PluginFolder, writePlugins } from "../../support/plugin-folders.ts";

const SETTINGS = {
  type: "object",
  additionalProperties: false,
  required: ["place"],
  properties: {
    place: { type: "string" },
    days: { type: "integer", minimum: 1, default: 3 },
    words: { type: "string", writeOnly: true },
    more: { type: "object", properties: { pin: { type: "string", writeOnly: true } } },
  },
};
const FOLDERS: Readonly<Record<string, PluginFolder>> = {
  weather: { kind: "tool", settings: SETTINGS },
  plain: { kind: "tool" },
  pager: { kind: "channel", settings: SETTINGS },
  think: { kind: "provider", settings: SETTINGS },
};
const AGENT = "version: 1\nagents: { main: { provider: offline } }\n";

async function inspected(yaml: string, folders = FOLDERS, env: Record<string, string> = {}) {
  const dir = await writePlugins(await temporaryDirectory(), folders);
  const { loaded, errors, warnings } = await inspectText(`${AGENT}${yaml}\nplugin_dirs: ["${dir}"]\n`, { env });
  const lines = (issues: typeof errors) => issues.map(({ path, message, code }) => `${path} ${code}: ${message}`);
  return { loaded, errors: lines(errors), warnings: lines(warnings) };
}

const OFFLINE = "providers: { offline: {} }\n";

describe("settings of a plugin", () => {
  it("have their defaults, and texts of variables become what the schema says", async () => {
    const { loaded, errors } = await inspected(
      `providers: { offline: {}, other: { kind: think, model: m, settings: { place: a } } }
channels: { desk: { kind: pager, settings: { place: b, days: "\${DAYS}" } } }
plugins: { weather: { settings: { place: c } } }`,
      FOLDERS,
      { DAYS: "7" },
    );
    expect(errors).toEqual([]);
    expect(loaded?.config.providers["other"]?.settings).toEqual({ place: "a", days: 3 });
    expect(loaded?.config.channels["desk"]?.settings).toEqual({ place: "b", days: 7 });
    expect(loaded?.config.plugins["weather"]?.settings).toEqual({ place: "c", days: 3 });
  });

  it("are none where it has no entry, whatever its id is", async () => {
    const { loaded, errors } = await inspected(OFFLINE, { constructor: { kind: "tool" } });
    expect(errors).toEqual([]);
    expect(Object.entries(loaded?.config.plugins ?? {})).toEqual([["constructor", { enabled: true, settings: {} }]]);
  });

  it("that the schema marks as secret are secrets, and no report shows them", async () => {
    const yaml = (days: string) =>
      `${OFFLINE}plugins: { weather: { settings: { place: c, words: "\${WORDS}", more: { pin: pin-of-mine }, days: ${days} } } }`;
    const env = { WORDS: "horse battery" };
    const { loaded } = await inspected(yaml("1"), FOLDERS, env);
    expect(loaded?.secrets).toEqual(expect.arrayContaining(["horse battery", "pin-of-mine"]));
    const { errors } = await inspected(yaml("none"), FOLDERS, env);
    expect(errors.join()).not.toMatch(/horse|pin-of-mine/);
  });

  it("that are wrong, missing or unknown are errors at their place", async () => {
    const { errors } = await inspected(
      `${OFFLINE}channels: { desk: { kind: pager, settings: { days: 0, oops: 1 } } }
plugins: { plain: { settings: { any: 1 } } }`,
    );
    expect(errors).toEqual(
      [
        "channels.desk.settings.place missing-value: found nothing; allowed: what the plugin's settings schema asks for",
        "channels.desk.settings.days invalid-value: found 0; allowed: must be >= 1",
        "channels.desk.settings.oops unknown-key: the plugin has no such setting",
        "plugins.weather.settings.place missing-value: found nothing; allowed: what the plugin's settings schema asks for",
        "plugins.plain.settings.any unknown-key: the plugin has no such setting",
      ].sort((a, b) => errors.indexOf(a) - errors.indexOf(b)),
    );
    expect(errors).toHaveLength(5);
  });

  it("of one that is switched off are not looked at", async () => {
    const { errors, warnings } = await inspected(`${OFFLINE}plugins: { weather: { enabled: no } }`);
    expect({ errors, warnings }).toEqual({ errors: [], warnings: [] });
  });
});

describe("a kind", () => {
  const channel = (kind: string) =>
    `${OFFLINE}plugins: { weather: { enabled: no } }\nchannels: { desk: { kind: ${kind} } }`;
  const plain = { plain: { kind: "tool" }, pager: { kind: "channel" } };

  it("that nothing brings is an error, with what was meant", async () => {
    const { errors } = await inspected(channel("pagr").replace(/plugins:.*\n/, ""), plain);
    expect(errors).toEqual([
      expect.stringMatching(/^channels\.desk\.kind invalid-value: found "pagr".*did you mean pager\?/),
    ]);
  });

  it("that may be of a plugin which cannot be used is a warning: the node starts", async () => {
    const { errors, warnings } = await inspected(channel("gone").replace(/plugins:.*\n/, ""), {
      ...plain,
      broken: { kind: "nothing" },
    });
    expect(errors).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining("channels.desk.kind unknown-name: no plugin that can be used")]);
  });

  it("of a plugin that is switched off, or of another sort, is said so", async () => {
    const off = await inspected(
      `${OFFLINE}plugins: { pager: { enabled: no } }\nchannels: { desk: { kind: pager } }`,
      plain,
    );
    expect(off.warnings).toEqual([
      "channels.desk.kind no-effect: plugins.pager.enabled is false: this channel does nothing",
    ]);
    const other = await inspected(channel("plain").replace(/plugins:.*\n/, ""), plain);
    expect(other.errors).toHaveLength(1);
  });
});

it("names that no plugin has, and settings where nothing reads them, are warnings", async () => {
  const { errors, warnings } = await inspected(
    `${OFFLINE.replace("{}", "{ settings: { a: 1 } }")}plugins: { nothing: {}, pager: { settings: { place: x } } }`,
    { pager: { kind: "channel", settings: SETTINGS } },
  );
  expect(errors).toEqual([]);
  expect(warnings.sort()).toEqual([
    "plugins.nothing unknown-name: no plugin of plugin_dirs has this id: there are pager",
    "plugins.pager.settings no-effect: the settings of a channel are at its entry: channels.<id>.settings",
    "providers.offline.settings no-effect: only a provider that a plugin brings has settings of its own",
  ]);
});

it("a directory that is not there keeps nothing else from being read", async () => {
  const { loaded } = await inspectText(`${AGENT}${OFFLINE}plugin_dirs: [none]\n`);
  expect(loaded?.plugins).toMatchObject([{ problem: "the directory cannot be read (ENOENT)" }]);
  expect(loaded?.plugins[0]?.path).toBe(join(loaded?.dir ?? "", "none"));
});
