/**
 * How far each followed file has been shown, through rotation by renaming and by copying and emptying (`copytruncate`). Pure.
 * A file is identified by its inode and its first bytes: lines begin with their time, so that only a copy begins alike.
 */

/** A file as it is now. */
export interface Seen {
  /** Stays the same when the file is renamed. */
  readonly id: string;
  readonly size: number;
  /** Its first bytes, one character each. */
  readonly head: string;
}

export interface FilePosition {
  /** Offset behind the last line that was shown. */
  readonly at: number;
  /** Null before the file was read. */
  readonly head: string | null;
}

export interface Followed {
  readonly places: ReadonlyMap<string, FilePosition>;
  /** Positions in files that were emptied, the newest first: a copy is read from there. */
  readonly emptied: readonly FilePosition[];
}

const EMPTIED_KEPT = 8;

/** Where each file has to be read from. A copy of a file that still exists has no position: it would be shown twice. */
export function placesOf(followed: Followed, seen: readonly Seen[]): Followed {
  const places = new Map(followed.places);
  const emptied = [...followed.emptied];
  for (const { id, size, head } of seen) {
    const place = places.get(id);
    if (place === undefined) continue;
    if (size >= place.at && (place.head === null || head.startsWith(place.head))) {
      places.set(id, { at: place.at, head });
    } else {
      // It was emptied and maybe has grown again, or its number was given to a new file.
      emptied.unshift(place);
      places.set(id, { at: 0, head });
    }
  }
  for (const { id, head } of seen) {
    if (places.has(id) || head === "") continue;
    const original = emptied.findIndex((place) => hasSameStart(place.head, head));
    const [before] = original < 0 ? [] : emptied.splice(original, 1);
    if (before) places.set(id, { at: before.at, head });
    else if (![...places.values()].some((place) => hasSameStart(place.head, head))) places.set(id, { at: 0, head });
  }
  return { places, emptied: emptied.slice(0, EMPTIED_KEPT) };
}

/** A copy that is being made has less of the head. */
function hasSameStart(one: string | null, other: string): boolean {
  if (one === null || one === "" || other === "") return false;
  return one.startsWith(other) || other.startsWith(one);
}
