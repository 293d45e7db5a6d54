/** Quantities of Kubernetes, such as `10Gi`, `1500M` or `1e9`, in bytes. */

const SUFFIXES: Readonly<Record<string, number>> = {
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
};

/** Null for what is no quantity of storage. */
export function quantityBytes(text: string): number | null {
  const [, digits = "", suffix = ""] = /^(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)([kMGTP]i?|Ki)?$/.exec(text) ?? [];
  const factor = SUFFIXES[suffix];
  return digits === "" || factor === undefined ? null : Number(digits) * factor;
}
