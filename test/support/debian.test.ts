import { expect, it } from "vitest";
import { mirrorIn } from "./debian.ts";

it.each([
  ["deb http://mirror.example.org/debian trixie main", "http://mirror.example.org/debian"],
  [
    "# a comment\ndeb [signed-by=/k.gpg] https://mirror.example.org/debian/ trixie main",
    "https://mirror.example.org/debian",
  ],
  ["Types: deb\nURIs: https://user.example.org/some/debian\nSuites: trixie", "https://user.example.org/some/debian"],
  ["URIs: http://mirror.example.org/debian-security\n", null],
  ["deb https://packages.example.org/apt cloud main", null],
  ["", null],
])("the mirror in %j is %s", (text, mirror) => {
  expect(mirrorIn(text)).toBe(mirror);
});
