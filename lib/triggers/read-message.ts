/** What a trigger makes of a message: the input of a run and its idempotency key, or the reason why the message starts nothing. */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { ContextView } from '../engine/graph/context.ts';
import { asText, lookUp, pathsOf, resolveTemplate } from '../engine/graph/template.ts';
import { NodeWork, WorkLimitExceeded } from '../engine/graph/work-limits.ts';
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject } from '../engine/json.ts';
import { jsonPointer } from '../engine/graph/findings.ts';
import { type Instant, iso } from '../engine/time.ts';
import { findBodyError } from '../engine/validate-json.ts';
import type { StoredTrigger, TriggerKind } from './setting.ts';

/** A message of an SQS queue. */
export interface ReceivedMessage {
  /** the same in each delivery, also after it came back from the dead-letter queue */
  readonly id: string;
  readonly body: string;
  readonly sentAt: Instant;
  /** only of a FIFO queue */
  readonly groupId?: string;
  /** those of text and of numbers */
  readonly attributes: Readonly<Record<string, string>>;
}

export type ReadMessage =
  | { readonly kind: 'read'; readonly input: JsonValue; readonly idempotencyKey: string }
  /** the message starts nothing, also if it is delivered again */
  | { readonly kind: 'refused'; readonly code: MessageRefusal; readonly message: string };

type MessageRefusal = 'not_json' | 'not_an_event' | 'not_an_object' | 'value_missing' | 'value_too_large';

type Refused = Extract<ReadMessage, { kind: 'refused' }>;
const refused = (code: MessageRefusal, message: string): Refused => ({ kind: 'refused', code, message });

export function readMessage(
  trigger: Pick<StoredTrigger, 'kind' | 'input' | 'idempotencyKey'>,
  message: ReceivedMessage,
): ReadMessage {
  const body = parseBody(message.body);
  if (body.kind === 'refused') return body;
  const seen = readers[trigger.kind](body.value, message);
  if (seen.kind === 'refused') return seen;
  const { context, whole, id } = seen;
  const mapped = (value: JsonValue, name: string) => resolve(value, name, context);
  const input = trigger.input === undefined ? resolved(whole) : mapped(trigger.input, 'input');
  if (input.kind === 'refused') return input;
  if (trigger.idempotencyKey === undefined) return { kind: 'read', input: input.value, idempotencyKey: id };
  const key = mapped(trigger.idempotencyKey, 'idempotencyKey');
  if (key.kind === 'refused') return key;
  const text = asText(key.value);
  if (text === '') return refused('value_missing', '/idempotencyKey: the template gives an empty text');
  return { kind: 'read', input: input.value, idempotencyKey: storableKey(text) };
}

type Resolved = { readonly kind: 'resolved'; readonly value: JsonValue } | Refused;
const resolved = (value: JsonValue): Resolved => ({ kind: 'resolved', value });

/** As a value of JSON that a run can store. */
function parseBody(text: string): { readonly kind: 'parsed'; readonly value: JsonValue } | Refused {
  let value: JsonValue;
  try {
    value = jsonText.parse(text);
  } catch {
    return refused('not_json', 'the body of the message is not JSON');
  }
  const finding = findBodyError(value);
  if (finding === undefined) return { kind: 'parsed', value };
  return refused('not_json', `${jsonPointer(...finding.path)}: the body ${finding.message}`);
}

/** @throws if the text is not JSON */
const jsonText = z.string().transform((text): JsonValue => JSON.parse(text));

/** What a message of a trigger of this kind shows. */
interface Seen {
  readonly kind: 'seen';
  readonly context: JsonObject;
  /** the input of a trigger without one */
  readonly whole: JsonValue;
  /** the same for each delivery, and of nothing else */
  readonly id: string;
}

type Reader = (body: JsonValue, message: ReceivedMessage) => Seen | Refused;

const readers: Readonly<Record<TriggerKind, Reader>> = {
  queue: (body, { id, sentAt, groupId, attributes }) => ({
    kind: 'seen',
    context: {
      body,
      message: { id, sentAt: iso(sentAt), attributes, ...(groupId === undefined ? {} : { groupId }) },
    },
    whole: body,
    id,
  }),
  event: (body) => {
    const id = eventIdOf(body);
    return id === undefined ? notAnEvent : { kind: 'seen', context: { event: body }, whole: body, id };
  },
  object: (body) => {
    const id = eventIdOf(body);
    if (id === undefined) return notAnEvent;
    const created = objectEvent.safeParse(body);
    if (!created.success)
      return refused('not_an_object', 'the event does not name a bucket and an object, as events of Amazon S3 do');
    const { bucket, object } = created.data.detail;
    const found: JsonObject = {
      bucket: bucket.name,
      key: object.key,
      ...(object.size === undefined ? {} : { size: object.size }),
      ...(object.etag === undefined ? {} : { etag: object.etag }),
      ...(object['version-id'] === undefined ? {} : { versionId: object['version-id'] }),
    };
    return { kind: 'seen', context: { object: found, event: body }, whole: found, id: writeIdOf(created.data.detail) ?? id };
  },
};

const notAnEvent = refused('not_an_event', 'the body of the message is not an event of EventBridge, because it has no id');

/** EventBridge delivers an event at least once, with the same id each time. */
const eventIdOf = (body: JsonValue): string | undefined =>
  isJsonObject(body) && typeof body['id'] === 'string' && body['id'] !== '' ? storableKey(body['id']) : undefined;

/**
 * S3 may report one write of an object in two events with different ids. Their sequencer is the same, and another write of the key has
 * another one.
 */
const writeIdOf = ({ bucket, object }: z.output<typeof objectEvent>['detail']): string | undefined =>
  object.sequencer === undefined ? undefined : storableKey(`${bucket.name}/${object.key}@${object.sequencer}`);

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/ev-events.html */
const objectEvent = z.object({
  detail: z.object({
    bucket: z.object({ name: z.string() }),
    object: z.object({
      key: z.string(),
      size: z.number().optional(),
      etag: z.string().optional(),
      'version-id': z.string().optional(),
      sequencer: z.string().optional(),
    }),
  }),
});

/** A template of a workflow reads a missing value as null. A message without the value is the sender's mistake, so it is refused. */
function resolve(value: JsonValue, name: string, context: JsonObject): Resolved {
  const view = viewOf(context);
  const missing = missingIn(value, view, `/${name}`);
  if (missing !== undefined) return missing;
  try {
    return resolved(resolveTemplate(value, view));
  } catch (error) {
    if (!(error instanceof WorkLimitExceeded)) throw error;
    return refused('value_too_large', `/${name}: ${error.message}`);
  }
}

function missingIn(value: JsonValue, view: ContextView, pointer: string): Refused | undefined {
  if (isJsonArray(value)) return first(value.entries(), (item, index) => missingIn(item, view, pointer + jsonPointer(index)));
  if (isJsonObject(value)) return first(Object.entries(value), (item, key) => missingIn(item, view, pointer + jsonPointer(key)));
  const path = pathsOf(value).find((steps) => lookUp(steps, view) === undefined);
  if (path === undefined) return undefined;
  return refused('value_missing', `${pointer}: the message has no ${['ctx', ...path].join('.')}`);
}

function first<Key, Found>(
  entries: Iterable<readonly [Key, JsonValue]>,
  find: (item: JsonValue, key: Key) => Found | undefined,
): Found | undefined {
  for (const [key, item] of entries) {
    const found = find(item, key);
    if (found !== undefined) return found;
  }
  return undefined;
}

const viewOf = (context: JsonObject): ContextView => ({
  work: new NodeWork(),
  get: (key) => (Object.hasOwn(context, key) ? context[key] : undefined),
  keys: () => Object.keys(context),
  all: () => context,
});

/** Idempotency keys are printable ASCII of at most 255 characters. A digest stands for any other text. */
const keyPattern = /^[\x20-\x7e]{1,255}$/;
const storableKey = (text: string): string =>
  keyPattern.test(text) ? text : `sha256:${createHash('sha256').update(text).digest('hex')}`;
