import { expect, it } from "vitest";
import { costlyRegex } from "../../../runtime/domain/regex-cost.ts";

it.each([
  ["^(a+)(a+)(a+)$", null],
  ["\\d{1,3}(\\.\\d{1,3}){3}", null],
  ["[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", null],
  ["\\y[0-9a-f]{128}\\y", null],
  ["a\\\\1", null],
  ["[(?=)]{2,}", null],
  ["(?:a|b)*c", null],
  ["(?i)deploy.*prod", null],
  ["^(a+)(a+)\\1\\2$", "back references"],
  ["\\\\\\1(a)", "back references"],
  ["a(?=.*b)", "lookahead and lookbehind"],
  ["(?<!b.*)c", "lookahead and lookbehind"],
  ["((a{1,20}){1,20})b", "more than 200"],
  ["(a?){255}a{255}b", "more than 200"],
  ["((a{1,100}[(]){1,99})", "more than 200"],
  ["((\\w+\\.)+\\w+,?)+", null],
  [`${"(".repeat(15)}a${"+b)+c".repeat(15)}`, "more than 200"],
  [`${"(".repeat(9)}a${"*)*".repeat(9)}b`, "more than 200"],
  ["***:a", "another syntax"],
  ["(?#[)(.+)(.+)\\1\\2", "comments"],
  ["(?x)#[\n(.+)(.+)\\1\\2", "another syntax"],
  ["(?#[)(a{1,20}){1,20}", "comments"],
  ["(?b)\\(a*\\)\\{1,255\\}", "another syntax"],
])("the embedded store refuses of %s: %s", (regex, refused) => {
  const reason = costlyRegex(regex);
  if (refused === null) expect(reason).toBeNull();
  else expect(reason).toContain(refused);
});

it("a store that can be interrupted takes what only its deadline has to bound", () => {
  for (const regex of ["(.+)(.+)\\1\\2", "a(?=a*b)"]) expect(costlyRegex(regex, true)).toBeNull();
  for (const regex of ["(((a{1,30}){1,30}){1,30})b", "(?#[)(a{1,20}){1,20}"])
    expect(costlyRegex(regex, true)).not.toBeNull();
});
