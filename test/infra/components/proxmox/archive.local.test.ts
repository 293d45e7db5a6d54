/** Files on their way into a CT, unpacked by the tools that unpack them there. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { filesInput } from "../../../../infra/components/proxmox/archive.ts";

it("brings every file whole, whatever its name and content", () => {
  const name = fc
    .string({ unit: character(), minLength: 1, maxLength: 150 })
    .map((text) => text.toWellFormed())
    .filter((text) => !/[/\n\r\0]|^\.\.?$/.test(text));
  const file = fc.record({
    name,
    content: fc.string({ unit: character(), maxLength: 2000 }).map((text) => text.toWellFormed()),
  });
  fc.assert(
    fc.property(fc.uniqueArray(file, { selector: (one) => one.name, maxLength: 5 }), (files) => {
      const folder = mkdtempSync(join(tmpdir(), "cairn-archive-"));
      try {
        const planned = files.map((one) => ({ path: `/etc/cairn/a/${one.name}`, content: one.content }));
        const input = filesInput("/etc/cairn", planned);
        execFileSync("/bin/sh", ["-c", 'base64 -d | tar -x -C "$0" -f -', folder], { input });
        const paths = readFileSync(join(folder, "paths"), "utf8").split("\n").slice(0, -1);
        const arrived = paths.map((path, index) => [path, readFileSync(join(folder, String(index)), "utf8")]);
        expect(new Map(arrived.map(([path, content]) => [`/etc/cairn/${path}`, content]))).toEqual(
          new Map(planned.map(({ path, content }) => [path, content])),
        );
        expect(readFileSync(join(folder, "end"), "utf8")).toBe("");
        expect(filesInput("/etc/cairn", planned.toReversed())).toBe(input);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    }),
    { numRuns: 6 },
  );
});

it.each(["/etc/passwd", "/etc/cairn/../passwd", "/etc/cairn/a\nb", "/etc/cairn", "/etc/cairnx/a"])(
  "refuses the path %j",
  (path) => {
    expect(() => filesInput("/etc/cairn", [{ path, content: "" }])).toThrow(
      expect.objectContaining({ code: "INFRA_PLAN_INVALID" }),
    );
  },
);

/** Of all of Unicode's first plane; the library's own units take seconds to be made. */
function character(): fc.Arbitrary<string> {
  return fc.integer({ min: 1, max: 0xffff }).map((code) => String.fromCharCode(code));
}
