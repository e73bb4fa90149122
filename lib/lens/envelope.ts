/** What a lens node brings, whatever model made it. Media stay where they are: the log holds their address. */
import { defined } from '../engine/defined.ts';
import type { JsonObject, JsonValue } from '../engine/json.ts';
import type { LensKind } from '../ports/lenses.ts';
import type { MediaType, ModelResponse } from '../ports/models.ts';

interface Media {
  readonly url: string;
  readonly mime?: string;
  readonly bytes?: number;
}

export interface Envelope {
  readonly kind: LensKind;
  /** the form it came in: text, json, image, video, audio or pdf */
  readonly artifactKind: string;
  /** the canonical text: what moderation reads and edges without a path may use */
  readonly output: string;
  readonly data?: JsonValue;
  readonly media: Media | null;
  readonly metadata: JsonObject;
}

const mediaOf: Readonly<Partial<Record<LensKind, MediaType>>> = {
  image: 'image',
  video: 'video',
  audio: 'audio',
  music: 'audio',
  pdf: 'pdf',
};
const isTextual = (media: MediaType): boolean => media === 'text' || media === 'json';

/** The lens's own kind where the answer can be that; else the kind that it is. */
const kindOf = (wanted: LensKind, media: MediaType): LensKind => {
  const fits = mediaOf[wanted] === undefined ? isTextual(media) : mediaOf[wanted] === media;
  if (fits) return wanted;
  return media === 'json' ? 'text' : media;
};

type CompletedResponse = Extract<ModelResponse, { kind: 'completed' }>;

/** @param wantsData a contract looks at the answer as data, so a text is read as JSON */
export function envelopeOf(
  kind: LensKind,
  answer: CompletedResponse,
  { wantsData, metadata }: { readonly wantsData: boolean; readonly metadata: JsonObject },
): Envelope {
  const { mediaType, url, mimeType, bytes } = answer;
  const data = answer.data ?? (wantsData || mediaType === 'json' ? jsonIn(answer.text ?? '') : undefined);
  return defined({
    kind: kindOf(kind, mediaType),
    artifactKind: mediaType,
    output: answer.text ?? (data === undefined ? (url ?? '') : JSON.stringify(data)),
    data,
    media: url === undefined ? null : defined({ url, mime: mimeType, bytes }),
    metadata: { ...answer.metadata, ...metadata },
  });
}

/** Models like to put JSON between fences; what stands between the first and the last one counts. */
function jsonIn(text: string): JsonValue | undefined {
  const fenced = /^\s*```[a-zA-Z]*\n([\s\S]*)\n```\s*$/.exec(text)?.[1];
  try {
    const value: JsonValue = JSON.parse(fenced ?? text);
    return value;
  } catch {
    return undefined;
  }
}

export const envelopeJson = ({ kind, artifactKind, output, data, media, metadata }: Envelope): JsonObject =>
  defined({
    kind,
    artifactKind,
    output,
    data,
    media: media === null ? undefined : { ...media },
    metadata,
  });
