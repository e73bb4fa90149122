/** The output of a lens node, in one form for all models. Media are referenced by their URL and not stored in the log. */
import { defined } from '../base/defined.ts';
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
  /** media type of the answer: text, json, image, video, audio or pdf */
  readonly artifactKind: string;
  /** text form of the answer: the input of moderation, and the value of edges without a path */
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

/** The kind of the lens if the answer's media type fits it, otherwise the kind of the media type. */
const kindOf = (wanted: LensKind, media: MediaType): LensKind => {
  const fits = mediaOf[wanted] === undefined ? isTextual(media) : mediaOf[wanted] === media;
  if (fits) return wanted;
  return media === 'json' ? 'text' : media;
};

type CompletedResponse = Extract<ModelResponse, { kind: 'completed' }>;

/** @param wantsData an output contract checks data, so a text answer is parsed as JSON */
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

/** Models often wrap JSON in Markdown code fences. */
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
