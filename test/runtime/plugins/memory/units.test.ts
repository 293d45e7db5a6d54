import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { unitsOf } from "../../../../runtime/plugins/memory/embedded/units.ts";

const message = (type: string, body: Uint8Array = new Uint8Array()): Buffer => {
  const head = Buffer.alloc(5);
  head.write(type, 0, "latin1");
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};
const cut = (...messages: Buffer[]): string[] =>
  [...unitsOf(new Uint8Array(Buffer.concat(messages)))].map((unit) => Buffer.from(unit).toString("latin1"));

describe("what a client sends at once", () => {
  it("is cut behind each Query and each Sync", () => {
    const [parse, bind, sync, query] = [
      message("P"),
      message("B"),
      message("S"),
      message("Q", Buffer.from("select 1\0")),
    ];
    const text = (...parts: Buffer[]): string => Buffer.concat(parts).toString("latin1");
    expect(cut(query, parse, bind, sync, query)).toEqual([text(query), text(parse, bind, sync), text(query)]);
    expect(cut(parse, bind)).toEqual([text(parse, bind)]);
  });

  it("stays whole when it is a startup packet", () => {
    const startup = Buffer.from([0, 0, 0, 9, 0, 3, 0, 0, 0]);
    expect(cut(startup)).toEqual([startup.toString("latin1")]);
  });

  it("loses and adds nothing, whatever it is", () => {
    const any = fc.tuple(fc.constantFrom("P", "B", "D", "E", "S", "Q", "C", "X"), fc.uint8Array({ maxLength: 40 }));
    fc.assert(
      fc.property(fc.array(any, { minLength: 1, maxLength: 20 }), (parts) => {
        const messages = parts.map(([type, body]) => message(type, body));
        const units = cut(...messages);
        expect(units.join("")).toBe(Buffer.concat(messages).toString("latin1"));
        const ends = parts.slice(0, -1).filter(([type]) => type === "S" || type === "Q").length;
        expect(units.length).toBe(ends + 1);
      }),
    );
  });
});
