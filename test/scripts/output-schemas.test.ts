import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, expectTypeOf, it } from "vitest";
import type { z } from "zod";
import type { BuildResult } from "../../control/deploy/build/types.ts";
import { SCHEMAS } from "../../control/deploy/schemas.ts";
import { outputSchemas } from "../../scripts/lib/output-schemas.ts";
import { ROOT } from "../../scripts/lib/paths.js";

const FOLDER = join(ROOT, "docs", "schemas");

describe("docs/schemas", () => {
  it("is what the program prints: `node scripts/output-schemas.ts` writes it", () => {
    const made = outputSchemas();
    expect(readdirSync(FOLDER)).toEqual(expect.arrayContaining([...made.keys()]));
    const read = (name: string): unknown => JSON.parse(readFileSync(join(FOLDER, name), "utf8"));
    for (const [name, text] of made) expect(read(name), name).toEqual(JSON.parse(text));
  });

  it("is read by a validator as it is by the program", () => {
    const ajv = new Ajv2020({ strict: false });
    const preview = {
      schema: 1,
      stack: "lab",
      target: "docker",
      summary: { create: 1, update: 0, replace: 0, delete: 0, import: 0, same: 0 },
      changes: [
        {
          op: "create",
          type: "docker:index/volume:Volume",
          name: "lab-one-home",
          urn: "urn:pulumi:lab::cairn::x::y",
          properties: [{ path: "a", kind: "add", before: null, after: { b: 1 } }],
        },
      ],
      drift: [],
      settings: [],
      warnings: [],
    };
    const read = JSON.parse(readFileSync(join(FOLDER, "infra-preview.schema.json"), "utf8"));
    const validate = ajv.compile(read);
    for (const [value, good] of [
      [preview, true],
      [{ ...preview, schema: 2 }, false],
      [{ ...preview, extra: true }, false],
      [{ ...preview, changes: [{ ...preview.changes[0], op: "explode" }] }, false],
    ] as const) {
      expect(validate(value)).toBe(good);
      expect(SCHEMAS["infra-preview"].safeParse(value).success).toBe(good);
    }
  });

  it("says of `build` what it prints", () => {
    expectTypeOf<BuildResult>().toExtend<Readonly<DeepReadonly<z.infer<typeof SCHEMAS.build>>>>();
  });
});

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly Item[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;
