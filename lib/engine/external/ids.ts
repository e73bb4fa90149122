/**
 * Ids of external-worker runs and their step attempts: UUIDs of version 8. The last 24 bits of a run id are 0; a step attempt has its
 * run's id with the number of the fact that began it in these bits. So a step attempt id names its run, and no index is needed.
 */
import { invariant } from '../invariant.ts';

declare const brand: unique symbol;
export type ExternalRunId = string & { readonly [brand]: 'ExternalRunId' };
export type StepAttemptId = string & { readonly [brand]: 'StepAttemptId' };

const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const numberDigits = 6;
const runSuffix = '0'.repeat(numberDigits);
/** The number has 24 bits. */
const maxFacts = 0xff_ff_ff;

const idPrefix = (id: string): string => id.slice(0, -numberDigits);

/** @param uuid a random UUID; the id keeps 98 bits of it */
export const externalRunId = (uuid: string): ExternalRunId => {
  const id = `${uuid.slice(0, 14)}8${uuid.slice(15, -numberDigits)}${runSuffix}`;
  invariant(shape.test(id), `not a UUID: ${JSON.stringify(uuid)}`);
  return id as ExternalRunId;
};

/** Undefined if the text cannot be a run id, so no such run exists. */
export const parseExternalRunId = (text: string): ExternalRunId | undefined =>
  shape.test(text) && text.endsWith(runSuffix) ? (text as ExternalRunId) : undefined;

export const stepAttemptId = (run: ExternalRunId, fact: number): StepAttemptId => {
  invariant(fact >= 1 && fact <= maxFacts, `fact number ${fact} is out of range for a step attempt`);
  return `${idPrefix(run)}${fact.toString(16).padStart(numberDigits, '0')}` as StepAttemptId;
};

export const parseStepAttemptId = (text: string): StepAttemptId | undefined =>
  shape.test(text) && !text.endsWith(runSuffix) ? (text as StepAttemptId) : undefined;

/** The run of a step attempt; undefined if the text is not a step attempt id. */
export const runOfStep = (id: string): ExternalRunId | undefined =>
  shape.test(id) && !id.endsWith(runSuffix) ? (`${idPrefix(id)}${runSuffix}` as ExternalRunId) : undefined;
