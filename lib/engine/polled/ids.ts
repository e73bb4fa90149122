/**
 * Ids of runs that another library's workers poll for, and of their step attempts. Both are UUIDs of version 8. The last 24 bits
 * of a run's are 0; a step attempt has its run's id with the number of the fact that began it in their place. So whoever
 * names a step attempt names its run too, and no index has to be kept and trusted.
 */
import { invariant } from '../invariant.ts';

declare const brand: unique symbol;
export type PolledRunId = string & { readonly [brand]: 'PolledRunId' };
export type StepAttemptId = string & { readonly [brand]: 'StepAttemptId' };

const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const numberDigits = 6;
const nobody = '0'.repeat(numberDigits);
/** No run comes to more facts: the number has 24 bits. */
const mostFacts = 0xff_ff_ff;

const beginning = (id: string): string => id.slice(0, -numberDigits);

/** @param uuid a random one: 98 of its bits are kept */
export const polledRunId = (uuid: string): PolledRunId => {
  const id = `${uuid.slice(0, 14)}8${uuid.slice(15, -numberDigits)}${nobody}`;
  invariant(shape.test(id), `no UUID: ${JSON.stringify(uuid)}`);
  return id as PolledRunId;
};

/** Undefined for what cannot be one: there is no such run then. */
export const asPolledRunId = (text: string): PolledRunId | undefined =>
  shape.test(text) && text.endsWith(nobody) ? (text as PolledRunId) : undefined;

export const stepAttemptId = (run: PolledRunId, fact: number): StepAttemptId => {
  invariant(fact >= 1 && fact <= mostFacts, `no step begins with fact ${fact}`);
  return `${beginning(run)}${fact.toString(16).padStart(numberDigits, '0')}` as StepAttemptId;
};

export const asStepAttemptId = (text: string): StepAttemptId | undefined =>
  shape.test(text) && !text.endsWith(nobody) ? (text as StepAttemptId) : undefined;

/** The run of a step attempt; undefined for what names none. */
export const runOfStep = (id: string): PolledRunId | undefined =>
  shape.test(id) && !id.endsWith(nobody) ? (`${beginning(id)}${nobody}` as PolledRunId) : undefined;
