import fc from "fast-check";
import { expect, it } from "vitest";
import { defaultMemory } from "../../../infra/plan/default-limits.ts";
import { planOf } from "../../support/infra/project.ts";

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

it.each([
  [24, 1, 4_096, 6_144],
  [8, 1, 4_096, 2_048],
  [8, 4, 1_024, 2_048],
  [2, 1, 1_024, 512],
  [1, 3, 512, 512],
  [256, 2, 4_096, 16_384],
])("of a machine with %i GiB and %i nodes", (gib, nodes, node, database) => {
  expect(defaultMemory(gib * GIB, nodes)).toEqual({ node: node * MIB, database: database * MIB });
});

it("leaves the system a quarter of every machine that is not small", () => {
  const machine = fc.integer({ min: 4 * GIB, max: 2_048 * GIB });
  fc.assert(
    fc.property(machine, fc.integer({ min: 1, max: 4 }), (bytes, nodes) => {
      const { node, database } = defaultMemory(bytes, nodes);
      expect(node * nodes + database).toBeLessThanOrEqual(bytes * 0.75);
      expect([node % MIB, database % MIB]).toEqual([0, 0]);
    }),
  );
});

const CONFIG = `version: 1
agents: { main: { provider: offline } }
providers: { offline: {} }
memory: { postgres: {} }
deployment:
  target: docker
  nodes: [{ name: one }, { name: two, memory: 700Mi }]
  datahub: { postgres: true }
`;

it("are those of a docker plan as soon as the machine's size is recorded, where the configuration names none", async () => {
  const limits = async (config: string, machines: Readonly<Record<string, number>> | undefined) => {
    const release = { schema: 1, built: null, nodes: {}, machines };
    const plan = await planOf(config, { files: { "infra/release.json": JSON.stringify(release) } });
    return [...plan.nodes, plan.postgres].map((part) => (part?.limits.memoryBytes ?? 0) / MIB);
  };
  expect(await limits(CONFIG, undefined)).toEqual([0, 700, 0]);
  expect(await limits(CONFIG, { local: 8 * GIB })).toEqual([2_048, 700, 2_048]);
  const written = CONFIG.replace("postgres: true }", "postgres: true, memory: 1Gi }\n  docker: { memory: 600Mi }");
  expect(await limits(written, { local: 8 * GIB })).toEqual([600, 700, 1_024]);
});
