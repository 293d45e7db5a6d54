import type { ContentPart, ImagePart } from "../../../contracts/message.ts";

/**
 * Images that a service takes, by their types; a sentence takes the place of others, since the service would refuse the
 * whole request.
 */

/** Each part as it is sent to a service that takes images of these types. */
export function withTakenImages(parts: readonly ContentPart[], types: readonly string[]): ContentPart[] {
  return parts.map((part) => {
    if (part.type === "text") return part;
    return takesImage(part, types) ? part : { type: "text", text: unseenImage(part) };
  });
}

export function takesImage({ mediaType }: ImagePart, types: readonly string[]): boolean {
  return types.includes(mediaType.toLowerCase());
}

export function unseenImage({ mediaType }: ImagePart): string {
  return `[An image of type ${mediaType} that the model cannot see]`;
}
