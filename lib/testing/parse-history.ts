/** Parses a saved history. */
import * as z from 'zod';
import { failure, jsonValue } from '../codec/events.ts';
import { exactly } from '../codec/exact.ts';
import { type DocumentEntry, type HistoryDocument, historyFormat, historyVersion } from '../engine/durable/history-document.ts';
import { stepKinds } from '../engine/durable/step.ts';
import { TestError } from './errors.ts';

const key = z.string();
const step = z.enum(stepKinds);
const time = z.iso.datetime();
type Entry<Kind extends DocumentEntry['kind']> = Extract<DocumentEntry, { kind: Kind }>;

const shape = z.strictObject({
  format: z.literal(historyFormat),
  version: z.literal(historyVersion),
  replayVersion: z.int(),
  run: z.strictObject({
    id: z.string(),
    workflowName: z.string(),
    version: z.string().nullable(),
    createdAt: time,
    deadlineAt: time,
  }),
  input: jsonValue,
  attempt: z.int().min(1),
  priorResults: z.array(z.strictObject({ key, step, output: jsonValue, endedAt: time })).readonly(),
  entries: z
    .array(
      z.discriminatedUnion('kind', [
        exactly<Entry<'scheduled'>>()(
          z.strictObject({ kind: z.literal('scheduled'), key, step, target: z.string().exactOptional() }),
        ),
        exactly<Entry<'settled'>>()(
          z.strictObject({
            kind: z.literal('settled'),
            key,
            result: z.discriminatedUnion('status', [
              z.strictObject({ status: z.literal('completed'), output: jsonValue, endedAt: time }),
              z.strictObject({ status: z.literal('failed'), failure, endedAt: time }),
            ]),
          }),
        ),
      ]),
    )
    .readonly(),
  end: z.discriminatedUnion('status', [
    z.strictObject({ status: z.literal('open') }),
    z.strictObject({ status: z.literal('completed'), output: jsonValue }),
    z.strictObject({ status: z.literal('failed'), error: failure }),
    z.strictObject({ status: z.literal('cancelled') }),
  ]),
});

/** @throws TestError `history_invalid` for an invalid document or a later format */
export function parseHistory(value: unknown): HistoryDocument {
  const parsed = shape.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new TestError(
    'history_invalid',
    `the document is not a history of format version ${historyVersion}:\n${z.prettifyError(parsed.error)}`,
  );
}
