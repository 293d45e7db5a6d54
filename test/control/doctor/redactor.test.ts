import { expect, it } from "vitest";
import { createContextRedactor } from "../../../control/doctor/context/redactor.ts";

const FILE = { path: "/d/.env", exists: true, mode: 0o600, owners: [], values: {}, problem: null };

it("takes out what the environment, .env and the configuration hold, where nothing could be read of the file itself", () => {
  const redact = createContextRedactor(
    { MY_TOKEN: "from-the-environment", URL: "http://u:in-an-address@h/", PLAIN: "not-a-secret" },
    { ...FILE, values: { OTHER_KEY: "from-dot-env" } },
    { state: "broken", text: "", where: "line 1", reason: "x" },
  );
  const said = redact("from-the-environment in-an-address from-dot-env not-a-secret");
  expect(said).toBe("[redacted] [redacted] [redacted] not-a-secret");
});

it("leaves the directory alone that every path begins with, although its variable is named like a password's", () => {
  const redact = createContextRedactor({ PWD: "/srv/cairn" }, FILE, {
    state: "invalid",
    text: "",
    tree: {},
    errors: [],
    warnings: [],
    secrets: ["/srv/cairn", "hidden-value"],
  });
  expect(redact("/srv/cairn/cairn.yaml hidden-value")).toBe("/srv/cairn/cairn.yaml [redacted]");
});
