/**
 * The events of runs of the Workflow DevKit, as the log stores them. The DevKit names and orders them; its code alone interprets the
 * payloads. The id of an event in the log is its slot: the DevKit sees it as `evnt_` and 26 digits.
 */
import type { EventId } from '../ids.ts';
import type { JsonObject, Payload } from '../json.ts';
import type { Instant } from '../time.ts';

/** The events that an application may create. */
export const creatableEvents = [
  'run_created',
  'run_started',
  'run_completed',
  'run_failed',
  'run_cancelled',
  'attr_set',
  'step_created',
  'step_started',
  'step_completed',
  'step_failed',
  'step_retrying',
  'hook_created',
  'hook_received',
  'hook_disposed',
  'wait_created',
  'wait_completed',
] as const;
export type CreatableEvent = (typeof creatableEvents)[number];

/** `hook_conflict` replaces a `hook_created` whose token belongs to another hook. */
export const devKitEvents = [...creatableEvents, 'hook_conflict'] as const;
export type DevKitEventName = (typeof devKitEvents)[number];

const terminalRunEvents = ['run_completed', 'run_failed', 'run_cancelled'] as const;
export type TerminalRunEvent = (typeof terminalRunEvents)[number];
export const isTerminalRunEvent = (event: DevKitEventName): event is TerminalRunEvent =>
  terminalRunEvents.some((each) => each === event);

export interface DevKitEvent {
  readonly type: 'DEVKIT';
  readonly event: DevKitEventName;
  /** the id of the step, hook, wait or attribute write; run events have none */
  readonly correlationId?: string;
  readonly specVersion: number;
  /** the application's clock */
  readonly occurredAt?: Instant;
  /** identifies a resumption of a hook, so that a repeated one is recorded once */
  readonly resumeId?: string;
  /** the digest of that resumption's payload, as the application computed it */
  readonly resumeDigest?: string;
  /** the fields of `eventData` besides the payload and the time, with tags for times and bytes */
  readonly data?: JsonObject;
  /** `resumeAt` of a wait, `retryAfter` of a step */
  readonly until?: Instant;
  /** the one field of `eventData` that carries the user's data, with tags for bytes */
  readonly payload?: Payload;
  /** the run had already ended when a step of it ended */
  readonly afterEnd?: 'completed' | 'failed' | 'cancelled';
}

/** The field of `eventData` that is stored as the payload. */
export const payloadFields: { readonly [Event in DevKitEventName]?: string } = {
  run_created: 'input',
  run_started: 'input',
  run_completed: 'output',
  run_failed: 'error',
  step_created: 'input',
  step_started: 'input',
  step_completed: 'result',
  step_failed: 'error',
  step_retrying: 'error',
  hook_created: 'metadata',
  hook_received: 'payload',
};

/** The field of `eventData` that is a time of the engine. */
export const timeFields: { readonly [Event in DevKitEventName]?: string } = {
  step_retrying: 'retryAfter',
  wait_created: 'resumeAt',
  wait_completed: 'resumeAt',
};

/** Digits of a slot in the id of an event. */
const slotDigits = 26;
const slotPattern = /^evnt_\d{26}$/;

/** The id by which the DevKit knows the event at this position. */
export const slotId = (position: EventId): string => `evnt_${String(position).padStart(slotDigits, '0')}`;

/** The position of a slot id; undefined for other text. 0 is the position before the first event. */
export function slotOf(id: string): number | undefined {
  if (!slotPattern.test(id)) return undefined;
  const position = Number(id.slice('evnt_'.length));
  return Number.isSafeInteger(position) ? position : undefined;
}

/** The highest spec version of runs that the platform stores. 7: the log has no holes, and readers may meet a filler. */
export const maxSpecVersion = 7;
/** Runs from before event sourcing. */
export const legacySpecVersion = 1;
/** The spec version of a request that names none. */
export const defaultSpecVersion = 3;
/** From here on errors are serialized values; below, they are a message with a stack. */
export const opaqueErrorsFrom = 4;

/** The number of events at which the DevKit ends a run. */
export const maxEvents = 25_000;
/** Events beyond that number which the log still takes, so that the DevKit can end the run in its own way. */
export const eventMargin = 1_000;
