import fc from "fast-check";
import { expect, it } from "vitest";
import { slugOf } from "../../../../runtime/domain/wiki/slug.ts";

it.each([
  ["Backup & restore", "backup-restore"],
  ["Zürich Café", "zurich-cafe"],
  ["../../etc/passwd", "etc-passwd"],
  ["Index", "index-topic"],
  ["CON", "con-topic"],
])("names the page of %j %s", (title, slug) => expect(slugOf(title)).toBe(slug));

it("keeps titles apart that have no letters of ours", () => {
  expect(slugOf("東京")).toMatch(/^topic-[0-9a-f]{8}$/);
  expect(slugOf("東京")).not.toBe(slugOf("京都"));
  expect(slugOf("東京タワー 2")).not.toBe(slugOf("京都タワー 2"));
});

it("is a plain file name for any title", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (title) => {
      const slug = slugOf(title);
      expect(slug).toMatch(/^[a-z0-9]+(?:-[a-z0-9]+)*$/);
      expect(slug.length).toBeLessThanOrEqual(80);
      expect(slug).not.toBe("index");
    }),
  );
});
